import assert from "node:assert/strict";
import { test } from "node:test";
import { Classifier, mentions } from "../node_modules/@meup-protocol/sdk/dist/addressing.js";

let ids = 0;
const chat = (from, message, more = {}) => ({ id: `m${++ids}`, from, kind: "chat", payload: { message }, ...more });
const AGENT = { id: "critic", capabilities: ["chat", "reasoning/*"] };
const PERSON = { id: "alice", capabilities: ["*", "reasoning.cancel"] };

function classifier(mode, participants = [PERSON], name = "") {
  const c = new Classifier("planner", name, mode, 4);
  c.participants = participants;
  return c;
}

test("mentions are words", () => {
  for (const [text, want] of [
    ["@planner, well?", true],
    ["Ask @Planner.", true],
    ["@planner: now", true],
    ["(@planner)", true],
    ["@planner2", false],
    ["@planner.x", false],
    ["mail me@planner.example", false],
    ["planner", false],
    ["@plannerin", false],
    ["é@planner", false],
    ["@x @planner", true],
  ]) {
    assert.equal(mentions(text, ["planner"]), want, text);
  }
});

test("the modes select chats", () => {
  for (const [mode, envelope, participants, want] of [
    ["addressed", chat("alice", "well?", { to: ["planner"] }), [PERSON], true],
    ["addressed", chat("alice", "@planner well?"), [PERSON], false],
    ["mentioned", chat("alice", "@planner well?"), [PERSON], true],
    ["mentioned", chat("alice", "well?"), [PERSON], false],
    ["any", chat("alice", "well?"), [PERSON, AGENT], true],
    ["any", chat("alice", "@critic well?"), [PERSON, AGENT], false],
    ["any", chat("alice", "@critic @planner well?"), [PERSON, AGENT], true],
    ["any", chat("alice", "well?", { context: "c" }), [PERSON], false],
    ["any", chat("critic", "well?"), [PERSON, AGENT], false],
    ["any", chat("alice", "@bot, well?"), [PERSON], false],
    ["auto", chat("alice", " @planer well?"), [PERSON], false],
    ["auto", chat("alice", "@bot and @planner, well?"), [PERSON], true],
    ["auto", chat("alice", "@types/node, what is it?"), [PERSON], true],
    ["auto", chat("alice", "@a@b.example well?"), [PERSON], false],
    ["auto", chat("alice", "@jürgen well?"), [PERSON], false],
    ["auto", chat("alice", "@プランナー、well?"), [PERSON], false],
    ["auto", chat("alice", "@... well?"), [PERSON], true],
    ["auto", chat("alice", "@ well?"), [PERSON], true],
    ["auto", chat("alice", "well?"), [PERSON], true],
    ["auto", chat("alice", "well?"), [PERSON, AGENT], false],
    ["auto", chat("alice", "well?", { to: ["bob"] }), [PERSON], false],
    ["auto", chat("planner", "well?"), [PERSON], false],
    ["auto", chat("alice", "  "), [PERSON], false],
    ["auto", { ...chat("alice", ""), payload: { text: "well?" } }, [PERSON], true],
  ]) {
    assert.equal(classifier(mode, participants).isQuestion(envelope), want, `${mode} ${JSON.stringify(envelope)}`);
  }
});

test("a name is a mention too", () => {
  assert.equal(classifier("mentioned", [PERSON], "@Max").isQuestion(chat("alice", "@max well?")), true);
});

test("one who reasons about a chat of another participant is an agent", () => {
  const c = classifier("auto", [PERSON, { id: "bob", capabilities: ["*"] }]);
  const q = chat("alice", "hm");
  c.observe(q);
  assert.equal(c.isQuestion(chat("bob", "well?")), true);
  c.observe({ id: "s", from: "bob", kind: "reasoning.start", correlationId: q.id, payload: {} });
  assert.equal(c.isQuestion(chat("bob", "well?")), false);
  c.observe({ id: "p", from: "system:gateway", kind: "system.presence", payload: { event: "leave", participant: { id: "bob" } } });
  assert.equal(c.isQuestion(chat("bob", "well?")), true);
});

test("chains of agents end", () => {
  const c = classifier("mentioned", [PERSON, AGENT]);
  let about;
  for (let i = 0; i < 4; i++) {
    const e = chat("critic", "@planner well?", about === undefined ? {} : { correlationId: about });
    c.observe(e);
    assert.equal(c.isQuestion(e), i < 3, `answer ${i}`);
    about = e.id;
  }
  const loose = classifier("mentioned", [PERSON, AGENT]);
  const ask = () => {
    const e = chat("critic", "@planner well?");
    loose.observe(e);
    return loose.isQuestion(e);
  };
  for (let i = 0; i < 16; i++) assert.equal(ask(), true);
  assert.equal(ask(), false);
  loose.observe(chat("alice", "go on"));
  assert.equal(ask(), true);
});

test("a chat that correlates to one by which the agent asked is no question", () => {
  const bob = { id: "bob", capabilities: ["chat", "reasoning/*"] };
  const cases = {
    "an agent that was asked": [{ to: ["bob"] }, "bob", { to: ["planner"] }, false],
    "an agent that answers to all": [{ to: ["bob"] }, "bob", {}, false],
    "an agent that a mention asked": [{}, "bob", {}, false],
    "asked within a context": [{ to: ["bob"], context: "c-1", correlationId: "c-1" }, "bob", { to: ["planner"] }, false],
    "asked about the reasoning": [{ to: ["bob"], correlationId: "c-1" }, "bob", { to: ["planner"] }, false],
    "asked about the question of another": [{ to: ["bob"], correlationId: "by-alice" }, "bob", { to: ["planner"] }, false],
    "a person that was asked": [{ to: ["alice"] }, "alice", { to: ["planner"] }, false],
    "a person about an answer": [{ to: ["alice"], correlationId: "by-alice" }, "alice", { to: ["planner"] }, true],
    "a person about an answer to all": [{ correlationId: "by-alice" }, "carol", {}, true],
    "a person about what was said to all": [{}, "alice", {}, true],
    "an agent about an answer": [{ to: ["bob"], correlationId: "by-bob" }, "bob", { to: ["planner"] }, true],
    "an agent with a question of its own": [{ to: ["bob"] }, "bob", { to: ["planner"], correlationId: [] }, true],
    "a person about an unknown question": [{ to: ["alice"], correlationId: "dropped" }, "alice", { to: ["planner"] }, true],
    "a person about a chat to another one": [{ to: ["bob"] }, "alice", { to: ["planner"] }, true],
  };
  for (const [name, [own, from, about, want]] of Object.entries(cases)) {
    const c = classifier("mentioned", [PERSON, bob, { id: "carol", capabilities: ["*"] }]);
    c.observe({ ...chat("alice", "@planner well?"), id: "by-alice" });
    c.observe({ ...chat("bob", "@planner well?"), id: "by-bob" });
    c.observe({ id: "c-1", from: "planner", kind: "reasoning.start", correlationId: "by-alice", payload: {} });
    c.observe({ ...chat("planner", "@bob is it safe?", own), id: "own" });
    const reply = chat(from, "@planner it is", { correlationId: "own", ...about });
    c.observe(reply);
    assert.equal(c.isQuestion(reply), want, name);
  }
});
