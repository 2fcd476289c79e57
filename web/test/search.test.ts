/** The search panel's session: what it requests, and what it shows of the responses. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Api } from "../src/core/api.js";
import { MAX_TEXT, NO_QUERY, type Query, SearchSession, TYPING_DELAY, completed, paramsOf, queryOf } from "../src/ui/panels/search-session.js";
import { FakeClock } from "./support.js";

type Answer = { readonly status?: number; readonly headers?: Record<string, string>; readonly body: unknown };

/** A session whose requests wait until the test answers them. */
function stage(): { session: SearchSession; clock: FakeClock; urls: string[]; answer: (a: Answer | null) => Promise<void> } {
  const urls: string[] = [];
  const open: ((a: Answer | null) => void)[] = [];
  const fetch = (url: string): Promise<Response> => {
    urls.push(url);
    return new Promise((done, fail) =>
      open.push((a) => {
        if (a === null) fail(new TypeError("gone"));
        else done(new Response(JSON.stringify(a.body), { status: a.status ?? 200, headers: a.headers ?? {} }));
      }),
    );
  };
  const clock = new FakeClock();
  const session = new SearchSession("lab", () => Date.parse("2026-11-20T10:00:00Z"), new Api({ fetch }), clock);
  session.subscribe(() => {});
  const answer = async (a: Answer | null): Promise<void> => {
    open.shift()?.(a);
    await new Promise((done) => setImmediate(done));
    await new Promise((done) => setImmediate(done));
  };
  return { session, clock, urls, answer };
}

const page = (ids: readonly string[], more: object = {}): Answer => ({
  body: { hits: ids.map((id, i) => ({ id, seq: i + 1, ts: "2026-11-20T09:00:00Z", from: "bob", kind: "chat", score: 1, snippet: { path: "/message", parts: [{ text: "a " }, { text: id, match: true }] } })), has_more: false, partial: false, indexed: 9, head: 9, ...more },
});

test("a query during typing", () => {
  for (const [typed, sent] of [
    ["inv", "inv*"],
    [" march inv", "march inv*"],
    ["march inv ", "march inv"],
    ["a", "a"],
    ["inv*", "inv*"],
    ["march -draft", "march -draft"],
    ["read_file", "read_file"],
    ['"two wor', '"two wor"'],
    ['"two words"', '"two words"'],
    ["発票", "発票"],
  ] as const) {
    assert.equal(completed(typed), sent, typed);
  }
});

test("typing is one request; filters and the first page of time stay for the next pages", async () => {
  const { session, clock, urls, answer } = stage();
  session.set({ text: "in" }, TYPING_DELAY);
  clock.pass(TYPING_DELAY - 1);
  session.set({ text: "invoice" }, TYPING_DELAY);
  clock.pass(TYPING_DELAY);
  assert.deepEqual(urls, ["/api/spaces/lab/search?q=invoice*&limit=30"]);
  session.set({ kinds: ["calls"], from: "bob", context: "", within: 3_600_000 });
  assert.equal(urls[1], "/api/spaces/lab/search?q=invoice*&kinds=mcp.request&kinds=mcp.response&from=bob&main=true&since=2026-11-20T09%3A00%3A00.000Z&limit=30");
  await answer(page(["old"]));
  assert.deepEqual([session.phase, session.hits.length], ["searching", 0], "the response to an earlier query is dropped");
  await answer(page(["a", "b"], { has_more: true, next: "C" }));
  assert.deepEqual([session.phase, session.next, session.hits.map((h) => h.id), session.hits[0]?.parts], ["done", "C", ["a", "b"], [{ text: "a ", match: false }, { text: "a", match: true }]]);
  session.more();
  assert.equal(urls[2], `${urls[1]}&cursor=C`);
  await answer(page(["b", "c"]));
  assert.deepEqual([session.next, session.hits.map((h) => h.id)], ["", ["a", "b", "c"]]);
  session.set({ text: "  " });
  assert.deepEqual([session.phase, session.hits.length, urls.length], ["idle", 0, 3]);
});

