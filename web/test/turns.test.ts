/** The page reads calls as the gateway does: the same cases, the same outcomes. */

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { isObject } from "@sdk/read.js";
import { Reducer } from "../src/core/reducer.js";
import type { Call, SpaceState } from "../src/core/state.js";
import type { Decision, Envelope, History, ID, Turn } from "@sdk/types.js";

declare const REPOSITORY: string;
const CASES = join(REPOSITORY, "internal", "turns", "testdata");

/** The files of a txtar archive. */
function archive(name: string): Map<string, string> {
  const files = new Map<string, string>();
  const parts = readFileSync(join(CASES, name), "utf8").split(/^-- (.+) --\n/m);
  for (let i = 1; i < parts.length; i += 2) files.set(parts[i] as string, parts[i + 1] as string);
  return files;
}

/** The log as a participant gets it; without one, all of it. */
function logOf(text: string, viewer?: string): readonly Envelope[] {
  const threads = new Map<string, ReadonlySet<string>>();
  const out: Envelope[] = [];
  let seq = 0;
  let at = Date.parse("2026-11-20T09:15:00Z");
  for (const line of text.split("\n")) {
    if (line === "" || line.startsWith("#")) continue;
    const { after = 1, ...said } = JSON.parse(line) as Partial<Envelope> & { after?: number };
    seq++;
    at += after * 1000;
    const env = { payload: {}, ...said, id: said.id ?? `e${seq}`, seq, ts: new Date(at).toISOString() } as Envelope;
    const correlated = env.correlationId === undefined ? [] : [env.correlationId].flat();
    const thread = new Set(correlated.flatMap((id) => [...(threads.get(id) ?? [])]));
    const to = env.to === undefined ? [] : [env.to].flat();
    if (viewer === undefined || to.length === 0 || env.from === viewer || to.includes(viewer) || thread.has(viewer)) out.push(env);
    threads.set(env.id, new Set([...thread, env.from]));
  }
  return out;
}

function callsOf(s: SpaceState): Map<string, Call> {
  const calls = new Map<string, Call>();
  for (const b of s.blocks.values()) for (const step of b.steps) if (step.type === "call") calls.set(step.call.id, step.call);
  for (const step of s.calls.values()) calls.set(step.call.id, step.call);
  return calls;
}

function decisions(h: History): readonly Decision[] {
  return h.turns.flatMap((t) => (t.reasonings ?? (t.reasoning === undefined ? [] : [t.reasoning])).flatMap((r) => r.tool_decisions));
}

/** The calls of a batch, by the number of the batch; calls outside of contexts have none on the page. */
function batches(list: readonly { readonly context: string; readonly group: number | null; readonly id: ID }[]): readonly (readonly ID[])[] {
  const groups = new Map<string, ID[]>();
  for (const { context, group, id } of list) {
    if (context === "" || group === null) continue;
    const key = `${context} ${group}`;
    groups.set(key, [...(groups.get(key) ?? []), id]);
  }
  return [...groups.values()];
}

/** The page shows each part of a turn: who was asked what, and how it ended. */
function asked(s: SpaceState, turn: Turn): number {
  const parts = (turn.reasonings ?? (turn.reasoning === undefined ? [] : [turn.reasoning])).flatMap((r) => r.parts ?? []);
  for (const part of parts) {
    const b = s.blocks.get(part.context);
    assert.ok(b !== undefined, `no block ${part.context}`);
    const by = b.cancelled?.by ?? b.conclusion?.by ?? "";
    const around = b.parent === null ? undefined : s.blocks.get(b.parent);
    const outcome = b.conclusion !== null ? "concluded" : b.cancelled === null ? (around?.conclusion !== null ? "cancelled" : "pending") : by === b.asked ? "declined" : "cancelled";
    assert.deepEqual(
      { asked: b.asked, message: b.message, outcome, text: b.conclusion?.text || b.conclusion?.decision || b.cancelled?.reason || "" },
      { asked: part.participant, message: part.question, outcome: part.outcome, text: part.conclusion ?? part.reason ?? "" },
    );
    if (by !== "") assert.equal(by, part.ended_by);
    if (b.conclusion !== null) assert.equal(b.conclusion.id, part.end_id);
  }
  return parts.length;
}

