/** Questions of tool servers that wait for an answer. */

import { field, obj, recipients, str } from "@sdk/read.js";
import type { Elicitation } from "../state.js";
import type { Millis } from "@sdk/types.js";
import type { Ctx, Logged } from "./context.js";

/** How many questions a host may ask about one call. */
const MAX_QUESTIONS = 20;
/** How many requests may be asked about; the oldest of the same sender are dropped, or else of all. */
const MAX_ASKABLE = 1024;

/** Handles mcp.request: a call, a question, or the withdrawal of either by its sender. */
export function elicit(c: Ctx, e: Logged): void {
  const { askable } = c.t;
  const method = str(field(e.env.payload, "method"));
  if (method === "notifications/cancelled") {
    for (const id of e.references) if (askable.get(id)?.from === e.env.from) askable.delete(id);
    close(c, (q) => e.references.includes(q.id) && q.from === e.env.from);
  }
  const [to, ...others] = recipients(e.env);
  if (method !== "elicitation/create") {
    if (to === undefined || field(e.env.payload, "id") === undefined) return;
    if (askable.size >= MAX_ASKABLE) {
      const all = [...askable.values()];
      askable.delete((all.find((x) => x.from === e.env.from) ?? all[0])?.id ?? "");
    }
    askable.set(e.env.id, { id: e.env.id, from: e.env.from, to: [to, ...others], questions: 0 });
    return;
  }
  if (to === undefined || others.length > 0) return;
  const call = e.references.map((id) => askable.get(id)).find((x) => x?.from === to && x.to.includes(e.env.from));
  if (call === undefined || call.questions === MAX_QUESTIONS) return;
  askable.set(call.id, { ...call, questions: call.questions + 1 });
  const params = field(e.env.payload, "params");
  c.t.add(c.t.elicitations, e.env.id, {
    id: e.env.id,
    rpc: field(e.env.payload, "id") ?? e.env.id,
    seq: e.seq,
    at: e.at,
    from: e.env.from,
    to,
    context: e.env.context ?? "",
    calls: e.references,
    params,
    expiresAt: Date.parse(str(field(obj(field(obj(params), "_meta")), "meup/expires_at"))) || null,
    version: 0,
  });
}

/** Handles mcp.response: the answer to a question, or the end of the call that it is about. */
export function elicited(c: Ctx, e: Logged): void {
  const { from } = e.env;
  for (const id of e.references) if (c.t.askable.get(id)?.to.includes(from) === true) c.t.askable.delete(id);
  close(c, (q) => (from === q.to && e.references.includes(q.id)) || (from === q.from && q.calls.some((id) => e.references.includes(id))));
}

/** Removes the questions whose time is over. Returns true if there was one. */
export function lapsed(c: Ctx, now: Millis): boolean {
  return close(c, (q) => (q.expiresAt ?? Infinity) <= now);
}

function close(c: Ctx, over: (q: Elicitation) => boolean): boolean {
  let closed = false;
  for (const q of c.t.elicitations.values()) if (over(q)) closed = c.t.elicitations.delete(q.id);
  if (closed) c.t.version++;
  return closed;
}
