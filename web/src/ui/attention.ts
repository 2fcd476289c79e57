/** The title of the page, with the number of proposals and questions that wait for the user, and notifications while the page is hidden. */

import { field, obj, oneLine, str } from "@sdk/read.js";
import type { ID } from "@sdk/types.js";
import { neutral } from "../core/unicode.js";
import { authorText } from "./author.js";
import { mayDecide } from "./panel.js";
import { notifies } from "./prefs.js";
import type { SpaceShell } from "./shell.js";
import { who } from "./text.js";

export class Attention {
  private known: ReadonlySet<ID> | null = null;
  private head = 0;

  constructor(private readonly shell: SpaceShell) {}

  /** Updates the title, and notifies about news since the last call. */
  update(): void {
    const { shell } = this;
    const s = shell.state;
    const asked = [...s.elicitations.values()].filter((q) => q.to === shell.you).map((q) => q.id);
    const waiting = [...s.pending.filter((id) => mayDecide(shell, id)), ...asked];
    const title = `${waiting.length > 0 ? `(${waiting.length}) ` : ""}${who(shell.space)} · meup`;
    if (document.title !== title) document.title = title;
    if (!shell.room.live) return;
    const known = this.known;
    this.known = new Set([...s.pending, ...asked]);
    const since = this.head;
    this.head = s.head;
    if (known === null || document.visibilityState === "visible" || !notifies()) return;
    for (const id of waiting) if (!known.has(id)) this.waits(id);
    this.mentions(since);
  }

  private waits(id: ID): void {
    const p = this.shell.state.proposals.get(id);
    if (p !== undefined) this.notify(id, `${authorText(p.from)} waits for your approval`, who(p.tool));
    const q = this.shell.state.elicitations.get(id);
    if (q !== undefined) this.notify(id, `${authorText(q.from)} asks you`, oneLine(neutral(str(field(obj(q.params), "message"))), 160));
  }

  /** Notifies about new messages to the user alone. */
  private mentions(since: number): void {
    const { state, you } = this.shell;
    for (let i = state.timeline.length - 1; i >= 0; i--) {
      const item = state.timeline[i];
      if (item === undefined || item.seq <= since) return;
      const m = item.type === "message" ? state.messages.get(item.key) : undefined;
      if (m === undefined || m.from === you || m.growing) continue;
      const question = m.replyTo === null ? undefined : state.messages.get(m.replyTo);
      if (m.to.includes(you) || question?.from === you) this.notify(m.id, authorText(m.from), oneLine(neutral(m.text), 160));
    }
  }

  private notify(id: ID, title: string, body: string): void {
    try {
      const n = new Notification(title, { body, tag: `${this.shell.space} ${id}` });
      n.onclick = (): void => {
        window.focus();
        n.close();
        void this.shell.goTo(id);
      };
    } catch {
      // a browser that shows notifications only from service workers
    }
  }
}
