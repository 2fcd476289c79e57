/** URLs within the page: `#/space/lab`, `…/m/ID` for an envelope, `…/c/PATH` for a context, `…/t/ID` for a conversation, `…/t/+` for a new one. */

import { contextPath } from "@sdk/read.js";
import type { ContextPath, ID } from "@sdk/types.js";

export type Link =
  | { readonly type: "space"; readonly space: string }
  | { readonly type: "message"; readonly space: string; readonly id: ID }
  | { readonly type: "thread"; readonly space: string; readonly id: ID }
  | { readonly type: "context"; readonly space: string; readonly path: ContextPath };

/** The id of the conversation that the next message begins; not the id of an envelope. */
export const NEW_THREAD: ID = "+";

const ID_FORM = /^[A-Za-z0-9._:-]{1,128}$/;

/** Returns the fragment of a link. */
export function format(link: Link): string {
  const base = `#/space/${encodeURIComponent(link.space)}`;
  switch (link.type) {
    case "space":
      return base;
    case "message":
      return `${base}/m/${encodeURIComponent(link.id)}`;
    case "thread":
      return `${base}/t/${encodeURIComponent(link.id)}`;
    case "context":
      return `${base}/c/${link.path.split("/").map(encodeURIComponent).join("/")}`;
  }
}

/** Parses a fragment; null if it is not a link of this page. */
export function parse(fragment: string): Link | null {
  const parts = fragment.replace(/^#/, "").split("/").map(decode);
  const [empty, word, space, type, ...rest] = parts;
  if (empty !== "" || word !== "space" || space === undefined || space === "" || space === null || parts.includes(null)) return null;
  if (type === undefined || (type === "" && rest.length === 0)) return { type: "space", space };
  if (type === "m" && rest.length === 1 && ID_FORM.test(rest[0] ?? "")) return { type: "message", space, id: rest[0] as ID };
  if (type === "t" && rest.length === 1 && (rest[0] === NEW_THREAD || ID_FORM.test(rest[0] ?? ""))) return { type: "thread", space, id: rest[0] as ID };
  if (type !== "c" || !rest.every((s) => s !== null && ID_FORM.test(s))) return null;
  const path = contextPath(rest.join("/"));
  return path === "" ? null : { type: "context", space, path };
}

function decode(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}
