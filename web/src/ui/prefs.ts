/** State stored in the browser. Never a token, and never text of other participants. */

import type { Storage } from "../core/outbox.js";
import { Toggles } from "../core/toggle.js";

const REASONING = "meup.reasoning";
const SPACE = "meup.space";
const PANEL = "meup.panel";

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
  try {
    toggles.restore(JSON.parse(local.getItem(REASONING) ?? "null"));
  } catch {
    // invalid data is ignored
  }
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

/** Clears this tab's data on sign-out. */
export function forget(): void {
  try {
    sessionStorage.clear();
  } catch {
    // a blocked storage holds nothing
  }
  local.removeItem(SPACE);
}
