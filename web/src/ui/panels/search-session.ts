/** A search of a space: the query, the pages of results so far, and its progress. */

import { Api, ApiError, type SearchQuery } from "../../core/api.js";
import { type Clock, realClock } from "@sdk/clock.js";
import type { ContextPath, Millis, ParticipantID, SearchHit } from "@sdk/types.js";

/** Delay between typing and the request, milliseconds. */
export const TYPING_DELAY = 200;
/** Maximum length of the text. */
export const MAX_TEXT = 200;
/** Results per page. */
const PAGE = 30;
/** Delays before a search is repeated while the index is being built. */
const LEAST_WAIT = 1000;
const MOST_WAIT = 15_000;

/** Kinds that are selected together. */
export type KindGroup = "chat" | "reasoning" | "calls" | "proposals" | "other";

const KINDS: Readonly<Record<KindGroup, readonly string[]>> = {
  chat: ["chat", "chat.*"],
  reasoning: ["reasoning.*"],
  calls: ["mcp.request", "mcp.response"],
  proposals: ["mcp.proposal", "mcp.reject", "mcp.withdraw"],
  other: ["x.*"],
};

export interface Query {
  readonly text: string;
  /** Empty: all. */
  readonly kinds: readonly KindGroup[];
  /** "": anyone. */
  readonly from: ParticipantID;
  /** A context with its children; "": the main conversation; null: everywhere. */
  readonly context: ContextPath | null;
  /** Only envelopes of the last milliseconds; 0: of any time. */
  readonly within: Millis;
}

export const NO_QUERY: Query = { text: "", kinds: [], from: "", context: null, within: 0 };

/** The main conversation in parameters, where "" is none. */
const MAIN = "/";

/** Returns a query as parameters of the panel, in the address. */
export function paramsOf(q: Query): Readonly<Record<string, string>> {
  const all = { text: q.text.trim(), kinds: q.kinds.join(","), from: q.from, context: q.context === "" ? MAIN : (q.context ?? ""), within: q.within === 0 ? "" : String(q.within) };
  return Object.fromEntries(Object.entries(all).filter(([, v]) => v !== ""));
}

/** Returns the query of these parameters; what is not valid is left out. */
export function queryOf(params: Readonly<Record<string, string>>): Query {
  const within = Number(params["within"] ?? 0);
  return {
    text: (params["text"] ?? "").slice(0, MAX_TEXT),
    kinds: (params["kinds"] ?? "").split(",").filter((k): k is KindGroup => Object.hasOwn(KINDS, k)),
    from: params["from"] ?? "",
    context: params["context"] === MAIN ? "" : (params["context"] ?? null),
    within: Number.isSafeInteger(within) && within > 0 ? within : 0,
  };
}

/** `building`: the gateway has no complete index yet; the search is repeated. `offline` and `failed`: see `error`. */
export type Phase = "idle" | "searching" | "done" | "building" | "offline" | "failed";

export class SearchSession {
  query = NO_QUERY;
  phase: Phase = "idle";
  hits: readonly SearchHit[] = [];
  /** The text that the hits are of. */
  searched = "";
  /** A sentence: why the search failed, or how far the index is. */
  error = "";
  /** The query itself is refused: the same one fails again. */
  refused = false;
  next = "";
  partial = false;
  behind = false;

  private visits = 0;
  private request: SearchQuery | null = null;
  private run = 0;
  private cancel: () => void = () => {};
  private readonly listeners = new Set<() => void>();

  /** `now` returns the time of the space. */
  constructor(
    private readonly space: string,
    private readonly now: () => Millis,
    private readonly api = new Api(),
    private readonly clock: Clock = realClock,
  ) {}

  /** Calls f after each change. The returned function unsubscribes; without subscribers, nothing is repeated. */
  subscribe(f: () => void): () => void {
    this.listeners.add(f);
    if (this.phase === "building") this.search();
    return () => {
      this.listeners.delete(f);
      if (this.listeners.size === 0 && this.phase === "building") this.cancel();
    };
  }