/** The page shows the answer and the reasoning of a turn with its question. `begun` are the messages that begin turns. */
function answered(s: SpaceState, turn: Turn, begun: ReadonlySet<ID>): void {
  const m = s.messages.get(turn.message_id);
  assert.ok(m !== undefined, `no message ${turn.message_id}`);
  const replies = m.replies.flatMap((id) => s.messages.get(id) ?? []).filter((x) => x.from !== m.from && !begun.has(x.id));
  if (turn.response === null) assert.equal(replies.length, 0, `${m.id} is not answered`);
  else assert.ok(replies.some((x) => x.from === turn.response_from && x.text === turn.response), `no answer to ${m.id}`);
  for (const r of turn.reasonings ?? (turn.reasoning === undefined ? [] : [turn.reasoning])) {
    for (const { context } of r.tool_decisions) {
      if (context === "") continue;
      let at = s.messages.get(s.blocks.get(context.split("/", 1)[0] as string)?.question ?? "");
      while (at !== undefined && at.id !== m.id) at = s.messages.get(at.replyTo ?? "");
      assert.ok(at !== undefined, `context ${context} is not below ${m.id}`);
    }
  }
}

/** The page shows a job as a block of its own, at its place in the timeline. */
function shown(s: SpaceState, job: string): void {
  const block = s.blocks.get(job);
  assert.ok(block !== undefined, `no block ${job}`);
  assert.equal(block.question, null);
  assert.ok(s.timeline.some((item) => item.type === "block" && item.key === job), `${job} is not in the timeline`);
}

let compared = 0;
let parts = 0;
for (const name of readdirSync(CASES).filter((n) => n.endsWith(".txtar"))) {
  const files = archive(name);
  const begun = new Set([...files.values()].flatMap((text) => [...text.matchAll(/"message_id": "(.+)"/g)].map((x) => x[1] as string)));
  for (const [question, text] of files) {
    const viewer = /^(?:history|job) \S+ as (\S+)$/.exec(question)?.[1];
    const parsed: unknown = viewer === undefined || !text.startsWith("{") ? null : JSON.parse(text);
    if (viewer === undefined || !isObject(parsed)) continue;
    test(`${name}: ${question}`, () => {
      const r = new Reducer({ fromStart: true });
      for (const env of logOf(files.get("log") ?? "", viewer)) r.apply(env);
      const calls = callsOf(r.state);
      for (const turn of (parsed as unknown as History).turns) parts += asked(r.state, turn);
      for (const d of decisions(parsed as unknown as History)) {
        const c = calls.get(d.call_id);
        assert.ok(c !== undefined, `no call ${d.call_id}`);
        // The page derives the end of an undecided proposal from its block when it is drawn.
        const outcome = c.outcome === "pending" && c.proposed && d.outcome === "expired" ? "expired" : c.outcome;
        const decidedBy = outcome === "withdrawn" || outcome === "expired" ? "" : c.decidedBy;
        const got = { id: c.id, outcome, answeredBy: c.answeredBy, decidedBy };
        assert.deepEqual(got, { id: d.call_id, outcome: d.outcome, answeredBy: d.answered_by ?? "", decidedBy: d.decided_by ?? "" });
        compared++;
      }
      const made = decisions(parsed as unknown as History);
      const told = batches(made.map((d) => ({ context: d.context, group: d.parallel_group, id: d.call_id })));
      assert.deepEqual(batches(made.map((d) => ({ ...(calls.get(d.call_id) as Call), context: d.context }))), told);
      const whole = new Reducer({ fromStart: true });
      for (const env of logOf(files.get("log") ?? "")) whole.apply(env); // the gateway reads turns from all of the log
      const { turns, job_id: job } = parsed as unknown as History & { readonly job_id?: string };
      if (job !== undefined) shown(whole.state, job);
      else for (const turn of turns) answered(whole.state, turn, begun);
    });
  }
}

test("enough decisions and parts were compared", () => assert.ok(compared > 30 && parts > 4, `${compared} ${parts}`));
