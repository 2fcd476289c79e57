/** Completion of names after "@". */

import type { Participant } from "../core/state.js";
import type { ParticipantID } from "@sdk/types.js";

/** Maximum number of candidates. */
const MAX = 8;

/** Returns the word after the "@" before the caret and the offset of the "@"; null if there is none. */
export function mentionAt(text: string, caret: number): { readonly at: number; readonly word: string } | null {
  const m = /(?:^|[\s(])@([A-Za-z0-9._:-]*)$/.exec(text.slice(0, caret));
  if (m === null) return null;
  const word = m[1] ?? "";
  return { at: caret - word.length - 1, word };
}

/** Returns the participants whose names match, connected ones first. */
export function candidates(all: Iterable<Participant>, you: ParticipantID, word: string): readonly Participant[] {
  const w = word.toLowerCase();
  const rank = (p: Participant): number => (p.present ? 0 : 2) + (p.id.toLowerCase().startsWith(w) ? 0 : 1);
  return [...all]
    .filter((p) => p.id !== you && !p.kicked && p.id.toLowerCase().includes(w))
    .sort((a, b) => rank(a) - rank(b) || a.id.localeCompare(b.id))
    .slice(0, MAX);
}

/** Returns the participants that a text mentions with "@". */
export function mentioned(text: string, all: ReadonlyMap<ParticipantID, Participant>): readonly ParticipantID[] {
  const found = new Set<ParticipantID>();
  for (const m of text.matchAll(/(?:^|[\s(])@([A-Za-z0-9._:-]+)/g)) {
    const word = m[1] ?? "";
    const id = [word, word.replace(/[.:,-]+$/, "")].find((x) => all.has(x));
    if (id !== undefined) found.add(id);
  }
  return [...found];
}
