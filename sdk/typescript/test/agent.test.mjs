import assert from "node:assert/strict";
import { test } from "node:test";
import { CanceledError, ProposalError, RpcError, TimeoutError, ToolError, connect, isRejected } from "@meup-protocol/sdk";
import { FakeGateway, until } from "./fake.mjs";

async function joined({ ahead = 0, ...more } = {}) {
  const g = new FakeGateway();
  g.ahead = ahead;
  g.participants = [{ id: "bot", capabilities: ["*"] }, { id: "alice", capabilities: ["*"] }, { id: "tools", capabilities: ["mcp.response"], serves: ["tools"] }];
  return [g, await connect(g.options(more))];
}

const respond = (g, request, body, from = "tools") => g.say(from, "mcp.response", { jsonrpc: "2.0", id: request.id, ...body }, { to: ["bot"], correlationId: request.id });
const text = (t) => ({ result: { content: [{ type: "text", text: t }] } });

test("a request has the first response of an addressee as its result", async () => {
  const [g, me] = await joined();
  const asking = me.request("tools", "ping");
  const r = await until("a request", () => g.of("mcp.request")[0]);
  respond(g, r, { result: "forged" }, "alice");
  respond(g, r, { result: "right" });
  assert.equal(await asking, "right");
  const failing = me.request(["tools"], "ping");
  respond(g, await until("a request", () => g.of("mcp.request")[1]), { error: { code: -32601, message: "no", data: 7 } });
  await assert.rejects(failing, (err) => err instanceof RpcError && err.code === -32601 && err.data === 7);
  await assert.rejects(me.request([], "ping"), TypeError);
  await me.close();
});

test("a request that is given up is canceled", async () => {
  const [g, me] = await joined();
  await assert.rejects(me.request("tools", "slow", {}, { timeout: 20 }), (err) => err instanceof TimeoutError && err.message === "no response within 20 ms");
  await assert.rejects(me.request("nobody", "ping", {}, { timeout: 20 }), (err) => err instanceof TimeoutError && err.message === "no response within 20 ms (nobody is not connected)");
  const stop = new AbortController();
  const asking = me.request("tools", "slow", {}, { signal: stop.signal });
  await until("a request", () => g.of("mcp.request").filter((e) => e.payload.method === "slow").length === 2);
  stop.abort(new Error("enough"));
  await assert.rejects(asking, /enough/);
  const cancels = await until("cancellations", () => g.of("mcp.request").filter((e) => e.payload.method === "notifications/cancelled").length === 3 && g.of("mcp.request"));
  for (const c of cancels.filter((e) => e.payload.id === undefined)) assert.equal(c.payload.params.requestId, c.correlationId);
  await me.close();
});

test("callTool finds the participant, reports progress, and names errors", async () => {
  const [g, me] = await joined();
  const seen = [];
  const calling = me.callTool("echo", { a: 1 }, { onProgress: (p) => seen.push(p) });
  respond(g, await until("tools/list", () => g.of("mcp.request").find((e) => e.payload.method === "tools/list")), { result: { tools: [{ name: "echo", inputSchema: { type: "object" } }] } });
  const call = await until("a call", () => g.of("mcp.request").find((e) => e.payload.method === "tools/call"));
  assert.deepEqual(call.to, ["tools"]);
  const token = call.payload.params._meta.progressToken;
  g.say("tools", "mcp.request", { method: "notifications/progress", params: { progressToken: token, progress: 1, total: 2 } }, { to: ["bot"] });
  respond(g, call, text("a result"));
  assert.equal((await calling).text, "a result");
  assert.deepEqual(seen, [{ progress: 1, total: 2 }]);
  const failing = me.callTool("echo", {}, { participant: "tools" });
  respond(g, await until("a call", () => g.of("mcp.request").filter((e) => e.payload.method === "tools/call")[1]), { result: { content: [{ type: "text", text: "out of paper" }], isError: true } });
  await assert.rejects(failing, (err) => err instanceof ToolError && err.message === "out of paper");
  g.presence("leave", "alice");
  await assert.rejects(me.callTool("none"), /no connected participant offers the tool none/);
  await me.close();
});

test("a name with a slash is that of a connected participant and its tool", async () => {
  const [g, me] = await joined();
  const calls = () => g.of("mcp.request").filter((e) => e.payload.method === "tools/call");
  const lists = () => g.of("mcp.request").filter((e) => e.payload.method === "tools/list");
  const reached = async (n, result) => {
    const call = await until("a call", () => calls()[n]);
    respond(g, call, text(result), call.to[0]);
    return [call.to, call.payload.params.name];
  };
  const direct = me.callTool("alice/sub/echo"); // alice declares no tools
  assert.deepEqual(await reached(0, "direct"), [["alice"], "sub/echo"]);
  assert.equal((await direct).text, "direct");
  assert.equal(lists().length, 0);
  const named = me.callTool("alice/echo", {}, { participant: "tools" });
  assert.deepEqual(await reached(1, "named"), [["tools"], "alice/echo"]);
  assert.equal((await named).text, "named");
  const literal = me.callTool("weather/echo"); // no such participant
  respond(g, await until("tools/list", () => lists()[0]), { result: { tools: [{ name: "weather/echo" }, { name: "tools/" }] } });
  assert.deepEqual(await reached(2, "literal"), [["tools"], "weather/echo"]);
  assert.equal((await literal).text, "literal");
  const half = me.callTool("tools/"); // no tool
  assert.deepEqual(await reached(3, "half"), [["tools"], "tools/"]);
  assert.equal((await half).text, "half");
  g.presence("join", "weather");
  const joining = me.callTool("weather/echo");
  assert.deepEqual(await reached(4, "joined"), [["weather"], "echo"]);
  assert.equal((await joining).text, "joined");
  await me.close();
});

