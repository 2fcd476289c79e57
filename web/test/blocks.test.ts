/** Every state of a reasoning block, and the ways to it. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Timeline } from "../src/core/replay.js";
import { Space } from "../src/core/space.js";
import type { Block, CallStep, ThoughtStep } from "../src/core/state.js";
import { blockTitle, elapsedSeconds } from "../src/core/time.js";
import type { Envelope, Payload } from "@sdk/types.js";
import { Scribe } from "./support.js";

class Stage {
  readonly space = new Space();
  readonly w = new Scribe();

  constructor(present: readonly string[] = ["alice", "planner", "critic"]) {
    this.space.load([], false);
    this.space.receive(this.w.welcome(present, 0));
  }

  say(from: string, kind: string, payload: Payload = {}, more: Partial<Envelope> & { after?: number } = {}): Envelope {
    const e = this.w.say(from, kind, payload, more);
    this.space.receive(e);
    return e;
  }

  block(path: string): Block {
    const b = this.space.state.blocks.get(path);
    assert.ok(b !== undefined, `there is a block ${path}`);
    return b;
  }

  /** A question, and the block that planner has opened for it. */
  asked(): { readonly question: string; readonly path: string } {
    const question = this.say("alice", "chat", { message: "why?" }).id;
    return { question, path: this.say("planner", "reasoning.start", { message: "Looking" }, { correlationId: question }).id };
  }
}

test("reasoning, collapsed by the conclusion, complete by the answer", () => {
  const s = new Stage();
  const { question, path } = s.asked();
  assert.equal(s.block(path).status, "reasoning");
  assert.equal(s.block(path).thoughtSeconds, null);
  s.say("planner", "reasoning.thought", { message: "hm" }, { context: path, after: 3400 });
  s.say("planner", "reasoning.conclusion", { message: "so" }, { context: path, after: 8000 });
  assert.equal(s.block(path).status, "collapsed");
  assert.equal(s.block(path).thoughtSeconds, 12, "11.4 s, rounded up");
  s.say("planner", "chat", { message: "because" }, { correlationId: question, after: 5000 });
  assert.equal(s.block(path).status, "complete");
  assert.equal(s.block(path).thoughtSeconds, 12, "the answer changes nothing of it");
  assert.equal(blockTitle(s.block(path), 0), "Thought for 12s");
});

test("collapsed by an answer, complete by the conclusion behind it", () => {
  const s = new Stage();
  const { question, path } = s.asked();
  s.say("planner", "chat", { message: "because" }, { correlationId: question, after: 64_200 });
  assert.equal(s.block(path).status, "collapsed");
  s.say("planner", "reasoning.conclusion", {}, { context: path });
  assert.equal(s.block(path).status, "complete");
  assert.equal(blockTitle(s.block(path), 0), "Thought for 1m 5s");
});

test("an answer that grows ends the thinking when it begins", () => {
  const s = new Stage();
  const { question, path } = s.asked();
  s.say("planner", "stream.open", { stream_id: "s" }, { correlationId: question, after: 2000 });
  assert.equal(s.block(path).status, "reasoning", "nothing was said yet");
  s.space.receive(s.w.gateway("stream.data", { stream_id: "s", data: "be" }, { from: "planner" }));
  s.space.receive(s.w.gateway("stream.data", { stream_id: "s", data: "cause" }, { from: "planner" }));
  assert.equal(s.block(path).status, "collapsed");
  assert.equal(s.block(path).thoughtSeconds, 2);
  const growing = s.space.state.messages.get("stream:s");
  assert.deepEqual([growing?.text, growing?.growing, growing?.replyTo], ["because", true, question]);
  s.say("planner", "stream.close", { stream_id: "s" });
  s.say("planner", "chat", { message: "because.", stream_id: "s" }, { correlationId: question, after: 9000 });
  s.say("planner", "reasoning.conclusion", {}, { context: path });
  const state = s.space.state;
  assert.equal(state.messages.has("stream:s"), false);
  assert.equal(state.timeline.filter((x) => x.type === "message").length, 2);
  assert.equal(s.block(path).status, "complete");
  assert.equal(s.block(path).thoughtSeconds, 2);
});

