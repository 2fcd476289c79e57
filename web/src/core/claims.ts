/** What participants say that they work on, so that nobody else does. */

import { arr, field, obj, str } from "@sdk/read.js";
import { parseTime } from "./time.js";
import type { ID, Millis, ParticipantID } from "@sdk/types.js";

/** What is left of one claim. */
export interface Claim {
  /** Of its envelope. */
  readonly id: ID;
  readonly by: ParticipantID;
  readonly paths: readonly string[];
  readonly names: readonly string[];
  readonly at: Millis;
  readonly expiresAt: Millis;
  readonly reason: string;
}

/** The maximum number of paths and names: that of a space. */
const MAX = 4096;

/** Reads the response of the gateway, which has the paths and names one by one. The claims that end first are first. */
export function readClaims(v: unknown): readonly Claim[] {
  const claims = new Map<ID, Claim & { readonly paths: string[]; readonly names: string[] }>();
  for (const x of arr(field(obj(v), "claims")).slice(0, MAX)) {
    const text = (name: string): string => str(field(obj(x), name));
    const c = claims.get(text("id")) ?? { id: text("id"), by: text("by"), paths: [], names: [], at: parseTime(text("at")), expiresAt: parseTime(text("expires_at")), reason: text("reason") };
    if (text("path") !== "") c.paths.push(text("path"));
    if (text("name") !== "") c.names.push(text("name"));
    claims.set(c.id, c);
  }
  return [...claims.values()].sort((a, b) => a.expiresAt - b.expiresAt);
}
