/** Up to where the user has read, and names that the user gave to conversations. Both are of this browser alone. */

import { isObject } from "@sdk/read.js";
import type { Reads } from "./threads.js";
import type { ID } from "@sdk/types.js";

/** Maximum number of conversations with an own position, and of names. */
const MAX = 300;

export class ReadState implements Reads {
  /** Increases with each change. */
  version = 0;
  private read = 0;
  private readonly positions = new Map<ID, number>();

  /** -1 before the first visit of the space. */
  constructor(saved: unknown) {
    const v = isObject(saved) ? saved : {};
    this.read = typeof v["all"] === "number" ? v["all"] : -1;
    const list = Array.isArray(v["threads"]) ? v["threads"] : [];
    for (const x of list.slice(-MAX)) if (Array.isArray(x) && typeof x[0] === "string" && typeof x[1] === "number") this.positions.set(x[0], x[1]);
  }

  get all(): number {
    return this.read;
  }

  get threads(): ReadonlyMap<ID, number> {
    return this.positions;
  }

  /** Records that everything up to a position was read, in a conversation or ("") in all. Reports a change. */
  mark(thread: ID, seq: number): boolean {
    if (seq <= Math.max(this.read, this.positions.get(thread) ?? 0)) return false;
    this.version++;
    if (thread === "") {
      this.read = seq;
      for (const [id, at] of this.positions) if (at <= seq) this.positions.delete(id);
      return true;
    }
    this.positions.delete(thread);
    this.positions.set(thread, seq);
    if (this.positions.size > MAX) this.positions.delete(this.positions.keys().next().value as ID);
    return true;
  }

  save(): unknown {
    return { all: this.read, threads: [...this.positions] };
  }
}

/** Names that the user gave to conversations, the newest last. */
export class Names {
  private readonly names = new Map<ID, string>();

  constructor(saved: unknown) {
    const list = Array.isArray(saved) ? saved : [];
    for (const x of list) if (Array.isArray(x) && typeof x[0] === "string" && typeof x[1] === "string") this.set(x[0], x[1]);
  }

  get(id: ID): string {
    return this.names.get(id) ?? "";
  }

  /** "" removes the name. */
  set(id: ID, name: string): void {
    this.names.delete(id);
    if (name.trim() !== "") this.names.set(id, name.trim().slice(0, 120));
    if (this.names.size > MAX) this.names.delete(this.names.keys().next().value as ID);
  }

  save(): unknown {
    return [...this.names];
  }
}
