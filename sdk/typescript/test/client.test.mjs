import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import { test } from "node:test";
import { ClosedError, ConnectionError, GapError, InterruptedError, ProtocolError, connect, isRejected } from "@meup-protocol/sdk";
import { FakeGateway, until } from "./fake.mjs";

test("bad options are errors that name the fix", async () => {
  const g = new FakeGateway();
  await assert.rejects(connect(g.options({ space: undefined })), /MEUP_SPACE/);
  await assert.rejects(connect(g.options({ url: "ftp://gateway.example" })), /https, http, wss or ws/);
  await assert.rejects(connect({ ...g.options(), WebSocket: undefined, url: undefined }), /MEUP_URL/);
  const { WebSocket } = globalThis;
  try {
    globalThis.WebSocket = undefined; // Node 20
    await assert.rejects(connect(g.options({ WebSocket: undefined })), /--experimental-websocket, or pass the class of the package "ws" as the option WebSocket/);
  } finally {
    globalThis.WebSocket = WebSocket;
  }
});

test("addresses of a gateway and of its socket", async () => {
  for (const [url, want] of [
    ["http://host:1/", "ws://host:1/ws"],
    ["https://host/path", "wss://host/path/ws"],
    ["wss://host/path/ws?space=x", "wss://host/path/ws"],
  ]) {
    const g = new FakeGateway();
    const me = await connect(g.options({ url }));
    assert.equal(g.socket.url.href.split("?")[0], want);
    assert.deepEqual(g.socket.protocols, ["meup.v0.1", "bearer.c2VjcmV0"]);
    assert.equal(g.socket.url.searchParams.get("ack"), "true");
    await me.close();
  }
});

test("the number of own connections, and the descriptions of participants", async (t) => {
  const g = new FakeGateway();
  g.participants = [{ id: "bot", capabilities: ["*"] }, { id: "planner", capabilities: [], description: "Answers questions." }];
  const me = await connect(g.options());
  t.after(() => me.close());
  assert.equal(me.connections, 2);
  const does = () => Object.fromEntries(me.participants.map((p) => [p.id, p.description]));
  assert.deepEqual(does(), { bot: "", planner: "Answers questions." });
  g.presence("join", "planner", { description: "Plans releases." });
  await until("the presence", () => does().planner !== "Answers questions.");
  assert.equal(does().planner, "Plans releases.");
});

test("a rejected connection is an error with the answer of the gateway", async (t) => {
  const server = createServer((_, res) => res.writeHead(401, { "Content-Type": "application/json" }).end('{"error":"unauthorized","message":"The token is unknown."}')).listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  await assert.rejects(connect({ url: `http://127.0.0.1:${server.address().port}`, space: "lab", token: undefined }), /the option token is undefined/);
  await assert.rejects(connect({ url: `http://127.0.0.1:${server.address().port}`, space: "lab", token: "" }), /the option token is empty/);
  await assert.rejects(connect({ url: `http://127.0.0.1:${server.address().port}`, space: "lab" }), /no token: give the option token, or set MEUP_TOKEN/);
  await assert.rejects(connect({ url: `http://127.0.0.1:${server.address().port}`, space: "lab", token: "x" }), (err) => err instanceof ConnectionError && err.refusal.error === "unauthorized" && err.message === `the gateway at http://127.0.0.1:${server.address().port} does not know this token (unauthorized): is it the participant's token of tokens.env?`);
});

test("an unreachable gateway is tried until the timeout", async () => {
  await assert.rejects(connect({ url: "http://127.0.0.1:1", space: "lab", token: "x", connectTimeout: 30 }), (err) => err instanceof ConnectionError && err.closeCode === 0);
  const stop = new AbortController();
  const joining = connect({ url: "http://127.0.0.1:1", space: "lab", token: "x", signal: stop.signal });
  stop.abort(new Error("enough"));
  await assert.rejects(joining, /enough/);
});