  /** Changes the query, and searches after a delay. */
  set(change: Partial<Query>, delay = 0): void {
    this.query = { ...this.query, ...change };
    this.stop();
    if (this.query.text.trim() === "") {
      this.hits = [];
      this.phase = "idle";
      this.changed();
      return;
    }
    this.phase = "searching";
    if (delay === 0) this.search();
    else this.cancel = this.clock.after(delay, () => this.search());
    this.changed();
  }

  /** Clears the query and its results when the user has opened another conversation since. */
  visited(visits: number): void {
    if (visits !== this.visits && this.query !== NO_QUERY) {
      this.set(NO_QUERY);
      this.query = NO_QUERY;
    }
    this.visits = visits;
  }

  /** Searches now: the first page, from the current time. */
  search(): void {
    this.stop();
    if (this.query.text.trim() === "") return;
    this.request = this.compile();
    void this.load(this.request, []);
  }

  /** Loads the next page, or the same one again after an error. */
  more(): void {
    if (this.request === null || this.next === "" || this.phase === "searching") return;
    this.stop();
    void this.load({ ...this.request, cursor: this.next }, this.hits);
  }

  private stop(): void {
    this.run++;
    this.cancel();
    this.cancel = () => {};
  }

  private compile(): SearchQuery {
    const { text, kinds, from, context, within } = this.query;
    return {
      text: completed(text),
      limit: PAGE,
      ...(kinds.length > 0 && { kinds: kinds.flatMap((g) => KINDS[g]) }),
      ...(from !== "" && { from: [from] }),
      ...(context === "" ? { main: true } : context !== null && { contexts: [context] }),
      ...(within > 0 && { since: new Date(this.now() - within).toISOString() }),
    };
  }

  private async load(request: SearchQuery, before: readonly SearchHit[]): Promise<void> {
    const run = ++this.run;
    const text = this.query.text.trim();
    if (this.phase !== "building") {
      this.phase = "searching";
      this.error = "";
    }
    this.changed();
    try {
      const page = await this.api.search(this.space, request);
      if (run !== this.run) return;
      const known = new Set(before.map((h) => h.id));
      this.hits = [...before, ...page.hits.filter((h) => !known.has(h.id))];
      this.searched = text;
      this.next = page.next === request.cursor ? "" : page.next;
      this.partial = page.partial;
      this.behind = page.behind;
      this.phase = "done";
      this.error = "";
    } catch (err) {
      if (run !== this.run) return;
      this.failed(err, before);
    }
    this.changed();
  }

  private failed(err: unknown, before: readonly SearchHit[]): void {
    this.hits = before;
    if (before.length === 0) this.next = "";
    this.error = err instanceof Error ? err.message : String(err);
    this.refused = false;
    if (!(err instanceof ApiError)) {
      this.phase = "failed";
      return;
    }
    const { error, message, retry_after_ms: wait = 0 } = err.refusal;
    this.refused = error === "bad_request";
    if ((this.refused || error === "unavailable") && message !== "") this.error = message;
    this.phase = err.status === 0 ? "offline" : error === "unavailable" && wait > 0 ? "building" : "failed";
    if (this.phase !== "building" || this.listeners.size === 0) return;
    this.cancel = this.clock.after(Math.min(Math.max(wait, LEAST_WAIT), MOST_WAIT), () => this.search());
  }

  private changed(): void {
    for (const f of this.listeners) f();
  }
}

/** Scripts in which a word has no end that spaces mark; the index has pairs of their characters. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;

/** Completes a query during typing: the last word may go on until a space follows, and an open quotation ends. */
export function completed(text: string): string {
  const t = text.trim();
  if ((t.split('"').length - 1) % 2 === 1) return t.endsWith('"') ? t.slice(0, -1).trim() || t : `${t}"`;
  const last = /(?:^|\s)([\p{L}\p{N}]{2,})$/u.exec(text)?.[1] ?? "";
  return last === "" || UNSPACED.test(last) ? t : `${t}*`;
}
