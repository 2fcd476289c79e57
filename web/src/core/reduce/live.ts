/**
 * State of a space that is not in its log: presence, live stream text,
 * rejections. It is not replayed, so it outlives the reducers that are created
 * when older pages are loaded.
 */

import type { Participant, RefusalNote } from "../state.js";
import type { Capability, ID, Limits, ParticipantID } from "@sdk/types.js";

/** Bounds: characters of one stream, streams, rejections. */
const MAX_TEXT = 256 * 1024;
const MAX_STREAMS = 256;
const MAX_REFUSALS = 50;
const MAX_HELD = 4096;

/** What the gateway says of a participant. */
export type Known = Pick<Participant, "capabilities" | "knownAt" | "description">;

export class Live {
  you: { readonly id: ParticipantID; readonly capabilities: readonly Capability[]; readonly limits: Limits } | null = null;
  space = "";
  /** Null until the first welcome; until then no participant counts as gone. */
  roster: Map<ParticipantID, Known> | null = null;
  refusals: readonly RefusalNote[] = [];
  gap = "";
  private readonly held = new Map<ParticipantID, Known>();
  /** The head of the log when a participant's absence was noticed; -1: not at all. */
  private readonly absent = new Map<ParticipantID, number>();
  private absentByDefault = 0;
  /** Proposals that others have decided, as rejections of own decisions show, with the deciding participant. */
  readonly settled = new Map<ID, ParticipantID>();
  private readonly texts = new Map<ID, string>();

  /** Applies the participant list of a welcome. */
  welcome(present: Iterable<readonly [ParticipantID, Known]>, head: number): void {
    const before = this.roster;
    this.roster = new Map(present);
    for (const [id, known] of this.roster) this.remember(id, known);
    if (before === null) {
      this.absentByDefault = head;
      return;
    }
    for (const id of before.keys()) if (!this.roster.has(id)) this.absent.set(id, head);
    for (const id of this.roster.keys()) this.absent.delete(id);
  }

  join(id: ParticipantID, known: Known): void {
    this.roster?.set(id, known);
    this.remember(id, known);
    this.absent.delete(id);
  }

  leave(id: ParticipantID, head: number): void {
    if (this.roster?.delete(id)) this.absent.set(id, head);
  }

  /**
   * Records that a participant that was never connected sends live data: it only
   * uses HTTP, and is not gone. The rest of a stream may arrive after its writer has
   * left, so it does not count. Returns true for the first data.
   */
  streams(id: ParticipantID): boolean {
    if (this.roster === null || this.roster.has(id) || this.absent.has(id)) return false;
    this.absent.set(id, -1);
    return true;
  }

  private remember(id: ParticipantID, known: Known): void {
    if (this.held.size >= MAX_HELD && !this.held.has(id)) this.held.delete(this.held.keys().next().value as ParticipantID);
    this.held.set(id, known);
  }

  /** Returns what is known of a participant now, or was last. */
  known(id: ParticipantID): Known {
    return this.held.get(id) ?? { capabilities: [], knownAt: 0, description: "" };
  }

  present(id: ParticipantID): boolean {
    return this.roster?.has(id) ?? false;
  }

  /**
   * Reports whether a participant is gone: it is not connected, and has sent
   * nothing since its absence was noticed. A participant that only uses HTTP is
   * never connected.
   */
  gone(id: ParticipantID, heard: number): boolean {
    if (this.roster === null || this.roster.has(id)) return false;
    return heard <= (this.absent.get(id) ?? this.absentByDefault);
  }

  /** Returns the text of a stream so far. */
  text(stream: ID): string {
    return this.texts.get(stream) ?? "";
  }

  /** Appends to a stream. Text above the bound is dropped; the complete message follows anyway. */
  grow(stream: ID, data: string): boolean {
    const before = this.text(stream);
    if (data === "" || before.length + data.length > MAX_TEXT) return false;
    if (before === "" && this.texts.size >= MAX_STREAMS) {
      const [oldest] = this.texts.keys();
      if (oldest !== undefined) this.texts.delete(oldest);
    }
    this.texts.set(stream, before + data);
    return true;
  }

  /** Drops the text of a stream, since the complete message has arrived. */
  settle(stream: ID): void {
    this.texts.delete(stream);
  }

  /** Records the participant that decided a proposal. */
  decided(proposal: ID, by: ParticipantID): void {
    if (this.settled.size >= MAX_HELD) this.settled.delete(this.settled.keys().next().value as ID);
    this.settled.set(proposal, by);
  }

  refuse(note: RefusalNote): void {
    this.refusals = [...this.refusals.slice(1 - MAX_REFUSALS), note];
  }
}
