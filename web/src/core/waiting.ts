/** The time that reasoning waited for decisions of others on its proposals. */

import { undecided } from "./proposal.js";
import type { Block, SpaceState } from "./state.js";
import type { ContextPath, ID, Millis } from "@sdk/types.js";

/** How a block waits, or waited. */
export interface Wait {
  /** Time with at least one undecided proposal, until now. */
  readonly ms: Millis;
  /** The undecided proposals, oldest first. */
  readonly pending: readonly ID[];
  /** Begin of the present wait; null: it does not wait. */
  readonly since: Millis | null;
}

export const NO_WAIT: Wait = { ms: 0, pending: [], since: null };

/** Maximum number of blocks that are searched for proposals. */
const MAX_BLOCKS = 200;

/** Returns the wait of a block and of the blocks in it. `now` is the server's time. */
export function waitOf(state: SpaceState, b: Block, now: Millis): Wait {
  const spans: [Millis, Millis][] = [];
  const pending: { readonly id: ID; readonly at: Millis }[] = [];
  const end = b.endedAt ?? Math.max(now, b.lastAt);
  const open = b.status === "reasoning";
  for (const path of pathsIn(state, b)) {
    for (const s of state.blocks.get(path)?.steps ?? []) {
      if (s.type !== "call" || !s.call.proposed) continue;
      const waits = open && undecided(s.call);
      if (waits) pending.push({ id: s.call.id, at: s.call.startedAt });
      const decided = state.proposals.get(s.call.id)?.decidedAt ?? s.call.endedAt;
      const until = waits ? end : Math.min(decided ?? s.call.startedAt, end);
      if (until > s.call.startedAt) spans.push([s.call.startedAt, until]);
    }
  }
  if (spans.length === 0 && pending.length === 0) return NO_WAIT;
  pending.sort((x, y) => x.at - y.at);
  return { ms: union(spans), pending: pending.map((x) => x.id), since: pending[0]?.at ?? null };
}

function pathsIn(state: SpaceState, b: Block): readonly ContextPath[] {
  const out: ContextPath[] = [b.path];
  for (let i = 0; i < out.length && out.length < MAX_BLOCKS; i++) out.push(...(state.blocks.get(out[i] as ContextPath)?.children ?? []));
  return out;
}

/** Returns the length of the union of intervals. */
function union(spans: [Millis, Millis][]): Millis {
  let sum = 0;
  let covered = 0;
  for (const [from, to] of spans.sort((x, y) => x[0] - y[0])) {
    sum += Math.max(0, to - Math.max(from, covered));
    covered = Math.max(covered, to);
  }
  return sum;
}