test("in a context, too, a name with a slash is that of a participant and its tool", async () => {
  const [g, me] = await joined({ servesTools: true });
  me.serveTools({ double: { handler: ({ n }) => String(2 * n) } });
  g.decide = (f) => (f.kind === "mcp.request" && f.to[0] === "tools" ? { error: "capability_violation", message: "Not allowed." } : undefined);
  me.onQuestion((q) => q.reason(async (r) => [await r.callTool("bot/double", { n: 4 }), await r.callTool("alice/echo"), await r.callTool("tools/rm")].map((x) => x.text).join(" ")));
  g.say("alice", "chat", { message: "why?" });
  const call = await until("a call", () => g.of("mcp.request").find((e) => e.to[0] === "alice"));
  respond(g, call, text("echo"), "alice");
  assert.equal(call.payload.params.name, "echo");
  const p = await until("a proposal", () => g.of("mcp.proposal")[0]);
  assert.deepEqual([p.payload.params.name, p.payload.participant_id], ["rm", "tools"]);
  const r = g.say("alice", "mcp.request", { method: p.payload.method, params: p.payload.params }, { to: ["tools"], correlationId: p.id });
  g.say("tools", "mcp.response", text("deleted"), { to: ["alice"], correlationId: r.id });
  assert.equal((await until("an answer", () => g.of("chat")[0])).payload.message, "8 echo deleted");
  const [start] = g.of("reasoning.start");
  assert.deepEqual([...g.of("mcp.request"), p].map((e) => e.correlationId), [start.id, start.id, start.id]); // no thought explains them
  await me.close();
});

test("a call of a participant that is not connected waits a little, and fails with its name", async () => {
  const [g, me] = await joined();
  g.presence("leave", "alice"); // who declares no tools
  await until("alice left", () => me.participants.length === 2);
  const respondToList = async (n) => respond(g, await until("tools/list", () => g.of("mcp.request").filter((e) => e.payload.method === "tools/list")[n]), { result: { tools: [] } });
  const failing = me.callTool("weather/echo");
  await respondToList(0);
  await assert.rejects(failing, /no connected participant offers the tool weather\/echo \(weather is not connected\)/);
  const calling = me.callTool("weather/echo");
  await new Promise(setImmediate);
  g.presence("join", "weather");
  const call = await until("a call", () => g.of("mcp.request").find((e) => e.payload.method === "tools/call"));
  assert.deepEqual([call.to, call.payload.params.name], [["weather"], "echo"]);
  respond(g, call, text("back"), "weather");
  assert.equal((await calling).text, "back");
  await me.close();
});

test("an own tool is found by its bare name", async () => {
  const [g, me] = await joined({ servesTools: true });
  me.serveTools({ double: { handler: ({ n }) => String(2 * n) } });
  me.onQuestion((q) => q.reason(async (r) => (await r.callTool("double", { n: 4 })).text));
  assert.equal((await me.callTool("double", { n: 2 })).text, "4");
  assert.equal((await me.callTool("bot/double", { n: 3 })).text, "6");
  g.say("alice", "chat", { message: "why?" });
  assert.equal((await until("an answer", () => g.of("chat")[0])).payload.message, "8");
  const requests = g.of("mcp.request");
  assert.deepEqual(requests.map((e) => e.to), [["bot"], ["bot"], ["bot"]]);
  assert.deepEqual(g.of("mcp.response").map((e) => [e.to, e.correlationId]), requests.map((e) => [undefined, e.id]));
  await me.close();
});

test("a call that is not allowed is proposed, outside of a context too", async () => {
  const [g, me] = await joined();
  const refused = new Set(["mcp.request"]);
  g.decide = (f) => (refused.has(f.kind) ? { error: "capability_violation", message: "Not allowed.", attempted_kind: f.kind } : undefined);
  const calling = me.callTool("tools/rm", { path: "a" });
  const p = await until("a proposal", () => g.of("mcp.proposal")[0]);
  assert.deepEqual(p.payload, { method: "tools/call", params: { name: "rm", arguments: { path: "a" } }, participant_id: "tools", expires_at: p.payload.expires_at });
  const r = g.say("alice", "mcp.request", { method: p.payload.method, params: p.payload.params }, { to: ["tools"], correlationId: p.id });
  g.say("tools", "mcp.response", text("deleted"), { to: ["alice"], correlationId: r.id });
  assert.equal((await calling).text, "deleted");
  const failing = me.callTool("tools/rm");
  const p2 = await until("a proposal", () => g.of("mcp.proposal")[1]);
  g.say("alice", "mcp.reject", { reason: "unsafe" }, { correlationId: p2.id });
  await assert.rejects(failing, (err) => err instanceof ProposalError && err.outcome === "rejected" && err.by === "alice" && err.reason === "unsafe");
  const notAllowed = (err) => isRejected(err, "capability_violation") && err.refusal.attempted_kind === "mcp.request";
  await assert.rejects(me.callTool("tools/rm", {}, { propose: false }), notAllowed);
  refused.add("mcp.proposal"); // it may not propose calls either
  await assert.rejects(me.callTool("tools/rm"), notAllowed);
  assert.equal(g.of("mcp.proposal").length, 2);
  await me.close();
});

test("arguments that the gateway refuses by the schema of the tool are invalid parameters, and are not proposed", async () => {
  const [g, me] = await joined();
  let path = "/payload/params/arguments/path";
  g.decide = (f) => (f.kind === "mcp.request" ? { error: "invalid_payload", message: "The arguments do not fit.", path, detail: "expected string" } : undefined);
  const invalid = (err) => err instanceof RpcError && err.code === -32602 && err.message === "The arguments do not fit." && err.data.path === path;
  await assert.rejects(me.callTool("tools/rm", { path: 7 }), invalid);
  path = "/payload/params/arguments"; // one is missing
  await assert.rejects(me.callTool("tools/rm"), invalid);
  for (path of ["/payload/params/name", undefined]) await assert.rejects(me.callTool("tools/rm"), (err) => isRejected(err, "invalid_payload"));
  assert.equal(g.of("mcp.proposal").length, 0);
  await me.close();
});

