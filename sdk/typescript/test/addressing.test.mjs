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