test("a context, and no results", async () => {
  const { session, urls, answer } = stage();
  session.set({ text: "zz", context: "r/x" });
  assert.equal(urls[0], "/api/spaces/lab/search?q=zz*&context=r%2Fx&limit=30");
  await answer(page([], { partial: true, indexed: 3 }));
  assert.deepEqual([session.phase, session.hits.length, session.partial, session.behind, session.searched], ["done", 0, true, true, "zz"]);
});

test("while the index is being built, the search is repeated", async () => {
  const { session, clock, urls, answer } = stage();
  session.set({ text: "march" });
  const building = { status: 503, headers: { "Retry-After": "2" }, body: { error: "unavailable", message: "The search index of this space is being built, 40 % of the log is read; try again in a moment." } };
  await answer(building);
  assert.deepEqual([session.phase, session.error.includes("40 %")], ["building", true]);
  clock.pass(1999);
  assert.equal(urls.length, 1);
  clock.pass(1);
  assert.deepEqual([urls.length, session.phase], [2, "building"]);
  await answer(page(["a"]));
  assert.deepEqual([session.phase, session.error, session.hits.length], ["done", "", 1]);
});

test("without a panel nothing is repeated; with one again it is", async () => {
  const { session, clock, urls, answer } = stage();
  const quiet = new SearchSession("lab", () => 0, new Api({ fetch: () => Promise.resolve(new Response('{"error":"unavailable","message":"x"}', { status: 503, headers: { "Retry-After": "1" } })) }), clock);
  const end = quiet.subscribe(() => {});
  quiet.set({ text: "march" });
  for (let i = 0; i < 3; i++) await new Promise((done) => setImmediate(done));
  assert.equal(quiet.phase, "building");
  end();
  clock.pass(60_000);
  assert.equal(quiet.phase, "building");
  session.set({ text: "march" });
  await answer(null);
  assert.deepEqual([session.phase, session.error], ["offline", "The gateway is unreachable."]);
  session.search();
  await answer({ status: 400, body: { error: "bad_request", message: "The query has no word to find." } });
  assert.deepEqual([session.phase, session.error, session.refused, urls.length], ["failed", "The query has no word to find.", true, 2]);
});

test("an error on a later page keeps the results, and that page can be requested again", async () => {
  const { session, urls, answer } = stage();
  session.set({ text: "march" });
  await answer(page(["a"], { has_more: true, next: "C" }));
  session.more();
  await answer(null);
  assert.deepEqual([session.phase, session.hits.length, session.next], ["offline", 1, "C"]);
  session.more();
  assert.equal(urls[2], urls[1]);
  await answer(page(["b"]));
  assert.deepEqual([session.phase, session.hits.length], ["done", 2]);
});

test("responses of another form", async () => {
  for (const body of [[], {}, { hits: 1 }, null]) {
    const { session, answer } = stage();
    session.set({ text: "march" });
    await answer({ body });
    assert.equal(session.phase, "failed");
  }
  const { session, answer } = stage();
  session.set({ text: "march" });
  await answer({ body: { hits: [null, 7, {}, { id: "a" }, { id: "b", snippet: { parts: [7, { text: 3 }] } }], has_more: true } });
  assert.deepEqual([session.phase, session.hits.map((h) => h.id), session.next], ["done", ["a", "b"], ""]);
});

test("a query in an address is the same query, and what is not valid is left out", () => {
  const all: readonly Query[] = [
    NO_QUERY,
    { text: "limits & rate", kinds: ["chat", "calls"], from: "scout", context: "r/n", within: 3_600_000 },
    { ...NO_QUERY, text: "x", context: "" },
  ];
  for (const q of all) assert.deepEqual(queryOf(paramsOf(q)), q);
  assert.deepEqual(paramsOf(NO_QUERY), {});
  assert.deepEqual(queryOf({ text: "y".repeat(MAX_TEXT + 1), kinds: "chat,toString,", within: "-1", id: "x" }), { ...NO_QUERY, text: "y".repeat(MAX_TEXT), kinds: ["chat"] });
});
