/**
 * What the gateway knows of proposals that the log does not show: that one was settled by an envelope to
 * others, which the user may not see, and why one is asked for although the rules allow the call. It is
 * asked when a proposal is shown, when something happened to it or to a budget, and when the user comes to it.
 */

import type { ReactiveController, ReactiveControllerHost } from "lit";
import { arr, bool, count, field, obj, str } from "@sdk/read.js";
import { type Budget, readBudgets } from "../../core/budgets.js";
import type { Proposal } from "../../core/state.js";
import type { ID, Millis, ParticipantID, Payload } from "@sdk/types.js";
import type { Shell } from "../panel.js";

/** How long to wait for further proposals, and after an opinion for the decision that may follow it, milliseconds. */
const GATHERS = 100;
const FOLLOWS = 2000;
/** How long a response counts when the user comes to a proposal. */
const LASTS = 5000;

/** Proposals per request, and the maximum number of requests. */
const PAGE = 100;
const MAX_PAGES = 5;
/** The maximum number of proposals that are remembered. */
const MAX_KNOWN = 10_000;

class Inquiry {
  /** Why proposals are asked for. */
  readonly because = new Map<ID, string>();
  /** Budgets that the user may extend, if one is why a proposal is asked for. */
  budgets: readonly Budget[] = [];
  readonly hosts = new Set<ReactiveControllerHost>();
  /** What was known of the proposals that were asked about, and when. */
  private readonly asked = new Map<ID, { readonly known: string; readonly at: Millis }>();
  private readonly wanted = new Map<ID, number>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** The newest envelope that was looked at, and the newest extension of a budget. */
  private seen = 0;
  private extended = 0;

  constructor(private readonly shell: Shell) {}

  /** Looks for extensions of budgets among the envelopes that have arrived. */
  look(): void {
    const { envelopes, state } = this.shell;
    const { seen } = this;
    this.seen = state.head;
    for (let i = envelopes.length - 1; i >= 0 && (envelopes[i]?.seq ?? 0) > seen; i--) {
      if (envelopes[i]?.kind === "budget.extend") this.extended = Math.max(this.extended, envelopes[i]?.seq ?? 0);
    }
  }

  /** Asks about an undecided proposal, unless nothing has happened to it since; `after` is when an older response does not count. */
  about(p: Proposal, after: Millis): void {
    const known = `${p.status} ${p.opinions.length} ${this.extended}`;
    const before = this.asked.get(p.id);
    const now = performance.now();
    if (before?.known === known && before.at > after) return;
    if (this.asked.size >= MAX_KNOWN) this.asked.clear();
    this.asked.set(p.id, { known, at: now });
    this.wanted.set(p.id, p.seq);
    this.timer ??= setTimeout(() => void this.ask(), before === undefined || p.opinions.length === 0 ? GATHERS : FOLLOWS);
  }

  /** Asks once at a time: a response with long proposals takes the memory that the gateway grants the user. */
  private async ask(): Promise<void> {
    const wanted = new Map(this.wanted);
    this.wanted.clear();
    const since = Math.min(...wanted.values()) - 1;
    let before = "";
    for (let pages = 0; pages < MAX_PAGES && wanted.size > 0; pages++) {
      const page = obj(await this.shell.get(`proposals?state=all&limit=${PAGE}&since=${since}${before}`).catch(() => null));
      for (const x of arr(field(page, "proposals")).map(obj)) this.learn(x, wanted);
      if (bool(field(page, "has_more")) !== true) break;
      before = `&before=${count(field(page, "next")) ?? 0}`;
    }
    const asks = [...this.because.values()].some((x) => x !== "") && this.shell.may("budget.extend");
    this.budgets = asks ? readBudgets(await this.shell.get("budgets").catch(() => null)).budgets.filter((b) => b.mayExtend) : [];
    for (const h of this.hosts) h.requestUpdate();
    this.timer = this.wanted.size > 0 ? setTimeout(() => void this.ask(), GATHERS) : undefined;
  }

  private learn(x: Payload, wanted: Map<ID, number>): void {
    const id = str(field(obj(field(x, "envelope")), "id"));
    if (!wanted.delete(id)) return;
    this.because.set(id, str(field(x, "because")));
    if (field(x, "state") === "settled") this.shell.settled(id, str(field(obj(field(x, "settled_by")), "from")));
  }
}

const inquiries = new WeakMap<Shell, Inquiry>();

function inquiryOf(shell: Shell): Inquiry {
  const known = inquiries.get(shell) ?? new Inquiry(shell);
  inquiries.set(shell, known);
  return known;
}

/** Asks about the proposal of an element while it is undecided. */
export class Standing implements ReactiveController {
  constructor(private readonly host: ReactiveControllerHost & HTMLElement & { readonly shell: Shell; readonly proposal: Proposal }) {
    host.addController(this);
  }

  /** Why the call is asked for although the capabilities of the proposer allow it; "": they do not, or it is not known. */
  get because(): string {
    return inquiryOf(this.host.shell).because.get(this.host.proposal.id) ?? "";
  }

  /** The participant whose budget is the reason and may be extended by the user ("": that of the space); null: there is none. */
  get extendable(): ParticipantID | null {
    const { because } = this;
    return because === "" ? null : (inquiryOf(this.host.shell).budgets.find((b) => b.asks === because)?.id ?? null);
  }

  hostConnected(): void {
    this.host.addEventListener("pointerenter", this.come);
    this.host.addEventListener("focusin", this.come);
    document.addEventListener("visibilitychange", this.come);
  }

  hostDisconnected(): void {
    this.host.removeEventListener("pointerenter", this.come);
    this.host.removeEventListener("focusin", this.come);
    document.removeEventListener("visibilitychange", this.come);
    inquiryOf(this.host.shell).hosts.delete(this.host);
  }

  hostUpdate(): void {
    const inquiry = inquiryOf(this.host.shell);
    inquiry.hosts.add(this.host);
    inquiry.look();
    this.ask(-Infinity);
  }

  private readonly come = (): void => {
    if (document.visibilityState === "visible") this.ask(performance.now() - LASTS);
  };

  private ask(after: Millis): void {
    const { shell, proposal: p } = this.host;
    if (p.from === shell.you || shell.past || (p.status !== "pending" && !p.lapsed)) return;
    inquiryOf(shell).about(p, after);
  }
}
