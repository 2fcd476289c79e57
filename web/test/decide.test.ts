/** Deciding in the conversation: differences of file edits, approvals for more than once, and the time of waiting. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Scope, exactPattern, grantFor, patternCapability, patternsOf, readScopes } from "../src/core/approval.js";
import { shownParams } from "@sdk/proposal.js";
import { approve, approveEdited } from "../src/core/panel-drafts.js";
import { type DiffLine, difference, fileEdit } from "../src/core/edits.js";
import { Space } from "../src/core/space.js";
import type { Block, Proposal } from "../src/core/state.js";
import { blockTitle } from "../src/core/time.js";
import { waitOf } from "../src/core/waiting.js";
import { EVERYTHING } from "../src/ui/panel.js";
import { pretty } from "../src/ui/text.js";
import { rows } from "../src/ui/rows.js";
import { Scribe } from "./support.js";

const shown = (lines: readonly DiffLine[]): string => lines.map((x) => x.sign + x.text).join("|");

test("differences: changed, added, removed, and final line breaks", () => {
  assert.equal(shown(difference("a\nb\nc", "a\nB\nc")), " a|-b|+B| c");
  assert.equal(shown(difference("", "x\ny")), "+x|+y");
  assert.equal(shown(difference("x\ny", "")), "-x|-y");
  assert.equal(shown(difference("a", "a\n")), " a|+");
  assert.equal(shown(difference("a\nb\nc\nd", "b\nc\ne\nd")), "-a| b| c|+e| d");
  assert.equal(shown(difference("same", "same")), " same");
});

test("a difference contains both texts, also of any characters", () => {
  let seed = 7;
  const random = (n: number): number => (seed = (seed * 48271) % 2147483647) % n;
  for (let round = 0; round < 300; round++) {
    const text = (): string => Array.from({ length: random(9) }, () => "abc".charAt(random(3))).join("\n");
    const [a, b] = [text(), text()];
    const lines = difference(a, b);
    const side = (sign: string): string => lines.filter((x) => x.sign === " " || x.sign === sign).map((x) => x.text).join("\n");
    assert.deepEqual([side("-"), side("+")], [a, b]);
  }
});

test("a large difference is bounded", () => {
  const many = (c: string): string => Array.from({ length: 3000 }, (_, i) => c + i).join("\n");
  assert.equal(difference(many("a"), many("b")).length, 6000);
});

test("file edits are recognized only if nothing of the arguments is left out", () => {
  const shape = (tool: string, args: unknown): unknown => {
    const e = fileEdit(tool, args);
    return e === null ? null : [e.path, e.changes.map(shown), e.rest];
  };
  assert.deepEqual(shape("Edit", { file_path: "a.md", old_string: "x", new_string: "y", replace_all: true }), ["a.md", ["-x|+y"], { replace_all: true }]);
  assert.deepEqual(shape("edit_file", { path: "a", edits: [{ oldText: "1", newText: "2" }, { oldText: "", newText: "3" }] }), ["a", ["-1|+2", "+3"], {}]);
  assert.deepEqual(shape("write_file", { path: "a", content: "one\ntwo", mode: 420 }), ["a", ["+one|+two"], { mode: 420 }]);
  assert.deepEqual(shape("apply_patch", { path: "a", patch: "--- a\n+++ b\n@@ -1,2 +1,2 @@\n-x\n+y\n z\n" }), ["a", ["@--- a|@+++ b|@@@ -1,2 +1,2 @@|-x|+y| z"], {}]);
  assert.equal(shape("edit_file", { path: "a", edits: [{ oldText: "1", newText: "2", hidden: "rm -rf" }] }), null);
  assert.equal(shape("edit_file", { path: "a", edits: "all" }), null);
  assert.equal(shape("search", { path: "a", content: "x" }), null, "not a tool that writes");
  assert.equal(shape("Edit", { path: 7, old_string: "x", new_string: "y" }), null);
  assert.equal(shape("Edit", null), null);
});

test("no line of a patch is taken for an unchanged one unless the patch is a strict unified difference", () => {
  const strict = "--- a\n+++ b\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n@@ -9 +9 @@ f()\n-x\n+y\n\\ No newline at end of file";
  const signs = (patch: string): string => (fileEdit("apply_patch", { path: "a", patch })?.changes ?? []).flat().map((x) => x.sign).join("");
  assert.equal(signs(strict), "@@@ -+ @-+@");
  for (const line of ["*** Delete File: main.go", "*** Move to: b", "rename from a", "rename to b", "new mode 100755", "GIT binary patch", "", "one"]) {
    for (const patch of [`${line}\n${strict}`, `${strict}\n${line}\n@@ -1 +1 @@\n-x\n+y`, strict.replace(" one", line)]) {
      assert.doesNotMatch(signs(patch), / /u, patch);
      assert.equal(fileEdit("apply_patch", { path: "a", patch })?.changes.flat().map((x) => (x.sign === "@" ? "" : x.sign) + x.text).join("\n"), patch);
    }
  }
  assert.doesNotMatch(signs(strict.replace("-1,3", "-1,9")), / /u, "the hunk announces more lines than it has");
});

function proposed(args: unknown, more = {}, tool = "push_tag"): { proposal: Proposal; space: Space; s: Scribe } {
  const s = new Scribe();
  const space = new Space();
  space.load([], false);
  space.receive(s.welcome(["alice", "planner", "files"]));
  const e = s.say("planner", "mcp.proposal", { method: "tools/call", participant_id: "files", params: { name: tool, arguments: args } }, more);
  space.receive(e);
  return { proposal: space.state.proposals.get(e.id) as Proposal, space, s };
}

/** A scope as the gateway offers it. */
function offer(id: string, args: object): Scope {
  return { id, title: id, capability: { kind: "mcp.request", to: ["files"], payload: { method: "tools/call", params: { name: "Bash", arguments: args } } } };
}