test("served tools respond once to requests for this participant", async () => {
  const [g, me] = await joined();
  const aborted = [];
  let begun = 0;
  me.serveTools({
    add: { inputSchema: { type: "object", required: ["a"] }, handler: ({ a, b = 0 }) => ({ sum: a + b }) },
    wait: { handler: (_, { signal }) => (begun++, new Promise((_, no) => signal.addEventListener("abort", () => (aborted.push(signal.reason), no(signal.reason))))) },
    count: { handler: async (_, { progress }) => (progress(1, 2, "half"), "done") },
    fail: { handler: () => Promise.reject(new Error("broken")) },
    deny: { handler: () => Promise.reject(new RpcError(-5, "denied")) },
  });
  await until("serves", () => g.socket.url.searchParams.get("serves") === "tools");
  const ask = async (id, method, params, more = {}) => {
    g.say("alice", "mcp.request", { jsonrpc: "2.0", id, method, params }, { id: `r${id}`, to: ["bot"], context: "c", ...more });
    return (await until(`a response to ${id}`, () => g.of("mcp.response").find((e) => e.correlationId === `r${id}`))).payload;
  };
  g.say("alice", "mcp.request", { method: "tools/call", id: 0, params: { name: "add" } }, { id: "r0", to: ["tools"] });
  const sum = await ask(1, "tools/call", { name: "add", arguments: { a: 1, b: 2 } });
  assert.deepEqual(sum, { jsonrpc: "2.0", id: 1, result: { content: [{ type: "text", text: '{"sum":3}' }], structuredContent: { sum: 3 } } });
  assert.equal((await ask(2, "tools/call", { name: "add", arguments: {} })).error.code, -32602);
  assert.equal((await ask(3, "tools/call", { name: "none" })).error.code, -32602);
  assert.equal((await ask(4, "no/method")).error.code, -32601);
  assert.equal((await ask(5, "tools/call", { name: "fail" })).result.isError, true);
  assert.deepEqual((await ask(6, "tools/call", { name: "deny" })).error, { code: -5, message: "denied" });
  assert.deepEqual((await ask(7, "tools/list")).result.tools.map((t) => t.name), ["add", "wait", "count", "fail", "deny"]);
  assert.deepEqual((await ask(8, "ping")).result, {});
  await ask(9, "tools/call", { name: "count", _meta: { progressToken: "p" } });
  assert.deepEqual((await until("progress", () => g.of("mcp.request")[0])).payload.params, { progressToken: "p", progress: 1, total: 2, message: "half" });
  g.say("alice", "mcp.request", { jsonrpc: "2.0", id: 10, method: "tools/call", params: { name: "wait" } }, { id: "r10", to: ["bot"] });
  await until("a call", () => begun === 1);
  g.say("tools", "mcp.request", { method: "notifications/cancelled", params: { requestId: 10 } }, { to: ["bot"] });
  g.say("alice", "mcp.request", { method: "notifications/cancelled", params: { requestId: 10 } }, { to: ["bot"] });
  assert.equal((await until("a response", () => g.of("mcp.response").find((e) => e.correlationId === "r10"))).payload.error.code, -32002);
  assert.ok(aborted[0] instanceof CanceledError && aborted[0].by === "alice");
  assert.equal(g.of("mcp.response").filter((e) => e.correlationId === "r0").length, 0);
  await me.close();
});

test("too many calls of one participant are refused", async () => {
  const [g, me] = await joined({ servesTools: true });
  me.serveTools({ wait: { handler: (_, { signal }) => new Promise((_, no) => signal.addEventListener("abort", () => no(signal.reason))) } }, { parallel: 2, waiting: 6 });
  for (let i = 0; i < 4; i++) g.say("alice", "mcp.request", { id: i, method: "tools/call", params: { name: "wait" } }, { id: `r${i}`, to: ["bot"] });
  const busy = await until("refusals", () => g.of("mcp.response").length === 2 && g.of("mcp.response"));
  for (const e of busy) assert.equal(e.payload.error.data.reason, "busy");
  await me.close();
  assert.equal(g.of("mcp.response").filter((e) => e.payload.error.data.reason === "shutdown").length, 2);
});

test("requests from before the start: reading tools are carried out, others are uncertain", async () => {
  const g = new FakeGateway();
  const ask = (id, name) => g.say("alice", "mcp.request", { id, method: "tools/call", params: { name } }, { id, to: ["bot"] });
  ask("answered", "read");
  g.log.push({ id: "x", from: "bot", kind: "mcp.response", correlationId: "answered", payload: {}, seq: 2, ts: new Date().toISOString() });
  ask("reading", "read");
  ask("writing", "write");
  const me = await connect(g.options({ servesTools: true }));
  me.serveTools({ read: { annotations: { readOnlyHint: true }, handler: () => "read" }, write: { handler: () => assert.fail("carried out twice") } });
  await until("responses", () => g.of("mcp.response").length === 3);
  const of = (id) => g.of("mcp.response").filter((e) => e.correlationId === id);
  assert.equal(of("answered").length, 1);
  assert.equal(of("reading")[0].payload.result.content[0].text, "read");
  assert.equal(of("writing")[0].payload.error.data.reason, "restarted");
  await me.close();
});

test("a process that serves tools marks its start before the first call, and its end after the last envelope", async () => {
  const g = new FakeGateway();
  const me = await connect(g.options({ servesTools: true }));
  let isMarked = false;
  g.decide = (f) => (f.kind === "participant.status" && !isMarked ? { error: "unavailable", message: "later", retry_after_ms: 1 } : undefined);
  const calls = [];
  me.serveTools({ add: { handler: () => (calls.push(isMarked), "sum") } });
  me.onQuestion((q) => q.reason((r) => new Promise((_, no) => r.signal.addEventListener("abort", () => no(r.signal.reason)))));
  g.say("alice", "chat", { message: "why?" });
  const request = g.say("alice", "mcp.request", { id: 1, method: "tools/call", params: { name: "add" } }, { to: ["bot"] });
  await until("an attempt to mark the start", () => g.sockets.some((s) => s.sent.filter((f) => f.kind === "participant.status").length > 1));
  isMarked = true;
  await until("a response", () => g.of("mcp.response")[0]);
  await until("a context", () => g.of("reasoning.start")[0]);
  const { handled } = me;
  assert.ok(handled >= request.seq);
  await me.close();
  assert.deepEqual(calls, [true]);
  assert.deepEqual(g.of("participant.status").map((e) => [e.to, e.payload.status]), [[["bot"], "started"], [["bot"], "stopped"]]);
  assert.equal(g.log.at(-1).payload.status, "stopped");
  assert.ok(g.log.at(-1).payload.through >= handled && g.log.at(-1).payload.through < g.log.at(-1).seq);
});