/** Sends stream.open and data of planner, and returns the ending of the stream. */
function grows(s: Stage, id: string, text: string, more: Partial<Envelope>): (payload?: Payload) => void {
  s.say("planner", "stream.open", { stream_id: id }, more);
  const { context } = more;
  s.space.receive(s.w.gateway("stream.data", { stream_id: id, data: text }, { from: "planner", ...(context !== undefined && { context }) }));
  return (payload = {}) => void s.say("planner", "stream.close", { stream_id: id, ...payload }, more);
}

test("a thought that is withdrawn, and the answer that it was the beginning of", () => {
  const s = new Stage();
  const { question, path } = s.asked();
  const end = grows(s, "t", "It is", { context: path });
  s.say("critic", "stream.close", { stream_id: "t", reason: "withdrawn" }, { context: path });
  assert.deepEqual(s.block(path).steps.map((x) => (x as ThoughtStep).text), ["It is"], "only its owner withdraws it");
  end({ reason: "withdrawn" });
  assert.deepEqual([s.block(path).steps, s.block(path).status], [[], "reasoning"]);
  grows(s, "a", "It is fine", { correlationId: question })();
  assert.equal(s.space.state.messages.get("stream:a")?.text, "It is fine");
  assert.deepEqual([s.block(path).status, s.block(path).answer], ["collapsed", "stream:a"]);
  s.say("planner", "reasoning.conclusion", {}, { context: path });
  s.say("planner", "chat", { message: "It is fine.", stream_id: "a" }, { correlationId: question });
  assert.deepEqual(s.space.state.timeline.map((x) => x.type), ["message", "message"]);
  assert.deepEqual([s.block(path).status, s.block(path).steps], ["complete", []]);
});

test("an answer that is withdrawn: its reasoning goes on, and ends with the next one", () => {
  const s = new Stage();
  const { question, path } = s.asked();
  const end = grows(s, "a", "I look", { correlationId: question });
  assert.equal(s.block(path).status, "collapsed");
  s.say("critic", "stream.close", { stream_id: "a", reason: "withdrawn" }, { correlationId: question });
  assert.equal(s.space.state.messages.has("stream:a"), true, "only its owner withdraws it");
  end({ reason: "withdrawn" });
  assert.equal(s.space.state.messages.has("stream:a"), false);
  assert.deepEqual(s.space.state.timeline.map((x) => x.key), [question]);
  assert.deepEqual([s.block(path).status, s.block(path).answer, s.block(path).thoughtSeconds], ["reasoning", null, null]);
  s.space.receive(s.w.gateway("stream.data", { stream_id: "a", data: " further" }, { from: "planner" }));
  s.say("planner", "reasoning.thought", { message: "I look further" }, { context: path });
  assert.equal(s.space.state.messages.size, 1, "what comes late is no answer");
  grows(s, "b", "It is", { correlationId: question })();
  assert.deepEqual([s.block(path).status, s.block(path).answer], ["collapsed", "stream:b"]);
  const answer = s.say("planner", "chat", { message: "It is.", stream_id: "b" }, { correlationId: question, after: 9000 }).id;
  s.say("planner", "reasoning.conclusion", {}, { context: path });
  assert.deepEqual([s.block(path).status, s.block(path).answer], ["complete", answer]);
  assert.equal(s.block(path).thoughtSeconds, 5, "until the answer began");
});

test("an answer that is withdrawn after the conclusion", () => {
  const s = new Stage();
  const { question, path } = s.asked();
  const end = grows(s, "a", "It is", { correlationId: question });
  s.say("planner", "reasoning.conclusion", {}, { context: path });
  assert.equal(s.block(path).status, "complete");
  end({ reason: "withdrawn" });
  assert.deepEqual([s.block(path).status, s.block(path).answer], ["collapsed", null]);
});

test("an answer that turns out to be a thought is no message", () => {
  const s = new Stage();
  const { question, path } = s.asked();
  grows(s, "a", "I look", { correlationId: question });
  s.say("planner", "reasoning.thought", { message: "I look.", stream_id: "a" }, { context: path });
  assert.equal(s.space.state.messages.has("stream:a"), false);
  assert.deepEqual([s.block(path).status, s.block(path).answer], ["reasoning", null]);
  assert.deepEqual(s.block(path).steps.map((x) => (x as ThoughtStep).text), ["I look."]);
});