test("an approval for longer grants what the gateway derived, for a time or in the context", () => {
  const { proposal: p } = proposed({ command: "git diff a" }, { context: "r/s" }, "Bash");
  const { capability } = offer("similar", { command: { $shell: { commands: ["git diff **"] } } });
  const minutes = grantFor(p, capability, 600);
  assert.deepEqual([minutes.kind, minutes.to, minutes.correlationId], ["capability.grant", ["planner"], p.id]);
  assert.deepEqual([minutes.payload["capabilities"], minutes.payload["ttl_seconds"]], [[capability], 600]);
  const context = grantFor(p, capability, 0);
  assert.deepEqual([context.payload["capabilities"], context.payload["ttl_seconds"]], [[{ ...capability, context: "r" }], 3600]);
});

test("scopes are read from any response", () => {
  const good = { id: "any", title: "any command", capability: { kind: "mcp.request" } };
  assert.deepEqual(readScopes({ scopes: [good, null, { id: "same" }, { id: "x", title: "y", capability: "*" }] }), [good]);
  for (const v of [null, [], { scopes: {} }, "x"]) assert.deepEqual(readScopes(v), []);
});

test("the patterns of the user begin with what the gateway derived, and may be typed", () => {
  const { proposal: p } = proposed({ command: "git diff a", description: "x", n: 1 }, {}, "Bash");
  const similar = offer("similar", { command: { $shell: { commands: ["git diff **"] } } });
  const same = offer("same", { command: "git diff a", description: "x" });
  const typed = '{"$shell":{"commands":["git diff **"]}}';
  assert.deepEqual(patternsOf(p, [same, similar, offer("any", {})]), { tool: "Bash", args: { command: typed, description: "" } });
  assert.deepEqual(patternsOf(p, [same]), { tool: "Bash", args: { command: "git diff a", description: "x" } });
  assert.deepEqual(patternsOf(p, []), { tool: "Bash", args: { command: "git diff a", description: "x" } });
  const rule = (args: Record<string, string>): unknown => patternCapability(p, "files", { tool: "Bash", args });
  const payload = (args: object): unknown => ({ kind: "mcp.request", to: ["files"], payload: { method: "tools/call", params: { name: "Bash", arguments: args } } });
  assert.deepEqual(rule({ command: typed, description: "" }), payload({ command: { $shell: { commands: ["git diff **"] } } }));
  assert.deepEqual(rule({ command: "{x}" }), payload({ command: "{x}" }));
  assert.throws(() => rule({ command: '{"$shell":' }));
});

test("a name that has the form of a pattern allows only itself", () => {
  assert.equal(exactPattern("read_file"), "read_file");
  assert.equal(exactPattern("docs/a b.md"), "docs/a b.md");
  for (const text of ["*", "read_*", "!delete", "/.*/", "**", "a?b", "[a-z]", "{a,b}", "", "-x", "a\\b", "x*\ny"]) {
    const pattern = exactPattern(text);
    assert.ok(pattern.startsWith("/^") && pattern.endsWith("$/"), pattern);
    const re = new RegExp(pattern.slice(1, -1).replace(/\\-/g, "-"), "u");
    assert.ok(re.test(text), pattern);
    for (const other of ["read_file", "a", "delete", "anything", "axb"]) assert.ok(!re.test(other), `${pattern} matches ${other}`);
  }
  const { proposal } = proposed({ path: "**", "**": "any", n: 1 }, {}, "*");
  assert.deepEqual(patternsOf(proposal, []), { tool: "/^\\*$/", args: { path: "/^\\*\\*$/" } }, "keys are patterns, too");
});