test("requests that no process has received are carried out", async () => {
  const g = new FakeGateway();
  const ask = (id) => g.say("alice", "mcp.request", { id, method: "tools/call", params: { name: "write" } }, { id, to: ["bot"] });
  const carriedOut = async (...ids) => {
    const calls = [];
    const me = await connect(g.options({ servesTools: true }));
    me.serveTools({ write: { handler: (_, { envelope }) => (calls.push(envelope.id), "written") } });
    await until("responses", () => ids.every((id) => g.of("mcp.response").some((e) => e.correlationId === id)));
    await me.close();
    return calls;
  };
  ask("first"); // to a participant that never ran
  assert.deepEqual(await carriedOut("first"), ["first"]);
  ask("missed");
  assert.deepEqual(await carriedOut("missed"), ["missed"]);
  const { through } = g.log.at(-1).payload;
  g.say("bot", "participant.status", { status: "started" }, { to: ["bot"] }); // a process that is killed
  ask("uncertain");
  assert.deepEqual(await carriedOut("uncertain"), []);
  assert.equal(g.of("mcp.response").at(-1).payload.error.data.reason, "restarted");
  assert.ok(g.of("participant.status").at(-1).payload.through > through);
  const cancel = (from, requestId) => g.say(from, "mcp.request", { method: "notifications/cancelled", params: { requestId } }, { to: ["bot"] });
  for (const id of ["withdrawn", "kept"]) ask(id);
  cancel("alice", "withdrawn");
  cancel("tools", "kept"); // is not its requester
  assert.deepEqual(await carriedOut("withdrawn", "kept"), ["kept"]);
  assert.equal(g.of("mcp.response").find((e) => e.correlationId === "withdrawn").payload.error.data.reason, "cancelled");
});

test("a request to a participant that may not mark its start is not carried out later", async () => {
  const g = new FakeGateway();
  g.capabilities = ["mcp.response"];
  g.say("alice", "mcp.request", { id: 1, method: "tools/call", params: { name: "write" } }, { id: "missed", to: ["bot"] });
  const me = await connect(g.options({ servesTools: true, onWarning: () => {} }));
  me.serveTools({ write: { handler: () => assert.fail("called") } });
  const response = await until("a response", () => g.of("mcp.response")[0]);
  assert.equal(response.payload.error.data.reason, "restarted");
  await me.close();
});

test("a program is warned of missing capabilities", async () => {
  const g = new FakeGateway();
  g.capabilities = ["chat", "reasoning/*", { kind: "mcp.request", payload: { method: "x" } }, { kind: "mcp.*", to: ["x"], deny: true }, "mcp.response"];
  const warnings = [];
  const me = await connect(g.options({ onWarning: (m) => warnings.push(m) }));
  me.onQuestion(() => "");
  me.serveTools({ add: { handler: () => "" } });
  await me.close();
  assert.deepEqual(warnings.map((m) => m.split(": ").slice(0, 2).join(": ")), ["capability missing: participant.status", "capability missing: participant.status"]);
  assert.match(warnings[0], /takes over the questions/);
  assert.equal(g.of("participant.status").length, 0);
});

test("of a log that replaced another one, only what was sent after that one is new", async () => {
  const g = new FakeGateway();
  for (let i = 0; i < 9; i++) g.say("alice", "x.note"); // longer than the new log
  const me = await connect(g.options({ onGap: () => {} }));
  me.onQuestion(() => "because");
  const asked = g.say("alice", "chat", { message: "why?" }, { id: "before" });
  await until("an answer", () => g.of("chat").length === 1);
  const { socket } = g;
  Object.assign(g, { log: [{ ...asked, seq: 1 }], logID: "log-2", sockets: [] }); // the old connection gets nothing of it
  g.say("alice", "chat", { message: "and now?" }, { id: "meanwhile", ts: new Date(Date.now() + 1000).toISOString() });
  socket.end(1001);
  await until("an answer", () => g.of("chat").length === 1);
  g.say("alice", "chat", { message: "and then?" }, { id: "after" });
  await until("an answer", () => g.of("chat").length === 2);
  assert.deepEqual(g.of("chat").map((e) => e.correlationId), ["meanwhile", "after"]);
  await me.close();
});

test("a question is answered with a context, and its end is final", async () => {
  const [g, me] = await joined();
  me.onQuestion((q) => q.reason(async (r) => {
    await r.thought("thinking", { references: ["e1"] });
    await r.reason(async (part) => {
      await part.observation("seen");
      return "part";
    }, { message: "a part" });
    return `about ${q.text}`;
  }));
  const q = g.say("alice", "chat", { message: "@bot why?" });
  const answer = await until("an answer", () => g.of("chat")[0]);
  assert.deepEqual([answer.correlationId, answer.payload.message], [q.id, "about @bot why?"]);
  const [start, inner] = g.of("reasoning.start");
  assert.equal(start.correlationId, q.id);
  assert.equal(inner.context, start.id);
  assert.deepEqual(g.of("reasoning.conclusion").map((e) => e.context), [`${start.id}/${inner.id}`, start.id]);
  await me.close();
  assert.equal(g.of("reasoning.cancel").length, 0);
});

