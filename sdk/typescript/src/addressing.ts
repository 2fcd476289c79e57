/**
 * Which chats of a space are questions for an agent. The rules are those of
 * the reference agent (internal/agent/intake).
 */

import { correlations, field, kindOf, obj, recipients, str } from "./read.js";
import { type Capability, type Envelope, GATEWAY, type ID, type ParticipantID, type Present } from "./types.js";

/**
 * Selects the chats that are questions. In every mode an agent never answers
 * itself, and answers another agent only if that agent addresses or mentions it.
 *
 * - `addressed`: chats that name the agent in `to`
 * - `mentioned`: also chats to all with `@name` in their text
 * - `any`: also every chat that a participant other than an agent sends to all,
 *   outside contexts, unless it mentions another connected agent, or begins with
 *   a mention of another name, connected or not
 * - `auto`: like `any` while no other agent is connected, otherwise like `mentioned`
 */
export type AnswerMode = "addressed" | "mentioned" | "any" | "auto";

export const MODES: readonly AnswerMode[] = ["addressed", "mentioned", "any", "auto"];

/** Bounds: questions of one agent before another participant sends a chat, and participants recognized as agents. */
const MAX_AGENT_QUESTIONS = 16;
const MAX_AGENTS = 10_000;

export class Classifier {
  /** Connected participants. */
  participants: readonly Present[] = [];
  private readonly names: readonly string[];
  private readonly agents = new Set<ParticipantID>();
  private readonly asked = new Map<ParticipantID, number>();
  private readonly hops = new Hops();

  constructor(
    private readonly you: ParticipantID,
    name: string,
    private readonly mode: AnswerMode,
    private readonly maxHops: number,
  ) {
    this.names = [you, name.replace(/^@/, "")].filter((x) => x !== "").map((x) => x.toLowerCase());
  }

  /** Records which participants are agents, and which chat answers which. */
  observe(e: Envelope): void {
    switch (e.kind) {
      case "system.presence":
        if (field(e.payload, "event") === "leave") this.agents.delete(str(field(obj(e.payload["participant"]), "id")));
        break;
      case "reasoning.start":
        if (e.from === this.you) {
          const who = str(field(e.payload, "participant_id")); // that is asked to reason there
          this.hops.put(e.id, { from: e.from, depth: 0, opens: true, ...(who !== "" && { asks: [who] }) });
        } else if (this.agents.size < MAX_AGENTS && this.answersChat(e)) this.agents.add(e.from);
        break;
      case "chat":
        this.hops.note(e, e.from === this.you || this.isAgent(e.from));
        if (e.from !== this.you && !this.isAgent(e.from)) this.asked.clear();
    }
  }

  /** Reports whether a chat is a question, and counts it if an agent asks. */
  isQuestion(e: Envelope): boolean {
    const text = chatText(e);
    if (e.from === this.you || e.from === GATEWAY || text.trim() === "") return false;
    const to = recipients(e);
    const addressed = to.includes(this.you);
    if ((!addressed && to.length > 0) || this.answersMe(e)) return false;
    if (addressed || (this.mode !== "addressed" && mentions(text, this.names))) return !this.isAgent(e.from) || this.allows(e);
    if (e.context !== undefined || this.isAgent(e.from) || leadingMention(text) !== "") return false;
    return (this.mode === "any" && !this.mentionsOther(text)) || (this.mode === "auto" && this.others().length === 0);
  }

  /** Reports whether a chat names the agent, in `to` or in its text. */
  isNamed(e: Envelope): boolean {
    return recipients(e).includes(this.you) || mentions(chatText(e), this.names);
  }

  /**
   * Reports whether a chat answers one that this agent sent to ask: the chat of an agent that
   * correlates to it, or of a participant that it was addressed to. A chat about an answer of this
   * agent is none, nor is what a person says about a chat of this agent to all.
   */
  private answersMe(e: Envelope): boolean {
    return correlations(e).some((id) => {
      const of = this.hops.at(id);
      return of?.from === this.you && of.asks !== undefined && (of.asks.includes(e.from) || this.isAgent(e.from));
    });
  }

  /** Reports whether to reason about another part for a participant, and counts it. People are not bounded. */
  allowsPart(from: ParticipantID): boolean {
    if (!this.isAgent(from)) return true;
    const n = (this.asked.get(from) ?? 0) + 1;
    this.asked.set(from, n);
    return n <= MAX_AGENT_QUESTIONS;
  }