test("withdrawn texts are not in the page that loads older messages, nor in a replay", () => {
  const w = new Scribe();
  const space = new Space();
  const log = [w.say("alice", "chat", { message: "hello" }), w.say("alice", "chat", { message: "why?" })];
  space.load(log.slice(1), true);
  space.receive(w.welcome(["alice", "planner"]));
  const say = (from: string, kind: string, payload: Payload, more: Partial<Envelope>): void => {
    log.push(w.say(from, kind, payload, more));
    space.receive(log.at(-1) as Envelope);
  };
  say("planner", "reasoning.start", {}, { correlationId: "m2" });
  for (const [id, more] of [["t", { context: "m3" }], ["a", { correlationId: "m2" }]] as const) {
    say("planner", "stream.open", { stream_id: id }, more);
    space.receive(w.gateway("stream.data", { stream_id: id, data: "It is" }, { from: "planner", ...more }));
    say("planner", "stream.close", { stream_id: id, reason: "withdrawn" }, more);
  }
  space.load(log.slice(0, 1), false);
  const replay = new Timeline(true);
  replay.add(log);
  replay.seek(replay.length);
  for (const s of [space.state, replay.state]) {
    assert.deepEqual(s.timeline.map((x) => x.key), ["m1", "m2"]);
    assert.deepEqual([s.blocks.get("m3")?.status, s.blocks.get("m3")?.steps], ["reasoning", []]);
  }
});

test("answers of others or to other messages have no effect", () => {
  const s = new Stage();
  const { question, path } = s.asked();
  s.say("critic", "chat", { message: "I know" }, { correlationId: question });
  s.say("planner", "chat", { message: "by the way" }, { to: ["critic"] });
  assert.equal(s.block(path).status, "reasoning");
});

test("an answer that correlates to nothing, of a client that acknowledges alone", () => {
  const s = new Stage();
  const question = s.say("alice", "chat", { message: "why?" }).id;
  s.say("planner", "chat.acknowledge", {}, { correlationId: question });
  const path = s.say("planner", "reasoning.start", { message: "Looking" }).id;
  assert.equal(s.block(path).question, question);
  const answer = s.say("planner", "chat", { message: "so" }, { to: ["alice"] }).id;
  assert.deepEqual([s.block(path).answer, s.space.state.messages.get(answer)?.replyTo], [answer, question]);
  const more = s.say("planner", "chat", { message: "and by the way" }, { to: ["alice"] }).id;
  assert.equal(s.space.state.messages.get(more)?.replyTo, null);
});

test("a context that its start names, and an answer that correlates to its name", () => {
  const s = new Stage();
  const question = s.say("alice", "chat", { message: "why?" }, { to: ["planner"] }).id;
  const start = s.say("planner", "reasoning.start", {}, { context: "reason-900" }).id;
  assert.equal(s.block("reason-900").question, question);
  s.say("planner", "reasoning.conclusion", {}, { context: "reason-900" });
  assert.equal(s.block("reason-900/" + start).status, "complete", "closed with the one around it");
  const answer = s.say("planner", "chat", { message: "so" }, { correlationId: "reason-900" }).id;
  assert.deepEqual([s.block("reason-900").status, s.block("reason-900").answer], ["complete", answer]);
});

test("an answer that correlates to the reasoning answers the question", () => {
  const s = new Stage();
  const { question, path } = s.asked();
  s.say("planner", "reasoning.conclusion", {}, { context: path });
  const answer = s.say("planner", "chat", { message: "so" }, { correlationId: path });
  assert.equal(s.block(path).status, "complete");
  assert.equal(s.space.state.messages.get(answer.id)?.replyTo, question);
});

test("a block without a question is complete after its conclusion and rendered separately", () => {
  const s = new Stage();
  const path = s.say("planner", "reasoning.start", {}).id;
  assert.deepEqual(s.space.state.timeline.map((x) => [x.type, x.key]), [["block", path]]);
  s.say("planner", "reasoning.conclusion", {}, { context: path });
  assert.equal(s.block(path).status, "complete");
});

test("cancelled from inside and from outside, once", () => {
  const s = new Stage();
  const one = s.asked().path;
  s.say("alice", "reasoning.cancel", { reason: "stop" }, { context: one });
  s.say("planner", "reasoning.conclusion", {}, { context: one });
  assert.equal(s.block(one).status, "cancelled");
  assert.deepEqual([s.block(one).cancelled?.by, s.block(one).cancelled?.reason], ["alice", "stop"]);
  assert.equal(s.block(one).conclusion, null);
  const two = s.asked().path;
  s.say("alice", "reasoning.cancel", {}, { correlationId: [two, "nothing"] });
  assert.equal(s.block(two).status, "cancelled");
  assert.equal(blockTitle(s.block(two), 0), "Canceled after 1s");
});

