/** Colors of participants: one of a few, always the same for a name. */

import type { ParticipantID } from "@sdk/types.js";

/** The hues, in degrees. */
export const HUES = [170, 250, 300, 345, 25, 70, 115, 215] as const;

/** Returns the number of a participant's color, by the FNV-1a hash of its name. */
export function hueOf(id: ParticipantID): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193) >>> 0;
  return ((hash ^ (hash >>> 15)) >>> 0) % HUES.length;
}
