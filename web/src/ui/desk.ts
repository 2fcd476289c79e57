/**
 * One space that is open, as the elements of the page see it: the room of the
 * core, and what is only on the screen (what is drawn of it, which blocks are
 * open, who wants which panel).
 */

import type { Api } from "../core/api.js";
import { format } from "../core/links.js";
import type { OutboxState } from "../core/outbox.js";
import { Room } from "../core/room.js";
import { refusal as inWords } from "../core/sentences.js";
import type { SpaceState } from "../core/state.js";
import type { Toggles } from "../core/toggle.js";
import type { ContextPath, Draft, Envelope, ID, Millis, ParticipantID } from "../core/types.js";
import { fetchAny } from "./fetch.js";
import { allows } from "./may.js";
import { type Desk, EVERYTHING, type PanelParams, type Sent, type View } from "./panel.js";
import { sessionStore } from "./prefs.js";

/** Pages of history that are loaded to find one thing. */
const MOST_PAGES = 40;

/** What the elements tell one another. */
export interface DeskEvents {
  open: { readonly panel: string; readonly params: PanelParams };
  mention: { readonly participant: ParticipantID };
  reply: { readonly to: ID };
  say: { readonly words: string };
  reveal: { readonly place: string };
  /** Something that was refused goes back into the composer. */
  edit: { readonly draft: Draft };
  /** A person has opened or closed something. */
  touched: object;
}

interface Waiting {
  readonly settle: (s: Sent) => void;
  /** A refusal stays in the talk until its author takes it away. */
  readonly stays: boolean;
}

export class SpaceDesk implements Desk {
  readonly room: Room;
  view: View = EVERYTHING;
  /** When the connection last said something, by performance.now. */
  heardAt = performance.now();

  private pastState: SpaceState | null = null;
  private pastNow: Millis = 0;
  private lastHeard: unknown = null;
  private readonly waiting = new Map<ID, Waiting>();
  private readonly readers = new Set<() => void>();
  private readonly listeners = new Map<keyof DeskEvents, Set<(e: never) => void>>();
  private frame = 0;
  private drawn: { readonly view: View; readonly preference: string } = { view: EVERYTHING, preference: "" };

  constructor(
    readonly space: string,
    private readonly api: Api,
    readonly toggles: Toggles,
  ) {
    this.room = new Room({
      space,
      api,
      base: location.origin.replace(/^http/, "ws"),
      storage: sessionStore(),
      frame: (f) => void requestAnimationFrame(f),
    });
    this.room.subscribe(() => this.tell());
  }

  start(): void {
    this.room.start();
  }

  close(): void {
    cancelAnimationFrame(this.frame);
    this.room.close();
    this.readers.clear();
    this.listeners.clear();
  }

  // What there is.

  get state(): SpaceState {
    return this.room.state;
  }

  /** What is to be drawn: now, or a moment of the past. */
  get shown(): SpaceState {
    return this.pastState ?? this.room.state;
  }

  get past(): boolean {
    return this.pastState !== null;
  }

  get you(): ParticipantID {
    return this.room.state.you?.id ?? "";
  }

  get envelopes(): readonly Envelope[] {
    return this.room.space.envelopes;
  }

  get outbox(): OutboxState {
    return this.room.outboxState;
  }

  /** Another object whenever all blocks have to be drawn anew: for another view or preference, and for what was opened from elsewhere. */
  get drawing(): object {
    const { preference } = this.toggles;
    const d = this.drawn;
    if (d.view !== this.view || d.preference !== preference) this.drawn = { view: this.view, preference };
    return this.drawn;
  }

  /** Opens blocks, as a person would. */
  openBlocks(paths: readonly ContextPath[]): void {
    for (const path of paths) this.toggles.choose(path, true);
    this.drawn = { ...this.drawn };
    this.changed();
  }

  now(): Millis {
    return this.past ? this.pastNow : this.room.now;
  }

  may(kind: string): boolean {
    const { you } = this.room.state;
    return you !== null && allows(you.capabilities, kind);
  }

