/** Requests that core/api.ts has no function for. */

import { parse } from "@sdk/json.js";
import { field, obj, str } from "@sdk/read.js";

/** Returns the parsed JSON, or the text of any other type. Rejects with an Error whose message is a sentence for the user. */
export async function fetchAny(path: string): Promise<unknown> {
  let response: Response;
  let text: string;
  try {
    response = await fetch(path, { credentials: "same-origin", cache: "no-store", signal: AbortSignal.timeout(20_000) });
    text = await response.text();
  } catch {
    throw new Error("The gateway is unreachable.");
  }
  let value: unknown = text;
  if ((response.headers.get("Content-Type") ?? "").includes("json")) {
    try {
      value = parse(text);
    } catch {
      throw new Error("The response could not be read.");
    }
  }
  if (response.ok) return value;
  throw new Error(str(field(obj(value), "message")) || `The gateway responded with ${response.status}.`);
}