test("a gateway that is not reached is reported once, and that it is reached", async (t) => {
  const log = t.mock.method(console, "warn", () => {}).mock;
  for (const silent of [false, true]) {
    const g = new FakeGateway();
    const join = g.join.bind(g);
    g.join = (s) => (g.sockets.length <= 3 ? s.end(1006) : join(s));
    const warnings = [];
    const me = await connect(g.options({ fetch: () => Promise.reject(new Error("away")), ...(silent && { onWarning: (m) => warnings.push(m) }) }));
    g.join = (s) => (g.sockets.length <= 6 ? s.end(1006) : join(s));
    g.socket.end(1006);
    await until("a new connection", () => g.sockets.length === 7);
    await me.chat("here again");
    await me.close();
    const want = [
      "waiting for the gateway at http://gateway.example: The gateway is unreachable",
      "the gateway at http://gateway.example is reached",
      "the connection to the gateway at http://gateway.example is lost, trying again: The connection was lost",
      "the gateway at http://gateway.example is reached again",
    ];
    if (silent) assert.deepEqual(warnings, want);
    assert.deepEqual(log.calls.map((c) => c.arguments), want.map((m) => [`meup: ${m}`]));
  }
});

test("an option that a function does not have is an error", async () => {
  const g = new FakeGateway();
  await assert.rejects(connect(g.options({ catchUp: "off" })), /^TypeError: connect has no option catchUp: it is one of onQuestion$/);
  await assert.rejects(connect(g.options({ nosuch: 1 })), /^TypeError: connect has no option nosuch$/);
  const me = await connect(g.options());
  assert.throws(() => me.onQuestion(() => "", { space: "lab" }), /^TypeError: onQuestion has no option space: it is one of connect$/);
  await me.close();
});

test("close codes that are final end the client, others do not", async () => {
  for (const code of [1008, 4001, 4003]) {
    const g = new FakeGateway();
    const me = await connect(g.options());
    g.decide = () => "lost";
    const sending = me.chat("x");
    g.socket.end(code, "why");
    const err = await me.closed;
    assert.ok(err instanceof ConnectionError && err.closeCode === code, String(err));
    await assert.rejects(sending, ConnectionError);
    await assert.rejects(me.receive(), ConnectionError);
    assert.equal(g.sockets.length, 1);
  }
  const g = new FakeGateway();
  const me = await connect(g.options());
  for (const code of [1000, 1001, 1006, 1009, 1011, 4008]) {
    const n = g.sockets.length;
    g.socket.end(code);
    await until(`a connection after ${code}`, () => g.sockets.length > n);
    assert.equal(g.socket.url.searchParams.get("since"), "0");
    assert.equal(g.socket.url.searchParams.get("log"), "log-1");
  }
  await me.close();
  assert.ok((await me.closed) instanceof ClosedError);
});

test("an envelope that is not acknowledged is sent again with its id", async () => {
  const g = new FakeGateway();
  const me = await connect(g.options());
  let n = 0;
  g.decide = () => (n++ === 0 ? "lost" : n === 2 ? { error: "unavailable", message: "later" } : undefined);
  const sending = me.chat("once");
  await until("a frame", () => g.socket.sent.length > 0);
  g.socket.end(1006);
  const { id, seq } = await sending;
  assert.equal(seq, 1);
  assert.deepEqual(g.sockets.flatMap((s) => s.sent.filter((f) => f.kind === "chat").map((f) => f.id)), [id, id, id]);
  await me.close();
});

test("stream.data is not sent again", async () => {
  const g = new FakeGateway();
  const me = await connect(g.options());
  g.decide = () => "lost";
  const sending = me.send({ kind: "stream.data", payload: { stream_id: "s", data: "x" } });
  g.socket.end(1006);
  await assert.rejects(sending, InterruptedError);
  await me.close();
});

test("a rejection is a ProtocolError with its code and fields", async () => {
  const g = new FakeGateway();
  const me = await connect(g.options());
  g.decide = () => ({ error: "proposal_settled", message: "It is decided.", by: "alice", seq: 4 });
  await assert.rejects(me.chat("x"), (err) => isRejected(err, "proposal_settled") && err.refusal.by === "alice" && !isRejected(err, "paused"));
  await assert.rejects(me.send({ id: "not an id", kind: "chat", payload: { message: "" } }), (err) => err instanceof ProtocolError && err.code === "invalid_envelope");
  await me.close();
  await assert.rejects(me.chat("x"), ClosedError);
});

test("200 envelopes wait for the gateway, and further ones for a place", async () => {
  const g = new FakeGateway();
  const me = await connect(g.options());
  g.decide = () => "lost";
  const stop = new AbortController();
  const list = Array.from({ length: 201 }, (_, i) => me.chat(`${i}`, { signal: stop.signal }));
  const last = list.at(-1);
  stop.abort(new Error("enough"));
  for (const p of list) await assert.rejects(p, /enough/);
  g.decide = () => undefined;
  assert.equal((await me.chat("free again")).seq, 1);
  await assert.rejects(last);
  await me.close();
});

