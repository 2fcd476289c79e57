/** Applies a view to the state. Pending proposals and envelopes addressed to the user always pass. */

import { type KindGroup, leads, selects, wordsOf } from "../core/filter.js";
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
  return view.conclusionsOnly || view.text.trim() !== "" || [view.contexts, view.exclude, view.kinds, view.from].some((x) => x.length > 0);
}

export function viewFilter(state: SpaceState, view: View): ViewFilter {
  if (!isFiltering(view)) return ALL;
  const you = state.you?.id ?? "";
  const words = wordsOf(view.text);
  const hasWords = (text: string): boolean => words.length === 0 || words.every((w) => fold(text).includes(w));
  const kind = (...groups: KindGroup[]): boolean => view.kinds.length === 0 || groups.some((g) => view.kinds.includes(g));
  const by = (...from: string[]): boolean => view.from.length === 0 || from.some((x) => view.from.includes(x));
  const main = selects(view, "");
  return {
    message: (m) => m.to.includes(you) || (main && kind("chat") && by(m.from) && hasWords(m.text)),
    block: (b) => b.counts.pending > 0 || (includesBlock(state, view, b) && kind("reasoning", "calls", "proposals", "streams") && by(b.opener, ...b.authors) && hasWords(textOf(b))),
    proposal: (p) => p.status === "pending" || (main && kind("proposals") && by(p.from) && hasWords(p.tool + p.rationale)),
    call: (c) => c.call.to.includes(you) || (main && kind("calls") && by(c.from) && hasWords(c.call.tool + c.call.rationale)),
    notice: (n) => main && kind("rights", "people") && by(n.from) && hasWords(n.text),
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
  if (view.conclusionsOnly) return false;
  if (view.kinds.length === 0) return true;
  return view.kinds.includes(s.type === "call" ? (s.call.proposed ? "proposals" : "calls") : s.type === "said" ? "chat" : "reasoning");
}

function textOf(b: Block): string {
  const steps = b.steps.map((s) => (s.type === "call" ? `${s.call.tool} ${s.call.rationale} ${s.call.summary}` : s.type === "block" ? s.rationale : s.text));
  return [b.message, ...steps, b.conclusion?.text ?? ""].join("\n");
}

function fold(text: string): string {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}