  private allows(e: Envelope): boolean {
    const n = this.asked.get(e.from) ?? 0;
    if (this.hops.of(e.id) >= this.maxHops || n >= MAX_AGENT_QUESTIONS) return false;
    this.asked.set(e.from, n + 1);
    return true;
  }

  private answersChat(e: Envelope): boolean {
    return correlations(e).some((id) => {
      const of = this.hops.at(id);
      return of !== undefined && of.from !== e.from && of.opens !== true;
    });
  }

  private isAgent(id: ParticipantID): boolean {
    return this.agents.has(id) || this.participants.some((p) => p.id === id && p.capabilities.some(namesReasoning));
  }

  private others(): readonly ParticipantID[] {
    return this.participants.flatMap((p) => (p.id !== this.you && this.isAgent(p.id) ? [p.id] : []));
  }

  private mentionsOther(text: string): boolean {
    return this.others().some((id) => mentions(text, [id.toLowerCase()]));
  }
}

/** Returns the text of a chat, by either of its names. */
export function chatText(e: Envelope): string {
  return str(field(e.payload, "message")) || str(field(e.payload, "text"));
}

/** Reports whether a capability names the reasoning kinds; one for all kinds does not, nor one to cancel, which people hold. */
function namesReasoning(c: Capability): boolean {
  const rule = typeof c === "string" ? { kind: c } : c;
  const kind = kindOf(str(rule.kind));
  return rule.deny !== true && kind.startsWith("reasoning") && kind !== "reasoning.cancel";
}

/** Reports whether a text contains @ and one of the names, in lower case, as a word. */
export function mentions(text: string, names: readonly string[]): boolean {
  const lower = text.toLowerCase();
  return names.some((name) => {
    for (let at = lower.indexOf("@" + name); at >= 0; at = lower.indexOf("@" + name, at + 1)) {
      const before = Array.from(lower.slice(Math.max(0, at - 2), at)).at(-1) ?? "";
      if (!PART_OF_NAME.test(before) && !continues(lower.slice(at + 1 + name.length))) return true;
    }
    return false;
  });
}

/** Returns the name after the @ with which a text begins, or "". Punctuation at its end is no part of it, and a path (@types/node) is no mention. */
export function leadingMention(text: string): string {
  const begins = text.trimStart().slice(0, 256); // the time of an expression for more could grow with its square
  const name = /^@([\p{L}\p{M}\p{Nd}_.:+|@-]+)(?![\p{L}\p{M}\p{Nd}_.:+|@/\\-])/u.exec(begins)?.[1] ?? "";
  return name.replace(/[.:+|@-]+$/, "");
}

const PART_OF_NAME = /^[\p{L}\p{Nd}_@-]$/u;

/** Reports whether a rest continues the name before it. One of . : + | does only if another character of a name follows. */
function continues(rest: string): boolean {
  const [first = "", next = ""] = Array.from(rest.slice(0, 4));
  if (".:+|".includes(first) && first !== "") return next !== "@" && PART_OF_NAME.test(next);
  return PART_OF_NAME.test(first);
}

interface Hop {
  readonly from: ParticipantID;
  /** Consecutive answers of agents that led to the chat. */
  readonly depth: number;
  /** A reasoning.start. */
  readonly opens?: boolean;
  /** Who is asked, by a chat that answers none of another participant, or by a start. */
  readonly asks?: readonly ParticipantID[];
}

/** The recent chats, and the contexts of this agent, in two generations: the older one is dropped when the newer one is full. */
class Hops {
  private young = new Map<ID, Hop>();
  private old = new Map<ID, Hop>();

  note(e: Envelope, byAgent: boolean): void {
    const depth = byAgent ? Math.max(1, ...correlations(e).map((id) => this.of(id) + 1)) : 0;
    this.put(e.id, { from: e.from, depth, ...(!this.answers(e) && { asks: recipients(e) }) });
  }

  /** Reports whether a chat outside of contexts correlates to one of another participant that receives it. An envelope that is not known counts as such a chat. */
  private answers(e: Envelope): boolean {
    const to = recipients(e);
    return e.context === undefined && correlations(e).some((id) => {
      const asker = this.at(id)?.from;
      return asker === undefined || (asker !== e.from && (to.length === 0 || to.includes(asker)));
    });
  }

  put(id: ID, hop: Hop): void {
    if (this.young.size >= 2048) {
      this.old = this.young;
      this.young = new Map();
    }
    this.young.set(id, hop);
  }

  of(id: ID): number {
    return this.at(id)?.depth ?? 0;
  }

  at(id: ID): Hop | undefined {
    return this.young.get(id) ?? this.old.get(id);
  }
}
