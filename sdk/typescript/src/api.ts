/** The HTTP API of the gateway. A function returns the result or throws an ApiError with a message. */

import { parse, stringify } from "./json.js";
import { arr, bool, count, envelope, field, isObject, obj, str } from "./read.js";
import { plain } from "./refusal.js";
import type {
  ContextNode,
  ContextPath,
  Draft,
  Envelope,
  EnvelopePage,
  History,
  ID,
  Payload,
  Present,
  Refusal,
  SearchHit,
  SearchPage,
  Session,
  SpaceInfo,
  Threads,
  TurnOf,
} from "./types.js";

/** A failed request. `status` is the HTTP status, 0 without a response. */
export class ApiError extends Error {
  override readonly name = "ApiError";

  constructor(
    readonly status: number,
    readonly refusal: Refusal,
    words: (r: Refusal) => string = plain,
  ) {
    super(words(refusal));
  }

  /** Reports whether the user has to sign in. */
  get signedOut(): boolean {
    return this.refusal.error === "unauthorized";
  }

  /** Reports whether a retry may succeed. */
  get passing(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/** The required part of fetch. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface ApiOptions {
  /** URL of the gateway; "" is the origin of the page. */
  readonly base?: string;
  readonly fetch?: Fetch;
  /** Timeout of a request in milliseconds; 0 means 20,000. */
  readonly timeout?: number;
  /** Added to every request, for clients that are not a page. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Writes a rejection as the message of an ApiError; the gateway's own text by default. */
  readonly words?: (r: Refusal) => string;
}

/** Selects envelopes of the history. */
export interface EnvelopeQuery {
  readonly since?: number;
  readonly before?: number;
  /** At most 1,000. */
  readonly limit?: number;
  readonly contexts?: readonly ContextPath[];
  readonly kinds?: readonly string[];
  readonly from?: readonly string[];
  /** Only the main conversation. */
  readonly main?: boolean;
  /** Newest first. */
  readonly descending?: boolean;
}

/** Selects envelopes by their text, and by a filter. */
export interface SearchQuery {
  readonly text: string;
  readonly kinds?: readonly string[];
  readonly from?: readonly string[];
  readonly contexts?: readonly ContextPath[];
  readonly main?: boolean;
  /** Sent at this time or later, RFC 3339. */
  readonly since?: string;
  readonly limit?: number;
  readonly cursor?: string;
}

type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

export class Api {
  private readonly base: string;
  private readonly fetch: Fetch;
  private readonly timeout: number;
  private readonly headers: Readonly<Record<string, string>>;
  private readonly words: (r: Refusal) => string;

  constructor(options: ApiOptions = {}) {
    this.base = options.base ?? "";
    this.fetch = options.fetch ?? ((url, init) => fetch(url, init));
    this.timeout = options.timeout || 20_000;
    this.headers = options.headers ?? {};
    this.words = options.words ?? plain;
  }

  /** Returns the current session. */
  async session(): Promise<Session> {
    return this.shaped(await this.get("/api/session"), isSession);
  }

  /** Signs in: the gateway stores the token in a cookie that scripts cannot read. */
  async signIn(token: string, remember = false): Promise<Session> {
    return this.shaped(await this.call("POST", "/api/session", {}, { token, remember }), isSession);
  }

  /** Signs in with a one-time code that a program on the same machine has created. */
  async redeem(code: string, remember = false): Promise<Session> {
    return this.shaped(await this.call("POST", "/api/session", {}, { code, remember }), isSession);
  }

  async signOut(): Promise<void> {
    await this.call("DELETE", "/api/session", {});
  }

  async spaces(): Promise<readonly SpaceInfo[]> {
    return this.list<SpaceInfo>(await this.get("/api/spaces"), "spaces", "name");
  }

  /** Returns the connected participants. */
  async participants(space: string): Promise<readonly Present[]> {
    return this.list<Present>(await this.get(`${root(space)}/participants`), "participants", "id");
  }

  /** Returns the tree of contexts, or the subtree of a path. */
  async contexts(space: string, path: ContextPath = ""): Promise<readonly ContextNode[]> {
    const below = path === "" ? "" : "/" + path.split("/").map(encodeURIComponent).join("/");
    const got = await this.get(`${root(space)}/contexts${below}`);
    if (path !== "" && typeof field(obj(got), "path") === "string") return [got as ContextNode];
    return this.list<ContextNode>(got, "contexts", "path");
  }

