/** State stored in the browser. Never a token, and never text of other participants. */

import type { Storage } from "@sdk/outbox.js";
import { Names, ReadState } from "../core/reads.js";
import { Toggles } from "../core/toggle.js";

const REASONING = "meup.reasoning";
const SPACE = "meup.space";
const PANEL = "meup.panel";
const READ = "meup.read ";
const NAMES = "meup.names ";
const LIST = "meup.list";
const THEME = "meup.theme";
const WIDTH = "meup.width ";
const NOTIFY = "meup.notify";

/** A storage that may be blocked or full. */
class SafeStorage implements Storage {
  constructor(private readonly open: () => globalThis.Storage) {}

  getItem(key: string): string | null {
    try {
      return this.open().getItem(key);
    } catch {
      return null;
    }
  }

  setItem(key: string, value: string): void {
    this.open().setItem(key, value); // throws: the outbox must learn that nothing was stored
  }

  removeItem(key: string): void {
    try {
      this.open().removeItem(key);
    } catch {
      // a blocked storage holds nothing
    }
  }

  keys(): readonly string[] {
    try {
      return Object.keys(this.open());
    } catch {
      return [];
    }
  }

  put(key: string, value: string): void {
    try {
      this.setItem(key, value);
    } catch {
      // not stored: lost with the page
    }
  }
}

const local = new SafeStorage(() => localStorage);
const session = new SafeStorage(() => sessionStorage);

/** Storage for the outbox and for drafts, per tab. */
export function sessionStore(): Storage {
  return session;
}

/** The unsent text of a space; survives a reload. */
export function draft(space: string): string {
  return session.getItem(`meup.draft ${space}`) ?? "";
}

export function keepDraft(space: string, text: string): void {
  if (text === "") session.removeItem(`meup.draft ${space}`);
  else session.put(`meup.draft ${space}`, text);
}

/** Loads the open blocks and the preference for all others. */
export function loadToggles(): Toggles {
  const toggles = new Toggles();
  toggles.restore(json(REASONING));
  return toggles;
}

export function keepToggles(toggles: Toggles): void {
  const saved = toggles.save();
  local.put(REASONING, JSON.stringify({ ...saved, choices: saved.choices.slice(-500) }));
}

/** The last open space and panel. */
export const lastSpace = (): string => local.getItem(SPACE) ?? "";
export const keepSpace = (name: string): void => local.put(SPACE, name);
export const lastPanel = (): string => local.getItem(PANEL) ?? "";
export const keepPanel = (id: string): void => local.put(PANEL, id);

/** Loads where a participant has read up to in a space. */
export function loadReads(space: string, you: string): ReadState {
  return new ReadState(json(`${READ}${space} ${you}`));
}

export function keepReads(space: string, you: string, reads: ReadState): void {
  local.put(`${READ}${space} ${you}`, JSON.stringify(reads.save()));
}

/** Loads the names of conversations in a space. */
export function loadNames(space: string): Names {
  return new Names(json(`${NAMES}${space}`));
}

export function keepNames(space: string, names: Names): void {
  local.put(`${NAMES}${space}`, JSON.stringify(names.save()));
}

/** Whether the list of conversations is shown beside a wide page. */
export const listShown = (): boolean => local.getItem(LIST) !== "hidden";
export const keepListShown = (shown: boolean): void => local.put(LIST, shown ? "" : "hidden");

/** The theme: the system's, or a chosen one. */
export type Theme = "system" | "light" | "dark";

export function theme(): Theme {
  const v = local.getItem(THEME);
  return v === "light" || v === "dark" ? v : "system";
}

/** Applies a theme, and keeps it. */
export function setTheme(v: Theme): void {
  local.put(THEME, v);
  applyTheme();
}

export function applyTheme(): void {
  document.documentElement.dataset["theme"] = theme();
}

/** A column whose width the user may change. */
export type Column = "list" | "panel" | "trace";
const COLUMNS: readonly Column[] = ["list", "panel", "trace"];

/** Sets and keeps the width of a column in CSS pixels; null: the usual one. */
export function setWidth(column: Column, width: number | null): void {
  if (width === null) local.removeItem(WIDTH + column);
  else local.put(WIDTH + column, String(width));
  applyWidths();
}

export function applyWidths(): void {
  for (const column of COLUMNS) {
    const width = Number(local.getItem(WIDTH + column));
    if (width > 0) document.documentElement.style.setProperty(`--${column}-width`, `${width}px`);
    else document.documentElement.style.removeProperty(`--${column}-width`);
  }
}

/** Whether the user wants notifications, and the browser shows them. */
export const notifies = (): boolean => local.getItem(NOTIFY) === "yes" && "Notification" in window && Notification.permission === "granted";

/** Turns notifications on, with the browser's permission, or off. Returns whether they are on. */
export async function setNotifies(on: boolean): Promise<boolean> {
  const granted = on && "Notification" in window && (await Notification.requestPermission()) === "granted";
  local.put(NOTIFY, granted ? "yes" : "");
  return granted;
}

function json(key: string): unknown {
  try {
    return JSON.parse(local.getItem(key) ?? "null");
  } catch {
    return null; // invalid data is ignored
  }
}

/** Clears this tab's data on sign-out. */
export function forget(): void {
  try {
    sessionStorage.clear();
  } catch {
    // a blocked storage holds nothing
  }
  local.removeItem(SPACE);
  for (const key of local.keys()) if (key.startsWith(READ) || key.startsWith(NAMES)) local.removeItem(key);
}
