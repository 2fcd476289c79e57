/** Formatting that several elements share. */

import { type TemplateResult, html } from "lit";
import { look } from "@sdk/json.js";
import { isObject, oneLine } from "@sdk/read.js";
import type { Millis } from "@sdk/types.js";
import { duration } from "../core/time.js";
import "./show-more.js";
import { plain, verbatim } from "./text.js";

/** Maximum size of a text before it is cut. */
const MAX = 6000;
const MAX_LINES = 80;

/** Renders a text; the rest of a very long one follows a button. */
export function longText(text: string, draw: (s: string) => unknown = plain): unknown {
  const cut = cutAt(text);
  if (cut >= text.length) return draw(text);
  return html`${draw(text.slice(0, cut))}… ${showMore(text.slice(cut), draw)}`;
}

/** The same for code. */
export function longCode(text: string): unknown {
  return longText(text, verbatim);
}

function cutAt(text: string): number {
  let at = -1;
  for (let lines = 0; lines < MAX_LINES; lines++) {
    at = text.indexOf("\n", at + 1);
    if (at < 0) break;
  }
  const byLines = at < 0 ? text.length : at;
  const byLength = text.length > MAX * 1.2 ? MAX : text.length;
  return Math.min(byLines, byLength);
}

/** The rest is rendered on request, so a long text costs nothing until then. */
function showMore(text: string, draw: (s: string) => unknown): TemplateResult {
  return html`<meup-rest .text=${text} .draw=${draw}></meup-rest>`;
}

/** "80% sure". */
export function percent(share: number): string {
  return `${Math.round(share * 100)}% sure`;
}

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const WHOLE = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "medium" });
const DAY = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });
const DAY_AND_YEAR = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long", year: "numeric" });

/** "14:03". */
export function clock(at: Millis): string {
  return at === 0 ? "" : CLOCK.format(at);
}

/** Date and time with seconds. */
export function moment(at: Millis): string {
  return at === 0 ? "" : WHOLE.format(at);
}

const SHORT_DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const SHORT_YEAR = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });

/** The time of a moment of today, the day of an earlier one. */
export function shortMoment(at: Millis, now: Millis): string {
  if (at === 0 || dayName(at, now) === "Today") return clock(at);
  return (new Date(at).getFullYear() === new Date(now).getFullYear() ? SHORT_DAY : SHORT_YEAR).format(at);
}

/** "Expires in 9m", with the seconds of the last two minutes; the day if that is not within a day. */
export function expiry(at: Millis, now: Millis): string {
  const seconds = Math.max(0, Math.floor((at - now) / 1000));
  if (seconds >= 86_400) return `Expires ${shortMoment(at, now)}`;
  return `Expires in ${duration(seconds < 120 ? seconds : seconds - (seconds % 60))}`;
}

/** "Today", "Yesterday", or the date. */
export function dayName(at: Millis, now: Millis): string {
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  if (at >= midnight && at < midnight + 86_400_000) return "Today";
  if (at < midnight && at >= midnight - 86_400_000) return "Yesterday";
  return (new Date(at).getFullYear() === new Date(now).getFullYear() ? DAY : DAY_AND_YEAR).format(at);
}

/** The arguments on one line. */
export function argsLine(args: unknown, most = 90): string {
  if (!isObject(args)) return args === undefined ? "" : verbatim(oneLine(look(args), most));
  const parts = Object.entries(args).map(([k, v]) => `${k}: ${typeof v === "string" ? v : look(v)}`);
  return verbatim(oneLine(parts.join(", "), most));
}