  /** Returns a page of history, ascending by seq in any order of the request. */
  async envelopes(space: string, q: EnvelopeQuery = {}): Promise<EnvelopePage> {
    const got = await this.get(`${root(space)}/envelopes`, {
      since: q.since,
      before: q.before,
      limit: q.limit,
      context: q.contexts,
      kinds: q.kinds,
      from: q.from,
      main: q.main,
      order: q.descending === true ? "desc" : undefined,
    });
    const list = field(obj(got), "envelopes");
    if (!Array.isArray(list)) throw this.error(200, BAD_ANSWER);
    const envelopes = list.flatMap((x) => envelope(x) ?? []).sort((a, b) => (a.seq ?? 0) - (b.seq ?? 0));
    return { envelopes, next: count(field(obj(got), "next")) ?? 0, has_more: bool(field(obj(got), "has_more")) === true };
  }

  /** Returns an envelope, or null if it does not exist or is not visible. */
  async one(space: string, id: ID): Promise<Envelope | null> {
    try {
      const got = envelope(await this.get(`${root(space)}/envelopes/${encodeURIComponent(id)}`));
      if (got === null) throw this.error(200, BAD_ANSWER);
      return got;
    } catch (err) {
      if (err instanceof ApiError && err.status === 404) return null;
      throw err;
    }
  }

  /** Returns a page of the envelopes that a full-text query selects. */
  async search(space: string, q: SearchQuery): Promise<SearchPage> {
    const got = obj(await this.get(`${root(space)}/search`, { q: q.text, kinds: q.kinds, from: q.from, context: q.contexts, main: q.main, since: q.since, limit: q.limit, cursor: q.cursor }));
    const list = field(got, "hits");
    if (!Array.isArray(list)) throw this.error(200, BAD_ANSWER);
    const next = bool(field(got, "has_more")) === true ? str(field(got, "next")) : "";
    const behind = (count(field(got, "indexed")) ?? 0) < (count(field(got, "head")) ?? 0);
    return { hits: list.flatMap((x) => hit(obj(x)) ?? []), next, partial: bool(field(got, "partial")) === true, behind };
  }

  /** Returns the page of envelopes before a seq; 0: the newest. */
  async older(space: string, before: number, limit = 500): Promise<EnvelopePage> {
    return this.envelopes(space, { limit, descending: true, ...(before > 0 && { before }) });
  }

  /** Sends an envelope. The response to an invitation contains the token, once. */
  async send(space: string, id: ID, draft: Draft): Promise<{ readonly id: ID; readonly seq: number; readonly token?: string }> {
    const got = obj(await this.call("POST", `${root(space)}/envelopes`, {}, { id, ...draft }));
    const token = str(field(got, "token"));
    return { id: str(field(got, "id")), seq: count(field(got, "seq")) ?? 0, ...(token !== "" && { token }) };
  }

  async threads(space: string, before = 0, limit = 50): Promise<Threads> {
    const got = await this.get(`${root(space)}/threads`, { limit, before: before || undefined });
    return this.shaped(got, (v): v is Threads => Array.isArray(field(obj(v), "threads")));
  }

  /** Returns turns of a thread, oldest first; `before` is a turn number, 0: the newest. */
  async turns(space: string, thread: ID, before = 0, limit = 50): Promise<History> {
    const got = await this.get(`${root(space)}/threads/${encodeURIComponent(thread)}`, { limit, before: before || undefined });
    return this.shaped(got, (v): v is History => Array.isArray(field(obj(v), "turns")));
  }

  /** Returns the turn of an envelope. */
  async turnOf(space: string, id: ID): Promise<TurnOf> {
    const got = await this.get(`${root(space)}/envelopes/${encodeURIComponent(id)}/turn`);
    return this.shaped(got, (v): v is TurnOf => isObject(field(obj(v), "turn")));
  }

  /** Returns the URL of a conversation as Markdown. */
  transcript(space: string, thread: ID): string {
    return `${this.base}${root(space)}/threads/${encodeURIComponent(thread)}.md`;
  }