test("envelopes arrive once and in order, with gaps reported", async () => {
  const g = new FakeGateway();
  for (let i = 0; i < 5; i++) g.say("alice", "chat", { message: `${i}` });
  const me = await connect(g.options({ since: 2 }));
  assert.deepEqual([(await me.receive()).seq, (await me.receive()).seq, (await me.receive()).seq], [3, 4, 5]);
  g.log = [];
  g.logID = "log-2";
  g.say("alice", "chat", { message: "new" }, {});
  g.socket.end(1001);
  await assert.rejects(me.receive(), (err) => err instanceof GapError && err.reset && err.after === 5);
  assert.equal((await me.receive()).payload.message, "new");
  assert.equal(me.log, "log-2");
  await me.close();
  for await (const e of me) assert.fail(`received ${e.kind} after the end`);
});

test("unknown fields and long numbers are kept", async () => {
  const g = new FakeGateway();
  const me = await connect(g.options());
  g.socket.onmessage({ data: '{"id":"a","from":"alice","kind":"chat","payload":{"message":"","n":12345678901234567890},"seq":1,"trace":"t"}' });
  const e = await me.receive();
  assert.equal(e.trace, "t");
  assert.equal(String(e.payload.n), "12345678901234567890");
  await me.close();
});

test("a slow receiver has a bounded buffer, and loses nothing", async () => {
  const g = new FakeGateway();
  const me = await connect(g.options({ buffer: 4 }));
  for (let i = 1; i <= 100; i++) g.say("alice", "chat", { message: `${i}` });
  await until("the connection is left", () => !g.socket.isOpen);
  for (let i = 1; i <= 100; i++) assert.equal((await me.receive()).seq, i);
  assert.ok(g.sockets.length > 5, `${g.sockets.length} connections`);
  await me.close();
});

test("a filter is applied by the gateway, and stays in force", async () => {
  const g = new FakeGateway();
  const me = await connect(g.options({ filter: { kinds: ["chat"], contexts: ["", "a"] } }));
  assert.deepEqual(g.socket.url.searchParams.getAll("kinds"), ["chat"]);
  assert.equal(g.socket.url.searchParams.get("main"), "true");
  assert.equal(g.socket.url.searchParams.get("context"), "a");
  await me.subscribe({ exclude_contexts: ["noise"], conclusions_only: true });
  g.socket.end(1006);
  await until("a filter on the new connection", () => g.sockets.length === 2 && g.socket.sent.some((f) => f.kind === "system.subscribe" && f.payload.conclusions_only));
  g.say("alice", "reasoning.thought", { message: "" }, { context: "noise/x" });
  g.say("alice", "reasoning.thought", { message: "" }, { context: "b" });
  g.say("alice", "mcp.request", { method: "m" }, { context: "noise" });
  g.say("alice", "chat", { message: "" }, { context: "noise", to: ["bot"] });
  g.say("alice", "reasoning.conclusion", {}, { context: "b" });
  assert.deepEqual([(await me.receive()).kind, (await me.receive()).kind, (await me.receive()).kind], ["mcp.request", "chat", "reasoning.conclusion"]);
  await me.close();
});

test("an observer sends nothing but its filter", async () => {
  const g = new FakeGateway();
  const me = await connect(g.options({ observe: true }));
  await assert.rejects(me.chat("x"), (err) => isRejected(err, "capability_violation"));
  await me.subscribe({ kinds: ["chat"] });
  assert.equal(g.socket.url.searchParams.get("observe"), "true");
  assert.throws(() => me.onQuestion(() => ""), /observe/);
  await me.close();
});

test("a handler that fails does not affect others", async () => {
  const g = new FakeGateway();
  const faults = [];
  const me = await connect(g.options({ onError: (what, err) => faults.push(`${what}: ${err.message}`) }));
  me.handle(() => {
    throw new Error("broken");
  });
  g.say("alice", "chat", { message: "x" });
  assert.equal((await me.receive()).kind, "chat");
  assert.deepEqual(faults, ["a handler of chat failed: broken"]);
  await me.close();
});
