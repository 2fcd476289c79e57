/** Scrolls to a place in the conversation: moves the window, opens the enclosing blocks and highlights the target. */

import { correlations } from "@sdk/read.js";
import type { Conversation } from "./conversation.js";
import type { SpaceShell } from "./shell.js";
import type { Row } from "./rows.js";

/** Maximum number of correlations followed to find the row of an envelope. */
const MAX = 8;

/** Scrolls to a message, a context or an envelope. Returns false if it has no row or is hidden. */
export async function scrollToPlace(shell: SpaceShell, conversation: Conversation, place: string): Promise<boolean> {
  const found = find(shell, place);
  if (found === null) return false;
  const row = conversation.findRow((r) => matches(r, found));
  if (row === undefined || !(await conversation.showRow(row.key))) {
    shell.toast("Hidden by a filter");
    return false;
  }
  shell.openBlocks(found.open);
  await frames(3);
  const target = element(conversation, found, row);
  if (target === null) return false;
  target.scrollIntoView({ block: "center" });
  await frames(2); // rows with an estimated height have been measured now
  target.scrollIntoView({ block: "center" });
  flash(target);
  return true;
}

interface Found {
  /** A message, proposal, call or notice; "" inside a context. */
  readonly id: string;
  /** The outermost context; "" for none. */
  readonly root: string;
  readonly open: readonly string[];
  /** The key of the step; "" for none. */
  readonly step: string;
}

/** Locates a place; null if it is not loaded. */
function find(shell: SpaceShell, place: string): Found | null {
  const s = shell.shown;
  if (s.messages.has(place)) return { id: place, root: "", open: [], step: "" };
  if (s.blocks.has(place)) return inContext(place, "");
  let id = place;
  for (let i = 0; i < MAX; i++) {
    const e = shell.room.space.envelope(id);
    if (e === undefined) return null;
    if (e.kind === "reasoning.start") return inContext(e.context === undefined ? e.id : `${e.context}/${e.id}`, "");
    if (e.context !== undefined) return inContext(e.context, stepOf(shell, e.context, e.id));
    if (s.messages.has(id) || s.proposals.has(id) || s.calls.has(id) || s.notices.has(id)) return { id, root: "", open: [], step: "" };
    id = correlations(e)[0] ?? "";
  }
  return null;
}

/** Returns the key of the step that shows an envelope. */
function stepOf(shell: SpaceShell, path: string, id: string): string {
  const steps = shell.shown.blocks.get(path)?.steps ?? [];
  return steps.find((s) => s.key === id || (s.type === "call" && [s.call.id, s.call.responseId, s.call.rationaleId].includes(id)) || ("id" in s && s.id === id))?.key ?? id;
}

function inContext(path: string, step: string): Found {
  const segments = path.split("/");
  const open = segments.map((_, i) => segments.slice(0, i + 1).join("/"));
  return { id: "", root: segments[0] ?? "", open: step === "" ? open.slice(0, -1) : open, step };
}

function matches(r: Row, f: Found): boolean {
  return f.root === "" ? ["m", "p", "c", "n"].some((t) => r.key === `${t} ${f.id}`) : r.key === `b ${f.root}`;
}

function element(conversation: Element, f: Found, row: Row): Element | null {
  if (f.root === "") {
    const id = row.key.slice(2);
    return conversation.querySelector(`[data-id="${CSS.escape(id)}"]`);
  }
  const deepest = f.open.at(-1) ?? f.root;
  const step = f.step === "" ? null : conversation.querySelector(`[data-step="${CSS.escape(f.step)}"]`);
  return step ?? conversation.querySelector(`[data-context="${CSS.escape(deepest)}"]`) ?? conversation.querySelector(`[data-context="${CSS.escape(f.root)}"]`);
}

function flash(target: Element): void {
  target.classList.remove("flash");
  void (target as HTMLElement).offsetWidth;
  target.classList.add("flash");
  target.addEventListener("animationend", () => target.classList.remove("flash"), { once: true });
}

/** Waits until the page was drawn so many times. */
export async function frames(n: number): Promise<void> {
  for (let i = 0; i < n; i++) await new Promise((done) => requestAnimationFrame(done));
}