  /** Returns the reason for which a connection to a space is rejected; null if there is none, or without a response. */
  async why(space: string): Promise<Refusal | null> {
    try {
      await this.participants(space);
    } catch (err) {
      return err instanceof ApiError && err.status !== 0 && err.refusal.error !== "bad_answer" ? err.refusal : null;
    }
    return null;
  }

  private get(path: string, query: Query = {}): Promise<unknown> {
    return this.call("GET", path, query);
  }

  private async call(method: string, path: string, query: Query, body?: unknown): Promise<unknown> {
    let response: Response;
    let text: string;
    try {
      response = await this.fetch(this.base + path + search(query), {
        method,
        credentials: "same-origin",
        cache: "no-store",
        signal: AbortSignal.timeout(this.timeout),
        headers: { Accept: "application/json", ...(body !== undefined && { "Content-Type": "application/json" }), ...this.headers },
        ...(body !== undefined && { body: stringify(body) }),
      });
      text = await response.text();
    } catch {
      throw this.error(0, { error: "offline", message: "" });
    }
    if (response.ok && text === "") return null;
    let value: unknown;
    try {
      value = parse(text);
    } catch {
      throw this.error(response.status, response.ok ? BAD_ANSWER : statusRefusal(response));
    }
    if (!response.ok) throw this.error(response.status, refusalIn(value, response));
    return value;
  }

  private error(status: number, refusal: Refusal): ApiError {
    return new ApiError(status, refusal, this.words);
  }

  private shaped<T>(v: unknown, is: (v: unknown) => v is T): T {
    if (!is(v)) throw this.error(200, BAD_ANSWER);
    return v;
  }

  /** Returns the array in a field, of objects with a string in another field. */
  private list<T>(v: unknown, name: string, key: string): readonly T[] {
    const list = field(obj(v), name);
    if (!Array.isArray(list)) throw this.error(200, BAD_ANSWER);
    return arr(list).filter((x) => typeof field(obj(x), key) === "string") as unknown as readonly T[];
  }
}

function hit(h: Payload): SearchHit | null {
  const id = str(field(h, "id"));
  if (id === "") return null;
  const snippet = obj(field(h, "snippet"));
  const parts = arr(field(snippet, "parts")).map((x) => ({ text: str(field(obj(x), "text")), match: bool(field(obj(x), "match")) === true }));
  const [from, kind, context, ts] = ["from", "kind", "context", "ts"].map((name) => str(field(h, name))) as [string, string, string, string];
  return { seq: count(field(h, "seq")) ?? 0, id, ts, from, kind, context, parts, cut: bool(field(snippet, "cut")) === true };
}

const BAD_ANSWER: Refusal = { error: "bad_answer", message: "" };

function root(space: string): string {
  return `/api/spaces/${encodeURIComponent(space)}`;
}

function search(query: Query): string {
  const q = new URLSearchParams();
  for (const [name, v] of Object.entries(query)) {
    if (v === undefined) continue;
    if (typeof v === "object") for (const x of v) q.append(name, x);
    else q.set(name, String(v));
  }
  const text = q.toString();
  return text === "" ? "" : "?" + text;
}

function refusalIn(v: unknown, response: Response): Refusal {
  const error = str(field(obj(v), "error"));
  if (error === "") return statusRefusal(response);
  const wait = retryAfter(response);
  return { ...obj(v), error, message: str(field(obj(v), "message")), ...(wait > 0 && { retry_after_ms: wait }) };
}

/** Returns the rejection for a status without a body, as proxies send it. */
function statusRefusal(response: Response): Refusal {
  const wait = retryAfter(response);
  const error =
    { 401: "unauthorized", 403: "forbidden", 404: "not_found", 413: "message_too_large", 429: "too_many_requests" }[response.status] ??
    (response.status >= 500 ? "unavailable" : "bad_request");
  return { error, message: "", ...(wait > 0 && { retry_after_ms: wait }) };
}

function retryAfter(response: Response): number {
  const seconds = Number(response.headers.get("Retry-After") ?? "");
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : 0;
}

function isSession(v: unknown): v is Session {
  return Array.isArray(field(obj(v), "spaces"));
}

/** Parses envelopes from JSON Lines; other lines are skipped. */
export function envelopesOf(text: string): readonly Envelope[] {
  return text.split("\n").flatMap((line) => {
    try {
      return line.trim() === "" ? [] : (envelope(parse(line)) ?? []);
    } catch {
      return [];
    }
  });
}