test("stopped while its opener is away, and going on when it is back", () => {
  const s = new Stage();
  const { path } = s.asked();
  s.say("planner", "reasoning.thought", { message: "hm" }, { context: path, after: 4000 });
  s.space.receive(s.w.presence("leave", "planner"));
  assert.equal(s.block(path).status, "stopped");
  assert.equal(s.block(path).thoughtSeconds, 4);
  s.space.receive(s.w.presence("join", "planner"));
  assert.equal(s.block(path).status, "reasoning");
  assert.equal(s.block(path).thoughtSeconds, null);
  s.space.receive(s.w.welcome(["alice"]));
  assert.equal(s.block(path).status, "stopped", "a new connection finds it away");
  s.say("planner", "reasoning.thought", { message: "over HTTP" }, { context: path });
  assert.equal(s.block(path).status, "reasoning", "it is not connected, and speaks");
});

test("a new context for the same question stops the previous one", () => {
  const s = new Stage();
  const { question, path } = s.asked();
  const again = s.say("planner", "reasoning.start", {}, { correlationId: question }).id;
  assert.equal(s.block(path).status, "stopped");
  assert.equal(s.block(again).status, "reasoning");
});

test("an envelope of a disconnected participant resumes its open blocks", () => {
  const s = new Stage(["alice"]);
  const one = s.say("tool", "reasoning.start").id;
  const two = s.say("tool", "reasoning.start").id;
  s.space.receive(s.w.presence("join", "tool"));
  s.space.receive(s.w.presence("leave", "tool"));
  assert.deepEqual([s.block(one).status, s.block(two).status], ["stopped", "stopped"]);
  s.say("tool", "chat", { message: "still here" });
  assert.deepEqual([s.block(one).status, s.block(two).status], ["reasoning", "reasoning"]);
});

test("a block that was begun before its question was seen is put below it", () => {
  const s = new Stage();
  const path = s.say("planner", "reasoning.start", {}, { correlationId: "later" }).id;
  assert.deepEqual(s.space.state.timeline.map((x) => x.type), ["block"]);
  s.say("alice", "chat", { message: "why?" }, { id: "later" });
  assert.deepEqual(s.space.state.timeline.map((x) => x.key), ["later"]);
  assert.deepEqual(s.space.state.messages.get("later")?.blocks, [path]);
  s.say("planner", "chat", { message: "so" }, { correlationId: "later" });
  assert.equal(s.block(path).status, "collapsed");
});

test("only the owner of a stream can send on it", () => {
  const s = new Stage();
  const { path } = s.asked();
  s.say("planner", "stream.open", { stream_id: "s" }, { context: path });
  for (const from of ["critic", "planner", "critic"]) s.space.receive(s.w.gateway("stream.data", { stream_id: "s", data: from }, { from, context: path }));
  assert.deepEqual(s.block(path).steps.map((x) => (x as ThoughtStep).text), ["planner"]);
  s.say("critic", "reasoning.thought", { message: "mine", stream_id: "s" }, { context: path });
  assert.deepEqual(s.block(path).steps.map((x) => x.key.slice(0, 7)), ["stream:", "m4"]);
});

test("stream data of a participant that only uses HTTP continues its block", () => {
  const s = new Stage(["alice"]);
  const { path } = s.asked();
  s.say("planner", "stream.open", { stream_id: "s" }, { context: path });
  const later = new Space(); // of a page that joins now
  later.load(s.space.envelopes, false);
  later.receive(s.w.welcome(["alice"]));
  assert.equal(later.state.blocks.get(path)?.status, "stopped");
  const data = s.w.gateway("stream.data", { stream_id: "s", data: "still here" }, { from: "planner", context: path });
  later.receive(data);
  assert.equal(later.state.blocks.get(path)?.status, "reasoning");
  later.receive(s.w.presence("join", "planner"));
  later.receive(s.w.presence("leave", "planner"));
  later.receive(data); // the rest that the gateway held back
  assert.equal(later.state.blocks.get(path)?.status, "stopped");
});