test("a withdrawn question aborts its signal, closes its context, and gets no answer", async () => {
  const [g, me] = await joined();
  const reasons = [];
  me.onQuestion((q) => q.reason((r) => new Promise((_, no) => r.signal.addEventListener("abort", () => (reasons.push(r.signal.reason), no(r.signal.reason))))));
  const q = g.say("alice", "chat", { message: "why?" });
  await until("a context", () => g.of("reasoning.start")[0]);
  g.say("alice", "chat.cancel", { reason: "never mind" }, { correlationId: q.id });
  const end = await until("its end", () => g.of("reasoning.cancel")[0]);
  assert.equal(end.payload.reason, "withdrawn by alice: never mind");
  assert.deepEqual(reasons.map((x) => [x instanceof CanceledError, x.kind, x.by]), [[true, "withdrawn", "alice"]]);
  const q2 = g.say("alice", "chat", { message: "and this?" });
  const start = await until("a context", () => g.of("reasoning.start").find((e) => e.correlationId === q2.id));
  g.say("alice", "reasoning.cancel", { reason: "enough" }, { context: start.id });
  const chat = await until("a chat", () => g.of("chat")[0]);
  assert.match(chat.payload.message, /canceled by alice: enough/);
  assert.equal(g.of("reasoning.cancel").length, 1);
  await me.close();
});

test("a call that fails is one line for the operator, and a sentence for the asker", async (t) => {
  const log = t.mock.method(console, "error", () => {}).mock;
  const [g, me] = await joined({ onError: undefined });
  g.participants = [...g.participants];
  me.onQuestion((q) => q.reason(async (r) => (await r.callTool("nothing")).text));
  g.say("alice", "chat", { message: "@bot why?" }, { id: "q", to: ["bot"] });
  const answer = await until("an answer", () => g.of("chat")[0]);
  const why = "the tool nothing was not called: no connected participant offers it";
  assert.equal(answer.payload.message, `I have stopped looking into this: ${why}.`);
  const advice = "no connected participant offers the tool nothing; the question is private, so name another one with the option participant";
  assert.match(log.calls[0].arguments[0], /^meup: question q of alice: not answered after \d+\.\d s:$/);
  assert.deepEqual(log.calls.map((c) => c.arguments[1]), [`${why} (${advice})`]);
  await me.close();
});

test("an error of the handler is answered without its text", async () => {
  const faults = [];
  const [g, me] = await joined({ onError: (_, err) => faults.push(err.message) });
  me.onQuestion((q) => q.reason(() => Promise.reject(new Error("password=1234"))));
  g.say("alice", "chat", { message: "why?" });
  const answer = await until("an answer", () => g.of("chat")[0]);
  assert.match(answer.payload.message, /internal error/);
  assert.equal(g.of("reasoning.cancel").length, 1);
  assert.deepEqual(faults, ["password=1234"]);
  await me.close();
});

test("a private question stays private", async () => {
  const [g, me] = await joined();
  me.onQuestion((q) => q.reason(async (r) => {
    await r.thought("thinking");
    return "secret";
  }));
  g.say("alice", "chat", { message: "why?" }, { to: ["bot", "carol"] });
  await until("an answer", () => g.of("chat")[0]);
  for (const e of g.log.filter((e) => e.from === "bot")) assert.deepEqual(e.to, ["alice", "carol"], e.kind);
  await me.close();
});

test("during a pause nothing is sent about questions, and the work goes on after it", async () => {
  const [g, me] = await joined();
  let paused = true;
  g.decide = (f) => (paused && f.kind.startsWith("reasoning.start") ? { error: "paused", message: "Paused." } : undefined);
  me.onQuestion((q) => q.reason(() => "done"));
  g.say("alice", "participant.pause", {}, { to: ["bot"] });
  await until("a pause", () => me.paused);
  g.say("alice", "chat", { message: "why?" });
  await until("a refused start", () => g.socket.sent.some((f) => f.kind === "reasoning.start"));
  paused = false;
  g.say("alice", "participant.resume", {}, { to: ["bot"] });
  await until("an answer", () => g.of("chat")[0]);
  const [first, again] = g.socket.sent.filter((f) => f.kind === "reasoning.start");
  assert.equal(first.id, again.id);
  await me.close();
});

test("a pause takes no time from a proposal", async () => {
  const [g, me] = await joined();
  g.say("alice", "participant.pause", {}, { to: ["bot"] });
  await until("a pause", () => me.paused);
  const proposing = me.propose({ name: "rm", participant: "tools" }).catch(() => {});
  await new Promise(setImmediate);
  assert.deepEqual(g.socket.sent.filter((f) => f.kind === "mcp.proposal"), []);
  g.say("alice", "participant.resume", {}, { to: ["bot"] });
  await until("a proposal", () => g.of("mcp.proposal")[0]);
  await me.close();
  await proposing;
});

test("onPause abort ends the work", async () => {
  const [g, me] = await joined();
  me.onQuestion((q) => q.reason((r) => new Promise((_, no) => r.signal.addEventListener("abort", () => no(r.signal.reason)))), { onPause: "abort" });
  g.say("alice", "chat", { message: "why?" });
  await until("a context", () => g.of("reasoning.start")[0]);
  g.say("alice", "participant.pause", { reason: "lunch" }, { to: ["bot"] });
  assert.equal((await until("its end", () => g.of("reasoning.cancel")[0])).payload.reason, "paused by alice: lunch");
  await me.close();
});

test("of two processes, the one that began first answers, and its end is noticed", async () => {
  const warnings = [];
  const [g, me] = await joined({ onWarning: (m) => warnings.push(m) });
  me.onQuestion((q) => q.reason(() => "mine"), { watchInterval: 1 });
  g.decide = (f) => (f.kind === "reasoning.start" ? g.other(f) : undefined);
  g.other = (f) => {
    if (!g.log.some((e) => e.id === "other")) g.log.push({ id: "other", ts: new Date().toISOString(), from: "bot", kind: "reasoning.start", correlationId: f.correlationId, payload: {}, seq: g.log.length + 1 }) && g.socket.deliver(g.log.at(-1));
    return undefined;
  };
  const q = g.say("alice", "chat", { message: "why?" });
  const end = await until("the end of the own context", () => g.of("reasoning.cancel")[0]);
  assert.match(end.payload.reason, /another process/);
  assert.deepEqual(warnings, ["another process of this participant answers questions too: the one that begins first answers"]);
  const probe = await until("a probe", () => g.of("participant.status")[0]);
  assert.deepEqual(probe.payload, { status: "waiting", question: q.id });
  g.log.push({ id: "theirs", ts: new Date().toISOString(), from: "bot", kind: "chat", correlationId: q.id, payload: { message: "theirs" }, seq: g.log.length + 1 });
  g.socket.deliver(g.log.at(-1));
  await me.close();
  assert.deepEqual(g.of("chat").map((e) => e.payload.message), ["theirs"]);
});

