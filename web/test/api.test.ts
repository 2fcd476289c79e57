/** What the gateway answers, and what stands between answers. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Api, ApiError, envelopesOf } from "../src/core/api.js";

function api(status: number, body: string, headers: Record<string, string> = {}): { api: Api; asked: () => { url: string; init: RequestInit } } {
  let asked = { url: "", init: {} as RequestInit };
  return {
    api: new Api({
      fetch: (url, init) => {
        asked = { url, init };
        return Promise.resolve(new Response(status === 204 ? null : body, { status, headers }));
      },
    }),
    asked: () => asked,
  };
}

async function refused(status: number, body: string, headers: Record<string, string> = {}): Promise<ApiError> {
  try {
    await api(status, body, headers).api.spaces();
  } catch (err) {
    if (err instanceof ApiError) return err;
  }
  throw new Error("no ApiError");
}

test("requests carry no token and are never cached", async () => {
  const a = api(200, '{"participant":"alice","spaces":[{"name":"lab","participant":"alice"}]}');
  const session = await a.api.signIn("secret", true);
  assert.equal(session.participant, "alice");
  assert.deepEqual([a.asked().url, a.asked().init.method, a.asked().init.credentials, a.asked().init.cache], ["/api/session", "POST", "same-origin", "no-store"]);
  assert.equal(a.asked().init.body, '{"token":"secret","remember":true}');
  const out = api(204, "");
  await out.api.signOut();
  assert.equal(out.asked().init.method, "DELETE");
});

test("addresses and queries are spelled out", async () => {
  const a = api(200, '{"envelopes":[{"id":"b","from":"x","kind":"chat","seq":2},7,{"id":"a","from":"x","kind":"chat","seq":1}],"next":1,"has_more":true}');
  const page = await a.api.envelopes("my lab/ä", { before: 9, limit: 2, contexts: ["a/b", "c"], kinds: ["chat"], descending: true });
  assert.equal(a.asked().url, "/api/spaces/my%20lab%2F%C3%A4/envelopes?before=9&limit=2&context=a%2Fb&context=c&kinds=chat&order=desc");
  assert.deepEqual([page.envelopes.map((e) => e.id), page.next, page.has_more], [["a", "b"], 1, true]);
  await a.api.older("lab", 0, 5);
  assert.equal(a.asked().url, "/api/spaces/lab/envelopes?limit=5&order=desc");
});

test("numbers that a double cannot hold arrive as they were", async () => {
  const a = api(200, '{"envelopes":[{"id":"a","from":"x","kind":"chat","seq":1,"payload":{"n":12345678901234567890}}],"next":1,"has_more":false}');
  assert.equal(String((await a.api.envelopes("lab")).envelopes[0]?.payload["n"]), "12345678901234567890");
});

test("refusals: the gateway's own, a proxy's, none at all", async () => {
  const own = await refused(429, '{"error":"too_many_requests","message":"Slow down."}', { "Retry-After": "7" });
  assert.deepEqual([own.status, own.refusal.error, own.refusal.retry_after_ms, own.passing], [429, "too_many_requests", 7000, true]);
  assert.match(own.message, /Slow down\. Try again in 7s/);
  const proxy = await refused(502, "<html>Bad Gateway</html>");
  assert.deepEqual([proxy.refusal.error, proxy.passing], ["unavailable", true]);
  assert.equal((await refused(401, "[]")).signedOut, true);
  assert.equal((await refused(200, "<html>sign in to the hotel</html>")).refusal.error, "bad_answer");
  assert.equal((await refused(200, '{"spaces":{}}')).refusal.error, "bad_answer");
  const offline = new Api({ fetch: () => Promise.reject(new TypeError("fetch failed")) });
  await assert.rejects(offline.spaces(), (e) => e instanceof ApiError && e.status === 0 && e.passing);
});

test("why there is no connection", async () => {
  assert.equal(await api(200, '{"participants":[]}').api.why("lab"), null);
  assert.equal((await api(403, '{"error":"kicked","message":""}').api.why("lab"))?.error, "kicked");
  assert.equal(await new Api({ fetch: () => Promise.reject(new Error()) }).why("lab"), null);
});

test("a request that hangs is given up", async () => {
  const hanging = new Api({
    timeout: 5,
    fetch: (_, init) => new Promise((_, no) => init.signal?.addEventListener("abort", () => no(new Error("aborted")))),
  });
  await assert.rejects(hanging.spaces(), (e) => e instanceof ApiError && e.refusal.error === "offline");
});

test("JSON Lines, with lines that are none", () => {
  assert.deepEqual(envelopesOf('{"id":"a","from":"x","kind":"reasoning/start"}\n\n{"id":\n[]\n').map((e) => e.kind), ["reasoning.start"]);
});
