/** The events of a thread: what happens to its questions, past and live. */

import { ApiError } from "./api.js";
import { parse } from "./json.js";
import { count, envelope, field, obj, str } from "./read.js";
import type { Envelope, ID, ParticipantID, Refusal } from "./types.js";

export type ThreadEventType =
  | "asked" | "opened" | "thought" | "called" | "returned" | "proposed" | "settled" | "closed"
  | "stream-opened" | "delta" | "stream-closed" | "answering" | "retracted" | "said" | "answered" | "ended";

/** A step of a turn of a thread. Texts that an event lacks are empty. */
export interface ThreadEvent {
  /** The position, with which a later request goes on; "": the event is not in the log. */
  readonly id: string;
  readonly type: ThreadEventType;
  /** The chat that began the turn, and its number. */
  readonly question: ID;
  readonly turn: number;
  readonly from: ParticipantID;
  /** The message, the addition, the reason or the answer. */
  readonly text: string;
  /** The reasoning that an answer began with. */
  readonly steps: readonly string[];
  /** The call, the proposal or the stream. */
  readonly ref: ID;
  /** The outcome of a proposal (settled) or of the turn (ended). */
  readonly state: string;
  /** The reader has the rights for the decision about a proposal. */
  readonly mayDecide: boolean;
  /** null: the event is not in the log. */
  readonly envelope: Envelope | null;
}

export interface ThreadOptions {
  /** URL of the gateway; "" is the origin of the page. */
  readonly url?: string;
  /** Without one, the cookie of the page. */
  readonly token?: string;
  /** The id of the last event that the reader has. Default: from the beginning. */
  readonly after?: string;
  readonly signal?: AbortSignal;
}

const MAX_LINE = 4 << 20;

/**
 * Yields what happens to the questions of a thread: all events, and then live ones until the loop or the
 * signal ends. It ends when the gateway ends the stream, and throws an ApiError for a thread that the
 * participant may not see: to go on, call it again with the last id that is not empty. It uses one of the
 * participant's connections.
 */
export async function* threadEvents(space: string, thread: ID, o: ThreadOptions = {}): AsyncGenerator<ThreadEvent, void> {
  const path = `/api/spaces/${encodeURIComponent(space)}/threads/${encodeURIComponent(thread)}/events`;
  const stop = new AbortController(); // ends the request with the loop
  const response = await fetch(`${o.url ?? ""}${path}?after=${encodeURIComponent(o.after ?? "")}`, {
    headers: { Accept: "text/event-stream", ...(o.token !== undefined && { Authorization: `Bearer ${o.token}` }) },
    signal: o.signal === undefined ? stop.signal : AbortSignal.any([o.signal, stop.signal]),
  });
  try {
    if (!response.ok || response.body === null) throw new ApiError(response.status, await refusalOf(response));
    let [name, id] = ["", ""];
    for await (const line of lines(response.body)) {
      const value = line.slice(line.indexOf(": ") + 2);
      if (line.startsWith("event: ")) [name, id] = [value, ""];
      else if (line.startsWith("id: ")) id = value;
      else if (line.startsWith("data: ") && name !== "system") yield eventOf(id, obj(parse(value)));
    }
  } finally {
    stop.abort();
  }
}

async function refusalOf(response: Response): Promise<Refusal> {
  const text = await response.text();
  const v = obj(response.headers.get("Content-Type")?.startsWith("application/json") === true ? parse(text) : null); // a proxy sends none
  return { ...v, error: str(field(v, "error")), message: str(field(v, "message")) };
}

function eventOf(id: string, v: ReturnType<typeof obj>): ThreadEvent {
  const steps = field(v, "steps");
  return {
    id,
    type: str(field(v, "type")) as ThreadEventType,
    question: str(field(v, "question")),
    turn: count(field(v, "turn")) ?? 0,
    from: str(field(v, "from")),
    text: str(field(v, "text")),
    steps: Array.isArray(steps) ? steps.map(str) : [],
    ref: str(field(v, "ref")),
    state: str(field(v, "state")),
    mayDecide: field(v, "may_decide") === true,
    envelope: envelope(field(v, "envelope")),
  };
}

async function* lines(body: ReadableStream<Uint8Array>): AsyncGenerator<string, void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + decoder.decode(value, { stream: true })).split("\n");
    rest = parts.pop() ?? "";
    if (rest.length > MAX_LINE) throw new Error("an event of the thread is too long");
    yield* parts;
  }
}
