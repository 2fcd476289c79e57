/** Grants and revocations, and the grants that each may derive from. */

import { field, num, str } from "@sdk/read.js";
import type { Grant } from "../state.js";
import type { Capability, ID } from "@sdk/types.js";
import { type Ctx, type Logged, closing } from "./context.js";
import { capabilities } from "./people.js";
import { look } from "@sdk/json.js";

/** Maximum number of grants that one may derive from. */
const MAX_VIA = 16;

/** Handles capability.grant. */
export function grant(c: Ctx, e: Logged): void {
  const p = e.env.payload;
  const recipient = str(field(p, "recipient"));
  if (recipient === "" || c.t.grants.has(e.env.id)) return;
  const given = capabilities(field(p, "capabilities"));
  const ttl = num(field(p, "ttl_seconds"));
  const via = held(c, e, given);
  c.t.add(c.t.grants, e.env.id, {
    id: e.env.id,
    seq: e.seq,
    at: e.at,
    by: e.env.from,
    recipient,
    capabilities: given,
    reason: str(field(p, "reason")),
    expiresAt: ttl !== null && ttl > 0 ? e.at + ttl * 1000 : null,
    via,
    derived: [],
    revoked: null,
    narrowed: false,
    version: 0,
  });
  for (const id of via) {
    const parent = c.t.edit(c.t.grants, id);
    if (parent !== undefined) parent.derived = c.t.push(parent.derived, e.env.id);
  }
}

/** Returns the grants that may have given the granter these capabilities. */
function held(c: Ctx, e: Logged, given: readonly Capability[]): readonly ID[] {
  const found: ID[] = [];
  for (const g of c.t.grants.values()) {
    const ran = g.expiresAt === null || g.expiresAt > e.at;
    if (g.recipient === e.env.from && g.revoked === null && ran && given.some((x) => g.capabilities.some((y) => covers(y, x)))) found.push(g.id);
  }
  return found.slice(-MAX_VIA);
}

/** Reports whether a held capability may include a granted one, by kind only. */
export function covers(held: Capability, given: Capability): boolean {
  const wide = kindIn(held);
  const narrow = kindIn(given);
  if (wide === "*" || wide === narrow) return true;
  if (wide === "reasoning.step") return /^reasoning\.(?!start$|conclusion$|cancel$)/.test(narrow);
  return wide.endsWith("*") && !wide.startsWith("!") && narrow.startsWith(wide.slice(0, -1));
}

function kindIn(x: Capability): string {
  return (typeof x === "string" ? x : x.kind).replace("/", ".");
}

/** Handles capability.revoke: of a grant with all that derive from it, or of capabilities. */
export function revoke(c: Ctx, e: Logged): void {
  const p = e.env.payload;
  const recipient = str(field(p, "recipient"));
  const id = str(field(p, "grant_id"));
  if (id !== "") {
    if (c.t.grants.get(id)?.recipient === recipient) end(c, e, id, new Set());
    return;
  }
  const taken = capabilities(field(p, "capabilities")).map(look);
  for (const g of c.t.grants.values()) {
    if (g.recipient !== recipient || g.revoked !== null) continue;
    const left = g.capabilities.filter((x) => !taken.includes(look(x)));
    if (left.length === g.capabilities.length) continue;
    if (left.length === 0) end(c, e, g.id, new Set());
    else Object.assign(c.t.edit(c.t.grants, g.id) as Grant, { narrowed: true, capabilities: left });
  }
}

function end(c: Ctx, e: Logged, id: ID, seen: Set<ID>): void {
  const g = c.t.grants.get(id);
  if (g === undefined || g.revoked !== null || seen.has(id)) return;
  seen.add(id);
  const edited = c.t.edit(c.t.grants, id);
  if (edited !== undefined) edited.revoked = closing(e);
  for (const next of g.derived) if (orphaned(c, next)) end(c, e, next, seen);
}

/** Reports whether a grant has no source left. */
function orphaned(c: Ctx, id: ID): boolean {
  return (c.t.grants.get(id)?.via ?? []).every((x) => (c.t.grants.get(x)?.revoked ?? null) !== null);
}

/** Reports whether a grant is in effect at a time of the server's clock. */
export function inForce(g: Grant, now: number): boolean {
  return g.revoked === null && (g.expiresAt === null || now < g.expiresAt);
}