test("an edited call says so, and keeps the other parameters", () => {
  const { proposal } = proposed({ tag: "v1" });
  const draft = approveEdited(proposal, "i", { tag: "v2" });
  assert.deepEqual(draft.payload, { jsonrpc: "2.0", id: "i", method: "tools/call", params: { name: "push_tag", arguments: { tag: "v2" } }, edited: true });
  assert.deepEqual([draft.to, draft.correlationId], [["files"], proposal.id]);
});

test("an approval sends what is shown: all parameters, without the metadata of the proposer", () => {
  const { proposal } = proposed({ tag: "v1" });
  const params = { name: "push_tag", arguments: { tag: "v1" }, task: { ttl: 9 }, _meta: { progressToken: 1 } };
  const p = { ...proposal, params };
  assert.deepEqual(approve(p, "i").payload["params"], { name: "push_tag", arguments: { tag: "v1" }, task: { ttl: 9 } });
  assert.deepEqual(approveEdited(p, "i", {}).payload["params"], { name: "push_tag", arguments: {}, task: { ttl: 9 } });
  assert.deepEqual(shownParams("tools/call", params), { name: "push_tag", arguments: { tag: "v1" }, task: { ttl: 9 } });
});

test("arguments of any depth are shown completely", () => {
  let deep: unknown = "rm\u202e";
  for (let i = 0; i < 60; i++) deep = i % 2 === 0 ? [deep] : { a: deep };
  const text = pretty(deep);
  assert.ok(text.includes("rm\u202e"), text);
  assert.deepEqual(JSON.parse(text), deep);
});

test("the heading of a block separates work from waiting", () => {
  const s = new Scribe();
  const space = new Space();
  space.load([], false);
  space.receive(s.welcome(["alice", "planner", "files"]));
  const say = (from: string, kind: string, payload: object, more = {}): string => {
    const e = s.say(from, kind, payload as never, more);
    space.receive(e);
    return e.id;
  };
  const root = say("planner", "reasoning.start", { message: "work" });
  const inner = `${root}/${say("planner", "reasoning.start", { message: "part" }, { context: root, after: 4000 })}`;
  const block = (): Block => space.state.blocks.get(root) as Block;
  const title = (at: number, mine = false): string => blockTitle(block(), at, waitOf(space.state, block(), at), mine);
  assert.equal(title(s.at), "Reasoning · 4s");
  const call = { method: "tools/call", params: { name: "t", arguments: {} } };
  const first = say("planner", "mcp.proposal", call, { context: inner });
  const second = say("planner", "mcp.proposal", call, { context: root, after: 60_000 });
  assert.equal(title(s.at + 30_000, true), "Waiting for you · 1m 30s", "the proposals overlap");
  assert.equal(title(s.at + 30_000), "Waiting for approval · 1m 30s");
  assert.deepEqual(waitOf(space.state, block(), s.at).pending, [first, second]);
  assert.deepEqual(rows(space.state, EVERYTHING).map((r) => r.key.split(" ")[0]), ["d", "b", "p", "p"], "they follow the block");
  const request = say("alice", "mcp.request", call, { to: ["files"], correlationId: first, context: inner, after: 60_000 });
  say("alice", "mcp.reject", { reason: "unsafe" }, { correlationId: second, context: root, after: 60_000 });
  assert.equal(title(s.at), "Reasoning · 5s");
  assert.deepEqual(rows(space.state, EVERYTHING).map((r) => r.key.split(" ")[0]), ["d", "b"]);
  say("files", "mcp.response", { result: {} }, { correlationId: request, context: inner, after: 2000 });
  say("planner", "reasoning.conclusion", { message: "so" }, { context: inner, after: 500 });
  say("planner", "reasoning.conclusion", { message: "so" }, { context: root, after: 500 });
  assert.equal(title(s.at + 99_999), "Thought for 8s (+3m waiting)");
});

test("a block that ends while a proposal is open waited until its end", () => {
  const { space, s } = proposed({}, { context: "r" });
  space.receive(s.say("planner", "reasoning.cancel", {}, { context: "r", after: 30_000 }));
  const b = space.state.blocks.get("r") as Block;
  assert.deepEqual(waitOf(space.state, b, s.at + 9e9), { ms: 30_000, pending: [], since: null });
});
