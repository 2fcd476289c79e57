/** Feedback: what participants think of answers, steps and calls. */

import { field, str } from "@sdk/read.js";
import type { Ctx, Logged } from "./context.js";

/** Handles a feedback: of several by one participant about one envelope, the last one counts. */
export function rate(c: Ctx, e: Logged): void {
  const value = str(field(e.env.payload, "value"));
  for (const about of e.references) {
    const given = (c.t.feedback.get(about)?.given ?? []).filter((x) => x.from !== e.env.from);
    if (value === "up" || value === "down") given.push({ id: e.env.id, from: e.env.from, at: e.at, value, note: str(field(e.env.payload, "note")).trim() });
    c.t.add(c.t.feedback, about, { about, given, version: 0 });
  }
}
