/** Detects messages that no agent answers: they begin with a mention of a participant that is not connected. */

import { leadingMention, mentions } from "@sdk/addressing.js";
import type { SpaceState } from "./state.js";

/** Returns a warning if a message to all begins with a mention of a participant that is not connected; "" otherwise. */
export function unanswered(s: SpaceState, text: string): string {
  const name = leadingMention(text);
  const isNamed = (id: string): boolean => id.toLowerCase() === name.toLowerCase();
  const all = [...s.participants.values()];
  if (name === "" || all.some((p) => p.present && isNamed(p.id))) return "";
  const others = all.filter((p) => p.present && p.id !== s.you?.id);
  const asked = mentions(text, others.flatMap((p) => (p.agent ? [p.id.toLowerCase()] : [])));
  const absent = `No participant @${name} is connected${asked ? "" : ", and nobody was asked"}`;
  const near = closest(name, others.map((p) => p.id));
  if (near !== "") return `${absent}. Did you mean @${near}?`;
  const known = all.find((p) => isNamed(p.id));
  return known === undefined ? `${absent}.` : `${absent}. A message “Only to ${known.id}” reaches it when it connects.`;
}

/** The longest name with a similar one. */
const MAX_NAME = 64;

/** Returns the most similar choice; "" if none is similar: a third of the characters may differ. */
function closest(name: string, choices: readonly string[]): string {
  let best = "";
  let distance = 1 + Math.max(1, Math.floor(name.length / 3));
  for (const c of choices) {
    if (Math.max(c.length, name.length) > MAX_NAME) continue;
    const d = editDistance(name.toLowerCase(), c.toLowerCase());
    if (d < distance) [best, distance] = [c, d];
  }
  return best;
}

/** Counts the insertions, deletions, replacements and swaps of adjacent characters that turn one word into the other. */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      let d = Math.min((above[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (above[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) d = Math.min(d, (before[j - 2] ?? 0) + 1);
      row.push(d);
    }
    [before, above] = [above, row];
  }
  return above[b.length] ?? 0;
}