test("another process that asks gets a reply while a question is in progress", async () => {
  const [g, me] = await joined();
  me.onQuestion((q) => q.reason((r) => new Promise((_, no) => r.signal.addEventListener("abort", () => no(r.signal.reason)))));
  const q = g.say("alice", "chat", { message: "why?" });
  await until("a context", () => g.of("reasoning.start")[0]);
  g.say("bot", "participant.status", { status: "waiting", question: q.id }, { id: "probe", to: ["bot"] });
  const reply = await until("a reply", () => g.of("participant.status").find((e) => e.correlationId === "probe"));
  assert.equal(reply.payload.status, "reasoning");
  await me.close();
});

test("a process that starts closes what an earlier one left, and answers its question with the earlier calls", async () => {
  const g = new FakeGateway();
  const say = (kind, payload, more) => g.say("bot", kind, payload, more);
  g.say("alice", "chat", { message: "why?" }, { id: "q" });
  say("reasoning.start", { message: "" }, { id: "old", correlationId: "q" });
  say("reasoning.start", { message: "" }, { id: "inner", context: "old" });
  say("mcp.request", { method: "tools/call", params: { name: "echo", arguments: { n: 1 } } }, { id: "call", to: ["tools"], context: "old" });
  g.say("tools", "mcp.response", { result: { content: [] } }, { correlationId: "call" });
  say("mcp.request", { method: "tools/call", params: { name: "echo" } }, { id: "lost", to: ["tools"], context: "old" });
  g.say("tools", "mcp.response", { error: { code: -32000, message: "restarted", data: { reason: "restarted" } } }, { correlationId: "lost" });
  say("mcp.request", { id: 1, method: "tools/call", params: { name: "own" } }, { id: "own", to: ["bot"], context: "old" });
  say("mcp.proposal", { method: "tools/call", params: { name: "rm" } }, { id: "p", context: "old" });
  const me = await connect(g.options());
  let earlier = [];
  me.onQuestion((q) => {
    earlier = q.earlier;
    return q.reason(() => "because");
  });
  await until("an answer", () => g.of("chat")[0]);
  assert.deepEqual(earlier.map((c) => [c.request, c.name, c.participant, c.response !== null]), [["call", "echo", "tools", true], ["lost", "echo", "tools", false], ["own", "own", "bot", false]]);
  assert.deepEqual(g.of("reasoning.cancel").map((e) => e.context), ["old/inner", "old"]);
  assert.equal(g.of("mcp.withdraw")[0].correlationId, "p");
  assert.equal(g.of("mcp.response").find((e) => e.correlationId === "own").payload.error.data.reason, "restarted");
  assert.deepEqual(g.of("reasoning.start").at(-1).payload.references, ["call", "lost", "own"]);
  await me.close();
});

test("at a start, a question that another agent has begun to answer is left to it, unless it names this agent", async () => {
  for (const catchUp of ["auto", "all"]) {
    const g = new FakeGateway(); // the bot is alone
    g.say("bot", "chat", { message: "hello" });
    const ask = (id, message, more) => g.say("alice", "chat", { message }, { id, ...more });
    const begins = (from, about, more = {}) => g.say(from, "reasoning.start", {}, { correlationId: about, ...more });
    ask("free", "free?");
    ask("taken", "taken?");
    ask("lent", "in part?");
    ask("named", "named, @bot?");
    ask("addressed", "addressed?", { to: ["bot", "scout"] });
    ask("own", "own?");
    ask("late", "late?");
    ask("asked", "asked from a context?");
    begins("scout", ["taken", "named"]);
    g.say("scout", "chat", { message: "an answer" }, { correlationId: "taken" });
    begins("scout", "lent", { context: "c" }); // a nested context
    begins("scout", "addressed");
    begins("bot", "own");
    begins("scout", "own");
    begins("scout", "late");
    begins("bot", "late");
    begins("alice", "asked"); // the asker
    const me = await connect(g.options());
    const seen = [];
    me.onQuestion((q) => (seen.push(q.id), "because"), { catchUp, parallel: 1 });
    const answered = () => g.of("chat").map((e) => e.correlationId);
    await until("answers", () => answered().includes("asked"));
    assert.deepEqual(seen, ["free", "lent", "named", "addressed", "own", "asked"], catchUp);
    begins("scout", g.say("alice", "chat", { message: "and live?" }, { id: "live" }).id);
    await until("an answer", () => answered().includes("live"));
    await me.close();
  }
});

test("too many questions of one participant are refused once", async () => {
  const [g, me] = await joined();
  me.onQuestion((q) => q.reason((r) => new Promise((_, no) => r.signal.addEventListener("abort", () => no(r.signal.reason)))), { parallel: 1, waiting: 3 });
  for (let i = 0; i < 3; i++) g.say("alice", "chat", { message: "why?" }, { id: `q${i}` });
  await until("refusals", () => g.of("chat").length === 2);
  assert.deepEqual(g.of("chat").map((e) => e.id), ["busy:q1", "busy:q2"]);
  await me.close();
});

