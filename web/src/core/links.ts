/**
 * URLs within the page: `#/space/lab`, `…/m/ID` for an envelope, `…/c/PATH` for a context, `…/t/ID` for a
 * conversation, `…/t/+` for a new one. `?panel=trace&id=ID` after each of them opens a panel with its parameters.
 */

import { contextPath } from "@sdk/read.js";
import type { ContextPath, ID } from "@sdk/types.js";

export type Link =
  | { readonly type: "space"; readonly space: string }
  | { readonly type: "message"; readonly space: string; readonly id: ID }
  | { readonly type: "thread"; readonly space: string; readonly id: ID }
  | { readonly type: "context"; readonly space: string; readonly path: ContextPath };

/** A panel with its parameters. */
export interface OpenPanel {
  readonly panel: string;
  readonly params: Readonly<Record<string, string>>;
}

/** The id of the conversation that the next message begins; not the id of an envelope. */
export const NEW_THREAD: ID = "+";

const ID_FORM = /^[A-Za-z0-9._:-]{1,128}$/;

/** Returns the fragment of a link, with the open panel, if any. */
export function format(link: Link, open: OpenPanel | null = null): string {
  const query = open === null ? "" : `?${new URLSearchParams({ panel: open.panel, ...open.params }).toString()}`;
  return `#/space/${encodeURIComponent(link.space)}${place(link)}${query}`;
}

function place(link: Link): string {
  switch (link.type) {
    case "space":
      return "";
    case "message":
      return `/m/${encodeURIComponent(link.id)}`;
    case "thread":
      return `/t/${encodeURIComponent(link.id)}`;
    case "context":
      return `/c/${link.path.split("/").map(encodeURIComponent).join("/")}`;
  }
}

/** Maximum number of parameters of a panel, and maximum length of one. */
const MAX_PARAMS = 8;
const MAX_PARAM = 1000;

/** Returns the panel of a fragment; null if it has none. */
export function panelOf(fragment: string): OpenPanel | null {
  const [, query = ""] = fragment.split("?", 2);
  const all = new URLSearchParams(query);
  const panel = all.get("panel") ?? "";
  if (panel === "") return null;
  const params = [...all].filter(([k, v]) => k !== "panel" && /^[a-z]{1,16}$/.test(k) && v !== "" && v.length <= MAX_PARAM);
  return { panel, params: Object.fromEntries(params.slice(0, MAX_PARAMS)) };
}

/** Reports whether two fragments are of one place, whatever panels they open. */
export function samePlace(a: string, b: string): boolean {
  const [x, y] = [parse(a), parse(b)];
  return x !== null && y !== null && format(x) === format(y);
}

/** Parses a fragment; null if it is not a link of this page. */
export function parse(fragment: string): Link | null {
  const parts = fragment.replace(/^#|\?.*$/gs, "").split("/").map(decode);
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