  async envelope(id: ID): Promise<Envelope | null> {
    return this.room.space.envelope(id) ?? this.api.one(this.space, id);
  }

  get(path: string): Promise<unknown> {
    return fetchAny(`/api/spaces/${encodeURIComponent(this.space)}/${path}`);
  }

  getRoot(path: string): Promise<unknown> {
    return fetchAny(path);
  }

  // Saying something.

  send(draft: Draft): Promise<Sent> {
    return this.submit(draft, false);
  }

  /** Says something in the talk, where a refusal is shown with it. */
  post(draft: Draft): Promise<Sent> {
    return this.submit(draft, true);
  }

  private submit(draft: Draft, stays: boolean): Promise<Sent> {
    const got = this.room.send(draft);
    if ("refusal" in got) return Promise.resolve({ ok: false, id: "", refusal: inWords(got.refusal) });
    return new Promise((settle) => this.waiting.set(got.id, { settle, stays }));
  }

  /** Tells what has come of what was sent. */
  private settle(): void {
    if (this.waiting.size === 0) return;
    const left = new Map(this.outbox.items.map((x) => [x.id, x]));
    for (const [id, w] of this.waiting) {
      const item = left.get(id);
      if (item !== undefined && item.status !== "refused") continue;
      this.waiting.delete(id);
      if (item === undefined) {
        w.settle({ ok: true, id, seq: this.room.space.envelope(id)?.seq ?? 0 });
        continue;
      }
      if (!w.stays) this.room.dismiss(id);
      w.settle({ ok: false, id, refusal: item.note });
    }
  }

  // Going somewhere.

  async goTo(place: ID | ContextPath): Promise<boolean> {
    for (let pages = 0; !this.knows(place); pages++) {
      this.room.space.following = false;
      if (pages >= MOST_PAGES || !(await this.room.loadOlder())) return false;
    }
    this.emit("reveal", { place });
    return true;
  }

  /** Whether something is held; a block may be known by its id alone. */
  private knows(place: string): boolean {
    const s = this.shown;
    return s.messages.has(place) || s.blocks.has(place) || this.room.space.envelope(place) !== undefined;
  }

  address(id: ID): string {
    return format({ type: "message", space: this.space, id });
  }

  link(id: ID): string {
    return location.origin + location.pathname + this.address(id);
  }

  // What the page is told.

  setView(view: View): void {
    this.view = view;
    this.changed();
  }

  showPast(state: SpaceState | null, now: Millis = 0): void {
    this.pastState = state;
    this.pastNow = now;
    this.changed();
  }

  open(panel: string, params: PanelParams = {}): void {
    this.emit("open", { panel, params });
  }

  mention(participant: ParticipantID): void {
    this.emit("mention", { participant });
  }

  say(words: string): void {
    this.emit("say", { words });
  }

  /** Calls back, at most once in a frame, when anything has changed. The answer ends that. */
  subscribe(f: () => void): () => void {
    this.readers.add(f);
    return () => this.readers.delete(f);
  }

  /** Calls back for one kind of event. The answer ends that. */
  on<K extends keyof DeskEvents>(name: K, f: (e: DeskEvents[K]) => void): () => void {
    const set = this.listeners.get(name) ?? new Set();
    this.listeners.set(name, set);
    set.add(f as (e: never) => void);
    return () => set.delete(f as (e: never) => void);
  }

  emit<K extends keyof DeskEvents>(name: K, e: DeskEvents[K]): void {
    for (const f of this.listeners.get(name) ?? []) (f as (e: DeskEvents[K]) => void)(e);
  }

  /** Something has changed that is not of the room. */
  changed(): void {
    this.frame ||= requestAnimationFrame(() => this.tell());
  }

  private tell(): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    if (this.lastHeard !== this.room.connectionState) {
      this.lastHeard = this.room.connectionState;
      this.heardAt = performance.now();
    }
    this.settle();
    for (const f of this.readers) f();
  }
}