test("a stream that the gateway opened belongs to the owner that it names", () => {
  const s = new Stage();
  const { path } = s.asked();
  s.say("system:gateway", "stream.open", { stream_id: "s", owner: "planner" }, { context: path });
  s.say("critic", "stream.open", { stream_id: "t", owner: "planner" }, { context: path });
  for (const from of ["critic", "planner", "system:gateway"]) {
    for (const stream_id of ["s", "t"]) {
      s.space.receive(s.w.gateway("stream.data", { stream_id, data: `${from} on ${stream_id}` }, { from, context: path }));
    }
  }
  assert.deepEqual(s.block(path).steps.map((x) => (x as ThoughtStep).text), ["planner on s", "critic on t"]);
});

test("nested contexts end with their outer context", () => {
  const s = new Stage();
  const { path } = s.asked();
  const inner = s.say("planner", "reasoning.start", { message: "a part" }, { context: path });
  const deep = s.say("critic", "reasoning.start", { message: "a part of it" }, { context: `${path}/${inner.id}` });
  const [one, two] = [`${path}/${inner.id}`, `${path}/${inner.id}/${deep.id}`];
  assert.deepEqual([s.block(one).depth, s.block(two).depth], [1, 2]);
  assert.deepEqual(s.block(path).children, [one]);
  s.say("critic", "reasoning.conclusion", {}, { context: two });
  assert.equal(s.block(two).status, "complete");
  s.say("planner", "reasoning.cancel", {}, { context: path });
  assert.equal(s.block(one).status, "stopped");
  assert.equal(s.block(two).status, "complete");
});

test("several agents answer one question, each for itself", () => {
  const s = new Stage();
  const { question, path } = s.asked();
  const other = s.say("critic", "reasoning.start", {}, { correlationId: question }).id;
  assert.deepEqual(s.space.state.messages.get(question)?.blocks, [path, other]);
  s.say("critic", "chat", { message: "no" }, { correlationId: question });
  assert.deepEqual([s.block(path).status, s.block(other).status], ["reasoning", "collapsed"]);
});

test("an implicit context belongs to its first author", () => {
  const s = new Stage();
  s.say("critic", "chat", { message: "said inside" }, { context: "free/a" });
  assert.equal(s.block("free/a").status, "idle");
  s.say("planner", "reasoning.thought", { message: "hm" }, { context: "free/a" });
  const b = s.block("free/a");
  assert.deepEqual([b.status, b.opener, b.implicit, b.steps.length], ["reasoning", "planner", true, 2]);
  assert.equal(s.block("free").status, "idle");
  assert.deepEqual(s.space.state.timeline.map((x) => x.key), ["free"]);
});

test("a start that is not loaded: no duration is invented", () => {
  const w = new Scribe();
  const space = new Space();
  w.seq = 40;
  space.load([w.say("planner", "reasoning.thought", { message: "hm" }, { context: "c" }), w.say("planner", "reasoning.conclusion", {}, { context: "c" })], true);
  const b = space.state.blocks.get("c") as Block;
  assert.equal(b.implicit, false);
  assert.equal(b.thoughtSeconds, null);
  assert.equal(blockTitle(b, 0), "Thought for a few seconds");
});

test("parallel calls: by their thoughts' number, and by overlap", () => {
  const s = new Stage();
  const { path } = s.asked();
  const within = { context: path };
  const call = (tool: string, why?: string): Envelope =>
    s.say("planner", "mcp.request", { method: "tools/call", params: { name: tool, arguments: {} } }, { to: ["tools"], ...within, ...(why !== undefined && { correlationId: why }) });
  const answer = (e: Envelope): Envelope => s.say("tools", "mcp.response", { result: { content: [] } }, { ...within, correlationId: e.id });
  const t1 = s.say("planner", "reasoning.thought", { message: "one", tool_name: "a", parallel_group: 0 }, within);
  const t2 = s.say("planner", "reasoning.thought", { message: "two", tool_name: "b", parallel_group: 0 }, within);
  const both = [call("b", t2.id), call("a", t1.id)];
  both.map(answer);
  const three = [call("x"), call("y")];
  three.map(answer);
  answer(call("z"));
  const steps = s.block(path).steps.filter((x): x is CallStep => x.type === "call");
  assert.deepEqual(
    steps.map((x) => [x.call.tool, x.call.group, x.call.rationale, x.call.outcome, x.call.durationMs]),
    [
      ["a", 0, "one", "success", 2000],
      ["b", 0, "two", "success", 2000],
      ["x", 1, "", "success", 2000],
      ["y", 1, "", "success", 2000],
      ["z", null, "", "success", 1000],
    ],
  );
});

