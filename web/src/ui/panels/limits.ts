/** The user's limits as sentences. */

import { num } from "@sdk/read.js";
import { name } from "../../core/unicode.js";
import type { Limits } from "@sdk/types.js";
import { amount } from "./parts.js";

/** Returns one sentence per limit that is set. */
export function limitSentences(l: Limits): readonly string[] {
  const lines: string[] = [];
  const rate = num(l.rate);
  const burst = num(l.burst);
  if (rate !== null) lines.push(`${each(rate)}${burst === null ? "" : `, ${burst.toLocaleString()} at once`}.`);
  for (const k of Array.isArray(l.kinds) ? l.kinds.slice(0, 32) : []) {
    const n = num(k.rate);
    if (n !== null) lines.push(`Of ${name(String(k.kind))}: ${each(n).toLowerCase()}, ${(num(k.burst) ?? 0).toLocaleString()} at once.`);
  }
  const bytes = num(l.bytes_per_second);
  if (bytes !== null) lines.push(`${size(bytes)} a second.`);
  const message = num(l.message_bytes);
  if (message !== null) lines.push(`${size(message)} in one message.`);
  const connections = num(l.connections);
  if (connections !== null) lines.push(`${amount(connections, "connection")} at the same time.`);
  const open = num(l.open_contexts);
  if (open !== null) lines.push(`${amount(open, "open context")} at the same time.`);
  const depth = num(l.context_depth);
  if (depth !== null) lines.push(`Contexts nested up to ${depth} levels deep.`);
  return lines;
}

function each(rate: number): string {
  return rate >= 1 || rate <= 0 ? `${amount(rate, "envelope")} a second` : `An envelope every ${Math.round(1 / rate)} seconds`;
}

/** "64 KiB". */
export function size(bytes: number): string {
  if (bytes < 1024) return amount(bytes, "byte");
  const mega = bytes / (1024 * 1024);
  return mega >= 1 ? `${trim(mega)} MiB` : `${trim(bytes / 1024)} KiB`;
}

function trim(n: number): string {
  return n.toLocaleString(undefined, { maximumFractionDigits: 1 });
}
