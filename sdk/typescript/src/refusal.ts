/** The text of a rejection. */

import type { Refusal } from "./types.js";

/** Returns the text of the gateway, or the code without one. */
export function plain(r: Refusal): string {
  return typeof r.message === "string" && r.message !== "" ? r.message : r.error;
}
