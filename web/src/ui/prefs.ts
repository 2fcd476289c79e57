/** What the page remembers in the browser. Never a token, and nothing that others wrote. */

import type { Storage } from "../core/outbox.js";
import { Toggles } from "../core/toggle.js";

const REASONING = "meup.reasoning";
const SPACE = "meup.space";
const PANEL = "meup.panel";

/** A storage that may be forbidden, or full. */
class Careful implements Storage {
  constructor(private readonly open: () => globalThis.Storage) {}

  getItem(key: string): string | null {
    try {
      return this.open().getItem(key);
    } catch {
      return null;
    }
  }

  setItem(key: string, value: string): void {
    this.open().setItem(key, value); // whoever keeps drafts wants to know
  }

  removeItem(key: string): void {
    try {
      this.open().removeItem(key);
    } catch {
      // there is nothing to be removed then
    }
  }

  put(key: string, value: string): void {
    try {
      this.setItem(key, value);
    } catch {
      // it is forgotten with the page
    }
  }
}

const local = new Careful(() => localStorage);
const session = new Careful(() => sessionStorage);

/** For the outbox and for drafts: it goes with the tab. */
export function sessionStore(): Storage {
  return session;
}

/** What is being written in a space, over a reload. */
export function draft(space: string): string {
  return session.getItem(`meup.draft ${space}`) ?? "";
}

export function keepDraft(space: string, text: string): void {
  if (text === "") session.removeItem(`meup.draft ${space}`);
  else session.put(`meup.draft ${space}`, text);
}

/** Which blocks are open, and what one wants of all others. */
export function loadToggles(): Toggles {
  const toggles = new Toggles();
  try {
    toggles.restore(JSON.parse(local.getItem(REASONING) ?? "null"));
  } catch {
    // somebody else wrote that
  }
  return toggles;
}

export function keepToggles(toggles: Toggles): void {
  const saved = toggles.save();
  local.put(REASONING, JSON.stringify({ ...saved, choices: saved.choices.slice(-500) }));
}

/** The space and the panel of last time. */
export const lastSpace = (): string => local.getItem(SPACE) ?? "";
export const keepSpace = (name: string): void => local.put(SPACE, name);
export const lastPanel = (): string => local.getItem(PANEL) ?? "";
export const keepPanel = (id: string): void => local.put(PANEL, id);

/** Signing out: nothing of it stays in this tab. */
export function forget(): void {
  try {
    sessionStorage.clear();
  } catch {
    // there is nothing then
  }
  local.removeItem(SPACE);
}
