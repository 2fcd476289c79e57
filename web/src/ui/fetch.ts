/** Requests that core/api.ts has no function for. */

import { parse } from "@sdk/json.js";
import { obj, str } from "@sdk/read.js";

/** The longest wait for a response, milliseconds. */
const PATIENCE = 20_000;

/** Returns the parsed JSON, or the text of any other type; with a body, of a POST. Rejects with an Error whose message is a sentence for the user. */
export async function fetchAny(path: string, patience = PATIENCE, body?: string): Promise<unknown> {
  let response: Response;
  let text: string;
  try {
    response = await fetch(path, { ...(body !== undefined && { method: "POST", body }), credentials: "same-origin", cache: "no-store", signal: AbortSignal.timeout(patience) });
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
  const { message, detail } = obj(value);
  throw new Error([str(message), str(detail)].filter((x) => x !== "").join("\n") || `The gateway responded with ${response.status}.`);
}