test("a call that is not allowed is proposed, and its outcome counts", async () => {
  const [g, me] = await joined({ ahead: 3_600_000 }); // it expires by the gateway's clock
  g.decide = (f) => (f.kind === "mcp.request" && f.payload.method === "tools/call" ? { error: "capability_violation", message: "Not allowed." } : undefined);
  const results = [];
  me.onQuestion((q) => q.reason(async (r) => {
    const got = await r.callTool("rm", { path: "x" }, { participant: "tools", reason: "It is old." }).then((x) => x.text, (err) => err.message);
    results.push(got);
    return got;
  }));
  const call = { method: "tools/call", params: { name: "rm", arguments: { path: "x" } } };
  g.say("alice", "chat", { message: "delete it" });
  const p = await until("a proposal", () => g.of("mcp.proposal")[0]);
  const { expires_at, ...proposed } = p.payload;
  assert.deepEqual(proposed, { ...call, participant_id: "tools" });
  const left = Date.parse(expires_at) - Date.now();
  assert.ok(left > 3_800_000 && left <= 3_901_000, expires_at);
  g.say("alice", "mcp.request", { ...call, params: { name: "rm", arguments: { path: "y" } } }, { to: ["tools"], correlationId: p.id });
  const r = g.say("alice", "mcp.request", call, { to: ["tools"], correlationId: p.id });
  g.say("tools", "mcp.response", text("deleted"), { to: ["alice"], correlationId: r.id });
  await until("an answer", () => results.length === 1);
  g.say("alice", "chat", { message: "delete it again" });
  const second = await until("a proposal", () => g.of("mcp.proposal")[1]);
  g.say("alice", "mcp.reject", { reason: "disagree" }, { correlationId: second.id });
  await until("an answer", () => results.length === 2);
  assert.deepEqual(results, ["deleted", "rejected by alice: disagree"]);
  await me.close();
});

test("a proposal without a decision is withdrawn, and one that is aborted too", async () => {
  const [g, me] = await joined();
  const { outcome, by } = await me.propose({ name: "rm", participant: "tools" }, { timeout: 10 });
  assert.deepEqual([outcome, by], ["expired", ""]);
  const stop = new AbortController();
  const proposing = me.propose({ name: "rm" }, { signal: stop.signal, onAdmitted: () => stop.abort(new Error("enough")) });
  await assert.rejects(proposing, /enough/);
  const all = await until("withdrawals", () => g.of("mcp.withdraw").length === 2 && g.of("mcp.withdraw"));
  assert.deepEqual(all.map((e) => e.payload.reason), ["timeout", "no_longer_needed"]);
  await me.close();
});

test("an own tool is called with a request and a response in the log", async () => {
  const [g, me] = await joined({ servesTools: true });
  me.serveTools({ double: { handler: ({ n }) => String(2 * n) } });
  me.onQuestion((q) => q.reason(async (r) => (await r.callTool("double", { n: 4 })).text));
  g.say("alice", "chat", { message: "double 4" });
  await until("an answer", () => g.of("chat")[0]);
  assert.equal(g.of("chat")[0].payload.message, "8");
  const [request] = g.of("mcp.request");
  assert.deepEqual(request.to, ["bot"]);
  assert.equal(request.correlationId, g.of("reasoning.start")[0].id);
  assert.equal(g.of("mcp.response")[0].correlationId, request.id);
  assert.equal(g.of("mcp.response")[0].to, undefined);
  await me.close();
});

test("an own tool has the time of a call, and an unknown one is an error", async () => {
  const [g, me] = await joined({ servesTools: true });
  let stopped;
  me.serveTools({ hang: { handler: (_, { signal }) => new Promise(() => (stopped = signal)) } });
  const late = { name: "TimeoutError", message: "no result within 20 ms" };
  await assert.rejects(me.callTool("hang", {}, { timeout: 20 }), late);
  assert.equal(stopped.reason.name, "TimeoutError");
  await assert.rejects(me.callTool("bot/nosuch"), { code: -32602 });
  const got = [];
  me.onQuestion((q) => q.reason(async (r) => {
    for (const name of ["hang", "bot/nosuch"]) await r.callTool(name, {}, { timeout: 20 }).catch((err) => got.push(err.code ?? err.message));
    return "";
  }));
  g.say("alice", "chat", { message: "hang" });
  await until("both errors", () => got.length === 2);
  assert.deepEqual(got, [late.message, -32602]);
  assert.deepEqual(g.of("mcp.response").map((e) => e.payload.error.code), [-32001, -32602, -32001, -32602]);
  await me.close();
});

test("approve and reject decide on a proposal of another participant", async () => {
  const [g, me] = await joined();
  const p = g.say("scout", "mcp.proposal", { method: "tools/call", params: { name: "rm", arguments: { n: 1 } }, participant_id: "tools" }, { context: "c" });
  const deciding = me.approve(p);
  const r = await until("a request", () => g.of("mcp.request")[0]);
  assert.deepEqual([r.to, r.context, r.correlationId, r.payload.params], [["tools"], "c", p.id, { name: "rm", arguments: { n: 1 } }]);
  respond(g, r, text("ok"));
  assert.equal((await deciding).text, "ok");
  await me.reject(p, "unsafe");
  assert.deepEqual(g.of("mcp.reject")[0].payload, { reason: "unsafe" });
  await assert.rejects(me.approve({ ...p, payload: { method: "tools/call", params: {} } }), /participant/);
  await me.close();
});

test("shutdown ends the client, and a status is reported", async () => {
  const [g, me] = await joined();
  me.onQuestion((q) => q.reason((r) => new Promise((_, no) => r.signal.addEventListener("abort", () => no(r.signal.reason)))));
  g.say("alice", "participant.request-status", {}, { id: "s", to: ["bot"] });
  assert.equal((await until("a status", () => g.of("participant.status")[0])).payload.status, "idle");
  g.say("alice", "mcp.request", { id: 1, method: "tools/list" }, { id: "r", to: ["bot"] });
  assert.equal((await until("a response", () => g.of("mcp.response")[0])).payload.error.code, -32601);
  g.say("alice", "chat", { message: "why?" });
  await until("a context", () => g.of("reasoning.start")[0]);
  g.say("alice", "participant.shutdown", {}, { to: ["bot"] });
  await me.closed;
  assert.equal(g.of("reasoning.cancel")[0].payload.reason, "the agent is shutting down");
  assert.equal(g.of("chat").length, 0);
});

