/** Participants: presence, capabilities, tools. */

import { arr, bool, count, field, isObject, num, obj, recipients, str } from "@sdk/read.js";
import type { Participant, Tool } from "../state.js";
import type { Capability, Envelope, Millis, ParticipantID, Payload } from "@sdk/types.js";
import { review } from "./blocks.js";
import { type Ctx, type Logged, timeOf } from "./context.js";
import type { Known } from "./live.js";
import type { Mut } from "./tables.js";

/** Bounds: participants, and tools of each. */
const MAX_PARTICIPANTS = 4096;
const MAX_TOOLS = 1024;

/** Returns the participant with an id, for changes. */
export function person(c: Ctx, id: ParticipantID): Mut<Participant> {
  const there = c.t.edit(c.t.participants, id);
  if (there !== undefined) return there;
  if (c.t.participants.size >= MAX_PARTICIPANTS) forgetOne(c);
  const known = c.live.known(id);
  return c.t.add(c.t.participants, id, {
    id,
    ...known,
    present: c.live.present(id),
    agent: reasons(known.capabilities),
    reviewer: false,
    paused: false,
    pausedUntil: null,
    kicked: false,
    lastAt: null,
    envelopes: 0,
    status: "",
    tools: [],
    version: 0,
  });
}

function forgetOne(c: Ctx): void {
  for (const p of c.t.participants.values()) {
    if (p.present) continue;
    c.t.participants.delete(p.id);
    return;
  }
}

/** Reports whether a capability explicitly allows reasoning, as an agent's does. */
export function reasons(capabilities: readonly Capability[]): boolean {
  return capabilities.some((x) => /^reasoning(?:[./]|$)/.test(typeof x === "string" ? x : x.deny === true ? "" : x.kind));
}

/** Records that a participant has sent something. */
export function hear(c: Ctx, e: Logged): void {
  const p = person(c, e.env.from);
  p.lastAt = e.at;
  p.envelopes++;
  const wasGone = c.live.gone(e.env.from, c.t.heard.get(e.env.from) ?? 0);
  c.t.heard.set(e.env.from, e.seq);
  if (e.env.kind === "reasoning.start") p.agent = true;
  if (wasGone && !c.live.gone(e.env.from, e.seq)) review(c, e.env.from);
}

/** Copies the presence of all or one participant from Live. */
export function appear(c: Ctx, ids: Iterable<ParticipantID>): void {
  for (const id of ids) {
    const known = c.live.roster?.get(id);
    const p = person(c, id);
    p.present = known !== undefined;
    if (known !== undefined) Object.assign(p, known, { agent: p.agent || reasons(known.capabilities), kicked: false });
    review(c, id);
  }
}

/** Returns the valid capabilities in an array. */
export function capabilities(v: unknown): readonly Capability[] {
  return arr(v)
    .slice(0, 1024)
    .filter((x): x is Capability => typeof x === "string" || (isObject(x) && typeof field(x, "kind") === "string"));
}

/** Handles participant.pause, .resume, .status and the envelopes that end them. */
export function aboutPeople(c: Ctx, e: Logged): void {
  const p = e.env.payload;
  switch (e.env.kind) {
    case "participant.pause":
      for (const id of recipients(e.env)) {
        const seconds = num(field(p, "timeout_seconds"));
        const until = seconds !== null && seconds > 0 ? e.at + seconds * 1000 : null;
        Object.assign(person(c, id), { paused: true, pausedUntil: until });
      }
      return;
    case "participant.resume":
      for (const id of recipients(e.env)) Object.assign(person(c, id), { paused: false, pausedUntil: null });
      return;
    case "participant.status":
      if (recipients(e.env).join() === e.env.from) return; // a mark of an agent for its own processes
      person(c, e.env.from).status = str(field(p, "status"));
      return;
    case "space.kick":
      person(c, str(field(p, "participant_id")) || "?").kicked = true;
      return;
    case "space.invite":
      person(c, str(field(p, "participant_id")) || "?").kicked = false;
  }
}

/** Handles a tools/list request. */
export function listTools(c: Ctx, e: Logged): void {
  if (str(field(e.env.payload, "method")) !== "tools/list") return;
  const cursor = field(obj(field(e.env.payload, "params")), "cursor") !== undefined;
  if (c.t.listings.size >= 1024) {
    const [oldest] = c.t.listings.keys();
    if (oldest !== undefined) c.t.listings.delete(oldest);
  }
  c.t.listings.set(e.env.id, { from: e.env.from, to: recipients(e.env), more: cursor });
}

/** Handles a response to a tools/list request. */
export function offerTools(c: Ctx, e: Logged): void {
  for (const id of e.references) {
    const asked = c.t.listings.get(id);
    if (asked === undefined || (asked.to.length > 0 && !asked.to.includes(e.env.from))) continue;
    const list = field(obj(field(e.env.payload, "result")), "tools");
    if (!Array.isArray(list)) return;
    const p = person(c, e.env.from);
    const known = asked.more ? p.tools : [];
    const fresh = list.slice(0, MAX_TOOLS).flatMap((x) => tool(obj(x)));
    const names = new Set(fresh.map((x) => x.name));
    p.tools = [...known.filter((x) => !names.has(x.name)), ...fresh].slice(0, MAX_TOOLS);
    return;
  }
}

function tool(p: Payload): Tool[] {
  const name = str(field(p, "name"));
  if (name === "") return [];
  const notes = obj(field(p, "annotations"));
  return [
    {
      name,
      title: str(field(p, "title")) || str(field(notes, "title")),
      description: str(field(p, "description")),
      inputSchema: field(p, "inputSchema"),
      readOnly: bool(field(notes, "readOnlyHint")),
      destructive: bool(field(notes, "destructiveHint")),
    },
  ];
}

/** Handles system.welcome: the own id, and the participants. */
export function welcome(c: Ctx, e: Envelope): void {
  const you = obj(field(e.payload, "you"));
  const space = obj(field(e.payload, "space"));
  c.live.space = str(field(space, "name"));
  c.live.you = { id: str(field(you, "id")), capabilities: capabilities(field(you, "capabilities")), limits: obj(field(you, "limits")) };
  const before = [...(c.live.roster?.keys() ?? [])];
  const present = arr(field(e.payload, "participants"))
    .slice(0, MAX_PARTICIPANTS)
    .map((x) => known(obj(x), timeOf(e)))
    .filter(([id]) => id !== "");
  c.live.welcome(present, Math.max(count(field(space, "seq")) ?? 0, c.t.head));
  appear(c, new Set([...before, ...present.map(([id]) => id), ...c.t.unfinished.keys()]));
}

function known(p: Payload, knownAt: Millis): readonly [ParticipantID, Known] {
  return [str(field(p, "id")), { capabilities: capabilities(field(p, "capabilities")), knownAt, description: str(field(p, "description")) }];
}

/** Handles system.presence. */
export function presence(c: Ctx, e: Envelope): void {
  const [id, held] = known(obj(field(e.payload, "participant")), timeOf(e));
  if (id === "") return;
  if (field(e.payload, "event") === "leave") c.live.leave(id, c.t.head);
  else c.live.join(id, held);
  appear(c, [id]);
}

/** Handles system.error: the rejection of an own envelope or of the cursor. */
export function refused(c: Ctx, e: Envelope): void {
  const p = e.payload;
  const error = str(field(p, "error"));
  if (error === "" || error === "cursor_expired") return;
  const about = typeof e.correlationId === "string" ? e.correlationId : "";
  c.live.refuse({ about, at: timeOf(e), refusal: { ...p, error, message: str(field(p, "message")) } });
}