test("a number that overlapping calls have taken is not given to a batch again", () => {
  const s = new Stage();
  const { path } = s.asked();
  const call = (more: Partial<Envelope> = {}): Envelope =>
    s.say("planner", "mcp.request", { method: "tools/call", params: { name: "t" } }, { context: path, ...more });
  const loose = [call(), call()];
  for (const e of loose) s.say("tools", "mcp.response", { result: {} }, { context: path, correlationId: e.id });
  for (let i = 0; i < 2; i++) {
    const why = s.say("planner", "reasoning.thought", { message: "w", tool_name: "t", parallel_group: 0 }, { context: path });
    call({ correlationId: why.id });
  }
  const groups = s.block(path).steps.flatMap((x) => (x.type === "call" ? [x.call.group] : []));
  assert.deepEqual(groups, [0, 0, 1, 1]);
});

test("outcomes of calls: error, isError, taken back, a stranger's response", () => {
  const s = new Stage();
  const { path } = s.asked();
  const call = (): Envelope => s.say("planner", "mcp.request", { method: "tools/call", params: { name: "t" } }, { context: path, to: ["tools"] });
  s.say("tools", "mcp.response", { error: { code: -1, message: "no such file" } }, { context: path, correlationId: call().id });
  s.say("tools", "mcp.response", { result: { isError: true, content: [{ type: "text", text: "broken" }] } }, { context: path, correlationId: call().id });
  s.say("planner", "mcp.request", { method: "notifications/cancelled" }, { context: path, correlationId: call().id });
  s.say("critic", "mcp.response", { result: {} }, { context: path, correlationId: call().id });
  const steps = s.block(path).steps.filter((x): x is CallStep => x.type === "call");
  assert.deepEqual(
    steps.map((x) => [x.call.outcome, x.call.failed, x.call.summary]),
    [
      ["error", true, "error: no such file"],
      ["error", true, "error: broken"],
      ["error", true, "given up"],
      ["pending", false, ""],
    ],
  );
  assert.deepEqual([s.block(path).counts.pending, s.block(path).counts.errors], [1, 3]);
});

test("long blocks keep the newest steps and count the dropped ones", () => {
  const s = new Stage();
  const { path } = s.asked();
  for (let i = 0; i < 1500; i++) s.say("planner", "reasoning.thought", { message: String(i) }, { context: path });
  const b = s.block(path);
  assert.ok(b.steps.length <= 1100);
  assert.equal(b.steps.length + b.droppedSteps, 1500);
  assert.equal((b.steps.at(-1) as ThoughtStep).text, "1499");
  assert.equal(b.counts.thoughts, 1500);
});

test("the seconds of a running block are the server's and never decrease", () => {
  const s = new Stage();
  const { path } = s.asked();
  const b = s.block(path);
  assert.equal(elapsedSeconds(b, b.startedAt + 9_900), 9);
  assert.equal(blockTitle(b, b.startedAt + 9_900), "Reasoning · 9s");
  assert.equal(elapsedSeconds(b, b.startedAt - 60_000), 0, "a clock that is behind");
});

test("references, metadata and evidence against a hypothesis", () => {
  const s = new Stage();
  const path = s.say("planner", "reasoning.start", { message: "Looking", references: ["a1", 7, "b2"], metadata: { approach: "security-first", estimated_duration: "30s" } }).id;
  s.say("planner", "reasoning.hypothesis", { hypothesis: "x", evidence: ["for"], evidence_against: ["not"], references: ["c3"] }, { context: path });
  s.say("planner", "reasoning.conclusion", { references: "d4" }, { context: path });
  const b = s.block(path);
  assert.deepEqual(b.cited, ["a1", "b2"]);
  assert.deepEqual(b.metadata, { approach: "security-first", estimated_duration: "30s" });
  assert.deepEqual(b.conclusion?.cited, ["d4"]);
  const [step] = b.steps;
  assert.ok(step?.type === "hypothesis");
  assert.deepEqual([step.evidence, step.against, step.cited], [["for"], ["not"], ["c3"]]);
});