test("chats before the agent starts are questions if they came after joining", async () => {
  const [g, me] = await joined();
  g.say("alice", "chat", { message: "early" });
  await me.receive();
  me.onQuestion((q) => q.text);
  assert.equal((await until("an answer", () => g.of("chat")[0])).payload.message, "early");
  await me.close();
});

test("a question of a host without an answer in time is canceled, and one too many is declined", async () => {
  const [g, me] = await joined({ ahead: 3_600_000 });
  const asked = [];
  me.onElicitation((q) => (asked.push(q), new Promise(() => {})));
  const calling = me.callTool("slow", {}, { participant: "tools", timeout: 2_000 });
  const call = await until("a call", () => g.of("mcp.request")[0]);
  const ask = (after) => g.say("tools", "mcp.request", { jsonrpc: "2.0", id: 1, method: "elicitation/create", params: { message: "Which?", ...(after !== undefined && { _meta: { "meup/expires_at": new Date(Date.now() + g.ahead + after).toISOString() } }) } }, { to: ["bot"], correlationId: call.id });
  const answer = (q) => until("an answer", () => g.of("mcp.response").find((e) => e.correlationId === q.id));
  const open = ask(200_000);
  await until("the handler", () => asked.length === 1);
  for (let i = 1; i < 20; i++) assert.deepEqual((await answer(ask(5))).payload.result, { action: "cancel" });
  assert.equal((await answer(ask())).payload.error.code, -32000);
  assert.deepEqual(asked.map((q) => q.signal.aborted), [false, ...Array(19).fill(true)]);
  // The host withdraws the question, whose handler goes on: the time limit of the call begins anew.
  g.say("tools", "mcp.request", { method: "notifications/cancelled", params: { requestId: open.id } }, { to: ["bot"], correlationId: open.id });
  await assert.rejects(calling, TimeoutError);
  assert.equal(g.of("mcp.response").length, 20);
  await me.close();
});

test("another agent is asked, and each end has an outcome", async () => {
  const [g, me] = await joined();
  g.participants.push({ id: "critic", capabilities: ["chat", "reasoning/*"] });
  g.presence("join", "critic");
  const heard = [];
  const got = [];
  const asked = (text) => until(text, () => g.of("reasoning.start").find((e) => e.payload.message === text));
  const inPart = (e) => ({ context: `${e.context}/${e.id}` });
  me.onQuestion(async (q) => {
    got.push(await q.ask("critic", "one", { onThought: (text) => heard.push(text) }));
    await q.reason(async (r) => {
      got.push(await q.ask("critic", "two"));
      got.push(await r.ask("critic", "three", { timeout: 20 }));
      got.push(await r.ask("bot", "four"));
      g.decide = (f) => (f.payload.message === "five" ? { error: "unknown_participant", message: "No such participant." } : undefined);
      got.push(await r.ask("nobody", "five"));
      await assert.rejects(r.ask("critic", "six", { onThought: () => assert.fail("of the handler") }), /of the handler/);
    });
    return "done";
  });
  g.say("alice", "chat", { message: "@bot well?" });
  const one = await asked("one");
  assert.deepEqual(one.payload, { message: "one", participant_id: "critic", metadata: { approach: "delegated" } });
  g.say("critic", "reasoning.hypothesis", { hypothesis: "perhaps" }, inPart(one));
  g.say("critic", "reasoning.conclusion", { decision: "go" }, inPart(one));
  g.say("critic", "reasoning.conclusion", {}, inPart(await asked("two")));
  g.say("critic", "reasoning.thought", { message: "hm" }, inPart(await asked("six")));
  const answer = await until("an answer", () => g.of("chat")[0]);
  assert.equal(answer.payload.message, "done");
  assert.deepEqual(
    got.map((x) => [x.outcome, x.text, x.envelope?.kind]),
    [
      ["answered", "go", "reasoning.conclusion"],
      ["gave_up", "critic closed the part without a conclusion", "reasoning.conclusion"],
      ["timeout", "no conclusion of critic within 0.02 s", undefined],
      ["rejected", "an agent cannot ask itself", undefined],
      ["rejected", "not asked: No such participant. (unknown_participant)", undefined],
    ],
  );
  assert.deepEqual(heard, ["perhaps"]);
  const canceled = g.of("reasoning.cancel").map((e) => e.context);
  assert.deepEqual(canceled, [inPart(await asked("three")).context, inPart(await asked("six")).context]);
  await me.close();
});

test("an answer is streamed up to a bound, and withdrawn with its question", async () => {
  const [g, me] = await joined();
  me.onQuestion((q) =>
    q.streamAnswer(
      (async function* () {
        yield "begin ";
        await until("a chunk", () => g.of("stream.data").some((e) => e.correlationId === q.id));
        if (q.text.endsWith("wait")) await new Promise(() => {});
        for (let i = 0; i < 100; i++) yield "é".repeat(512);
      })(),
    ),
  );
  g.say("alice", "chat", { message: "@bot long" });
  const answer = await until("an answer", () => g.of("chat")[0]);
  const streamed = g.of("stream.data").map((e) => e.payload.data).join("");
  const bytes = Buffer.byteLength(streamed);
  assert.ok(answer.payload.message.startsWith(streamed) && bytes > 63 * 1024 && bytes <= 64 * 1024, String(bytes));
  const close = g.of("stream.close")[0];
  assert.deepEqual([close.payload.stream_id, close.payload.reason], [answer.payload.stream_id, undefined]);
  const waiting = g.say("alice", "chat", { message: "@bot wait" });
  await until("a chunk", () => g.of("stream.data").some((e) => e.correlationId === waiting.id));
  g.say("alice", "chat.cancel", { reason: "found it" }, { correlationId: waiting.id });
  assert.equal((await until("an end", () => g.of("stream.close")[1])).payload.reason, "withdrawn");
  await me.close();
});
