/** Announcements for screen readers: reasoning that starts or ends, proposals and new messages. Streamed text is not announced. */

import { oneLine } from "@sdk/read.js";
import type { SpaceState } from "../core/state.js";
import { blockTitle } from "../core/time.js";
import { neutral } from "../core/unicode.js";
import type { ContextPath, ID } from "@sdk/types.js";
import { authorText } from "./author.js";
import { who } from "./text.js";

/** If more messages than this arrive at once, only their number is announced. */
const MAX = 3;

export class Announcer {
  private head = 0;
  private started = false;
  private readonly running = new Set<ContextPath>();
  private waiting: readonly ID[] = [];

  /** Returns the announcement for the changes since the last call. The initial state is not announced. */
  announce(s: SpaceState, live: boolean): string {
    const lines: string[] = [];
    const fresh = this.started && live;
    for (let i = s.timeline.length - 1; i >= 0; i--) {
      const item = s.timeline[i];
      if (item === undefined || item.seq <= this.head) break;
      if (item.type !== "message") continue;
      const m = s.messages.get(item.key);
      if (m !== undefined && m.from !== s.you?.id) lines.unshift(`${authorText(m.from)}: ${oneLine(neutral(m.text), 200)}`);
    }
    const reasoning = [...this.proposals(s), ...this.blocks(s)];
    this.head = s.head;
    if (live) this.started = true;
    if (!fresh) return "";
    if (lines.length > MAX) return `${lines.length} new messages`;
    return [...reasoning, ...lines].slice(0, 2 * MAX).map((x) => x.replace(/[.\s]+$/, "")).join(". ");
  }

  private proposals(s: SpaceState): string[] {
    const { waiting } = this;
    if (waiting === s.pending) return [];
    this.waiting = s.pending;
    return s.pending.filter((id) => !waiting.includes(id)).flatMap((id) => {
      const p = s.proposals.get(id);
      return p === undefined || p.from === s.you?.id ? [] : [`${authorText(p.from)} proposes ${who(p.tool)} and waits for approval`];
    });
  }

  private blocks(s: SpaceState): string[] {
    const lines: string[] = [];
    for (const path of s.roots) {
      const b = s.blocks.get(path);
      if (b === undefined) continue;
      if (b.status === "reasoning" && !this.running.has(path)) {
        this.running.add(path);
        lines.push(`${authorText(b.opener)} is reasoning`);
      } else if (b.status !== "reasoning" && this.running.delete(path)) {
        lines.push(`${authorText(b.opener)}: ${blockTitle(b, 0)}`);
      }
    }
    return lines;
  }
}
