/** The rows of the conversation, in display order. */

import type { Block, CallStep, Elicitation, Message, Notice, Proposal, SpaceState } from "../core/state.js";
import type { ContextPath, ID, Millis, ParticipantID } from "@sdk/types.js";
import { NEW_THREAD } from "../core/links.js";
import type { View } from "./panel.js";
import { viewFilter } from "./view-filter.js";

export type Row =
  | { readonly type: "day"; readonly key: string; readonly at: Millis }
  | { readonly type: "message"; readonly key: string; readonly message: Message; readonly quote: Message | null; readonly missingQuote: ID | null; readonly joined: boolean }
  | { readonly type: "block"; readonly key: string; readonly block: Block; readonly joined: boolean }
  | { readonly type: "call"; readonly key: string; readonly step: CallStep }
  | { readonly type: "proposal"; readonly key: string; readonly proposal: Proposal; readonly inside: boolean }
  | { readonly type: "notice"; readonly key: string; readonly notice: Notice }
  | { readonly type: "elicitation"; readonly key: string; readonly elicitation: Elicitation };

/** Messages of one author within this time are grouped, milliseconds. */
const GROUP_INTERVAL = 5 * 60_000;

/**
 * Builds the rows. A block is placed directly above its answer, or below its
 * question while there is no answer. Pending proposals in a block follow it, so
 * that they can be decided without opening it. Questions of tool servers to the user are
 * last. With `thread`, only the rows of that conversation.
 */
export function rows(state: SpaceState, view: View, thread: ID = ""): Row[] {
  return thread === NEW_THREAD ? [] : new Builder(state, view, thread).build();
}

class Builder {
  private readonly out: Row[] = [];
  private readonly placed = new Set<ContextPath>();
  private readonly filter;
  private readonly waiting: ReadonlyMap<ContextPath, readonly Proposal[]>;
  /** The start of the next day in the user's time zone. */
  private midnight: Millis = 1;
  private lastFrom: ParticipantID = "";
  private lastAt: Millis = 0;

  constructor(
    private readonly state: SpaceState,
    view: View,
    private readonly thread: ID,
  ) {
    this.filter = viewFilter(state, view);
    this.waiting = this.pendingInside();
  }

  build(): Row[] {
    for (const item of this.state.timeline) {
      if (this.thread !== "" && this.state.messages.get(item.key)?.thread !== this.thread) continue;
      switch (item.type) {
        case "message":
          this.message(item.key);
          break;
        case "block":
          this.block(item.key, null);
          break;
        case "proposal": {
          const proposal = this.state.proposals.get(item.key);
          if (proposal !== undefined && this.filter.proposal(proposal)) this.line(item.at, { type: "proposal", key: `p ${item.key}`, proposal, inside: false });
          break;
        }
        case "call": {
          const step = this.state.calls.get(item.key);
          if (step !== undefined && this.filter.call(step)) this.line(item.at, { type: "call", key: `c ${item.key}`, step });
          break;
        }
        case "notice": {
          const notice = this.state.notices.get(item.key);
          if (notice !== undefined && this.filter.notice(notice)) this.line(item.at, { type: "notice", key: `n ${item.key}`, notice });
        }
      }
    }
    this.elicitations();
    return this.out;
  }

  /** Adds the questions to the user that wait for an answer, in every conversation. */
  private elicitations(): void {
    for (const elicitation of this.state.elicitations.values()) {
      if (elicitation.to === this.state.you?.id) this.out.push({ type: "elicitation", key: `e ${elicitation.id}`, elicitation });
    }
  }

  private message(id: ID): void {
    const m = this.state.messages.get(id);
    if (m === undefined) return;
    for (const path of m.answers) this.block(path, id);
    if (this.filter.message(m)) {
      const before = this.out.at(-1);
      const own = before?.type === "block" && before.block.answer === id;
      this.addDay(m.at);
      const quote = this.quote(m, own);
      const joined = own || (quote === null && m.to.length === 0 && m.from === this.lastFrom && m.at - this.lastAt < GROUP_INTERVAL);
      this.out.push({ type: "message", key: `m ${id}`, message: m, quote, missingQuote: quote === null && m.replyTo !== null && !this.state.messages.has(m.replyTo) ? m.replyTo : null, joined });
      this.lastFrom = m.from;
      this.lastAt = m.at;
    }
    for (const path of m.blocks) this.block(path, null);
  }

  /** Returns the message that m replies to, unless it is directly above. */
  private quote(m: Message, own: boolean): Message | null {
    if (m.replyTo === null) return null;
    const before = this.out.at(own ? -2 : -1);
    if (before?.type === "message" && before.message.id === m.replyTo) return null;
    return this.state.messages.get(m.replyTo) ?? null;
  }

  private block(path: ContextPath, above: ID | null): void {
    const b = this.state.blocks.get(path);
    if (b === undefined || b.depth > 0 || this.placed.has(path) || !this.filter.block(b)) return;
    if (above === null && b.answer !== null && this.state.messages.has(b.answer)) return; // placed with the answer
    if (isEmptyBlock(b)) return;
    this.placed.add(path);
    this.addDay(b.startedAt);
    this.out.push({ type: "block", key: `b ${path}`, block: b, joined: false });
    for (const proposal of this.waiting.get(path) ?? []) this.out.push({ type: "proposal", key: `p ${proposal.id}`, proposal, inside: true });
    this.lastFrom = "";
  }

  /** Returns the pending proposals in contexts, by their outermost context. */
  private pendingInside(): ReadonlyMap<ContextPath, readonly Proposal[]> {
    const out = new Map<ContextPath, Proposal[]>();
    for (const id of this.state.pending) {
      const p = this.state.proposals.get(id);
      if (p === undefined || p.context === "") continue;
      const root = p.context.split("/")[0] ?? "";
      out.set(root, [...(out.get(root) ?? []), p]);
    }
    return out;
  }

  private line(at: Millis, row: Row): void {
    this.addDay(at);
    this.out.push(row);
    this.lastFrom = "";
  }

  /** Adds a day separator. A row that is displayed later than it happened adds none. */
  private addDay(at: Millis): void {
    if (at < this.midnight) return;
    const next = new Date(at);
    this.midnight = next.setHours(24, 0, 0, 0);
    this.out.push({ type: "day", key: `d ${this.midnight}`, at });
    this.lastFrom = "";
  }
}

/** Reports whether a block completed without content. */
function isEmptyBlock(b: Block): boolean {
  if (b.status === "reasoning" || b.status === "cancelled" || b.status === "stopped") return false;
  return b.steps.length === 0 && b.droppedSteps === 0 && b.conclusion === null && b.message === "" && b.children.length === 0;
}
