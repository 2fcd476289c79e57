/** Applies a view to the state. Pending proposals and envelopes addressed to the user always pass. */

import { leads, selects } from "../core/filter.js";
import { undecided } from "../core/proposal.js";
import type { Block, CallStep, Message, Notice, Proposal, SpaceState, Step } from "../core/state.js";
import { EVERYTHING, type View } from "./panel.js";

export interface ViewFilter {
  message(m: Message): boolean;
  block(b: Block): boolean;
  proposal(p: Proposal): boolean;
  call(c: CallStep): boolean;
  notice(n: Notice): boolean;
}

const ALL: ViewFilter = { message: yes, block: yes, proposal: yes, call: yes, notice: yes };

function yes(): boolean {
  return true;
}

/** Reports whether a view can hide anything. */
export function isFiltering(view: View): boolean {
  if (view === EVERYTHING) return false;
  return view.conclusionsOnly || [view.contexts, view.exclude, view.from].some((x) => x.length > 0);
}

export function viewFilter(state: SpaceState, view: View): ViewFilter {
  if (!isFiltering(view)) return ALL;
  const you = state.you?.id ?? "";
  const by = (...from: string[]): boolean => view.from.length === 0 || from.some((x) => view.from.includes(x));
  const main = selects(view, "");
  return {
    message: (m) => m.to.includes(you) || (main && by(m.from)),
    block: (b) => b.counts.pending > 0 || (includesBlock(state, view, b) && by(b.opener, ...b.authors)),
    proposal: (p) => p.status === "pending" || (main && by(p.from)),
    call: (c) => c.call.to.includes(you) || (main && by(c.from)),
    notice: (n) => main && by(n.from),
  };
}

/** Reports whether a block or one of its descendants is selected. */
function includesBlock(state: SpaceState, view: View, b: Block): boolean {
  if (selects(view, b.path) || leads(view, b.path)) return true;
  return b.children.some((path) => {
    const child = state.blocks.get(path);
    return child !== undefined && includesBlock(state, view, child);
  });
}

/** Reports whether a step of a block is shown. */
export function showsStep(view: View, s: Step): boolean {
  if (!isFiltering(view)) return true;
  if (s.type === "block") return !view.conclusionsOnly && (selects(view, s.path) || leads(view, s.path));
  if (s.type === "call" && undecided(s.call)) return true;
  return !view.conclusionsOnly;
}
