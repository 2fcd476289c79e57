/**
 * An open space as the page's elements use it: the core's connection and state,
 * and the state of the display (the view, open blocks, requested panels).
 */

import type { Api } from "../core/api.js";
import { NEW_THREAD, format, panelOf } from "../core/links.js";
import type { OutboxState } from "@sdk/outbox.js";
import type { Names, ReadState } from "../core/reads.js";
import { Room } from "../core/room.js";
import { refusal as refusalText } from "../core/sentences.js";
import type { SpaceState } from "../core/state.js";
import { type Thread, threadAt, threads } from "../core/threads.js";
import type { Toggles } from "../core/toggle.js";
import type { ContextPath, Draft, Envelope, ID, Millis, ParticipantID } from "@sdk/types.js";
import { fetchAny } from "./fetch.js";
import { allows } from "@sdk/capabilities.js";
import { type Shell, EVERYTHING, type PanelParams, type Sent, type View } from "./panel.js";
import { keepNames, keepReads, loadNames, loadReads, sessionStore } from "./prefs.js";

/** Maximum number of history pages that goTo loads. */
const MAX_PAGES = 40;

/** Events between elements. */
export interface ShellEvents {
  open: { readonly panel: string; readonly params: PanelParams; readonly replace: boolean };
  mention: { readonly participant: ParticipantID };
  reply: { readonly to: ID };
  toast: { readonly text: string };
  palette: { readonly mode: "commands" | "keys" };
  reveal: { readonly place: string };
  /** A rejected message returns to the composer. */
  edit: { readonly draft: Draft };
  /** The user expanded or collapsed an element. */
  toggle: object;
}

interface Waiting {
  readonly settle: (s: Sent) => void;
  /** A rejected item stays in the outbox until the user dismisses it. */
  readonly keepRejected: boolean;
}

export class SpaceShell implements Shell {
  readonly room: Room;
  view: View = EVERYTHING;
  /** The conversation that is shown; "" is the whole space, NEW_THREAD the one that the next message begins. */
  thread: ID = "";
  visits = 0;
  readonly names: Names;
  /** The time of the last change of the connection, by performance.now. */
  connectionChangedAt = performance.now();

  private readState: ReadState | null = null;
  private threadList: { readonly inputs: readonly unknown[]; readonly list: readonly Thread[] } = { inputs: [], list: [] };
  private pastState: SpaceState | null = null;
  private pastNow: Millis = 0;
  private lastConnection: unknown = null;
  private readonly waiting = new Map<ID, Waiting>();
  private readonly subscribers = new Set<() => void>();
  private readonly listeners = new Map<keyof ShellEvents, Set<(e: never) => void>>();
  private frame = 0;
  private drawn: { readonly view: View; readonly preference: string } = { view: EVERYTHING, preference: "" };

  constructor(
    readonly space: string,
    private readonly api: Api,
    readonly toggles: Toggles,
  ) {
    this.names = loadNames(space);
    this.room = new Room({
      space,
      api,
      base: location.origin.replace(/^http/, "ws"),
      storage: sessionStore(),
      frame: (f) => void requestAnimationFrame(f),
    });
    this.room.subscribe(() => this.notify());
  }

  start(): void {
    this.room.start();
  }

  close(): void {
    cancelAnimationFrame(this.frame);
    this.room.close();
    this.subscribers.clear();
    this.listeners.clear();
  }

  // State.

  get state(): SpaceState {
    return this.room.state;
  }

  /** The state to render: live, or a moment of a replay. */
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

  /** Changes identity when every block must render again: after a change of the view or the preference, and after openBlocks. */
  get renderKey(): object {
    const { preference } = this.toggles;
    const d = this.drawn;
    if (d.view !== this.view || d.preference !== preference) this.drawn = { view: this.view, preference };
    return this.drawn;
  }

  /** Opens blocks as if the user had expanded them. */
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

  settled(proposal: ID, by: ParticipantID): void {
    this.room.space.settled(proposal, by);
    this.changed();
  }

  async envelope(id: ID): Promise<Envelope | null> {
    return this.room.space.envelope(id) ?? this.api.one(this.space, id);
  }

  get(path: string, patience?: Millis, body?: string): Promise<unknown> {
    return fetchAny(`/api/spaces/${encodeURIComponent(this.space)}/${path}`, patience, body);
  }

  getRoot(path: string): Promise<unknown> {
    return fetchAny(path);
  }

  // Sending.

  send(draft: Draft): Promise<Sent> {
    return this.submit(draft, false);
  }

  /** Sends a message; a rejection is shown in the conversation. */
  post(draft: Draft): Promise<Sent> {
    return this.submit(draft, true);
  }

  private submit(draft: Draft, keepRejected: boolean): Promise<Sent> {
    const got = this.room.send(draft);
    if ("refusal" in got) return Promise.resolve({ ok: false, id: "", refusal: refusalText(got.refusal) });
    return new Promise((settle) => this.waiting.set(got.id, { settle, keepRejected }));
  }

  /** Resolves the promises of sent and rejected items. */
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
      if (!w.keepRejected) this.room.dismiss(id);
      w.settle({ ok: false, id, refusal: item.note });
    }
  }

  // Navigation.

  async goTo(place: ID | ContextPath): Promise<boolean> {
    if (!(await this.load(place))) return false;
    if (this.thread !== "" && threadAt(this.shown, this.room.space.envelope(place)?.context ?? place) !== this.thread) this.showAll();
    this.emit("reveal", { place });
    return true;
  }

  /** Loads history until a place is in it; false if it is not found. */
  async load(place: ID | ContextPath): Promise<boolean> {
    for (let pages = 0; !this.isLoaded(place); pages++) {
      this.room.space.following = false;
      if (pages >= MAX_PAGES || !(await this.room.loadOlder())) return false;
    }
    return true;
  }

  /** Shows a conversation, and loads it. "" shows the whole space. */
  async setThread(id: ID): Promise<void> {
    if (id === this.thread) return;
    this.thread = id;
    this.visits++;
    this.changed();
    if (id !== "" && id !== NEW_THREAD && !(await this.load(id)) && this.thread === id) this.toast("The beginning of this conversation is not available");
  }

  /** Shows the whole space, also in the address. */
  showAll(): void {
    this.thread = "";
    history.replaceState(history.state, "", format({ type: "space", space: this.space }, panelOf(location.hash)));
    this.changed();
  }

  /** The loaded conversations; the same list until something changes. */
  get threads(): readonly Thread[] {
    const { state, reads } = this;
    const inputs = [state, reads?.version];
    if (reads !== null && inputs.some((x, i) => x !== this.threadList.inputs[i])) {
      this.threadList = { inputs, list: threads(state, reads.all < 0 ? { all: state.head, threads: reads.threads } : reads) };
    }
    return this.threadList.list;
  }

  /** The name of a conversation: the user's own, or the given title. */
  nameOf(id: ID, title: string): string {
    return this.names.get(id) || title || "Conversation";
  }

  rename(id: ID, name: string): void {
    this.names.set(id, name);
    keepNames(this.space, this.names);
    this.changed();
  }

  /** Where the user has read up to; null before the first welcome. */
  get reads(): ReadState | null {
    if (this.you === "") return null;
    return (this.readState ??= loadReads(this.space, this.you));
  }

  /** Records that the shown messages were read, if the page is visible and at their end. */
  markRead(): void {
    const { reads } = this;
    const { head } = this.state;
    if (reads === null || head === 0 || this.past || !this.room.space.following || document.visibilityState !== "visible") return;
    const first = reads.all < 0; // on the first visit, everything before it counts as read
    if (!first && this.thread === NEW_THREAD) return;
    if (!reads.mark(first ? "" : this.thread, head)) return;
    keepReads(this.space, this.you, reads);
    this.changed();
  }

  /** Reports whether a message, block or envelope is loaded. */
  private isLoaded(place: string): boolean {
    const s = this.shown;
    return s.messages.has(place) || s.blocks.has(place) || this.room.space.envelope(place) !== undefined;
  }

  address(id: ID): string {
    return format({ type: "message", space: this.space, id });
  }

  link(id: ID): string {
    return location.origin + location.pathname + this.address(id);
  }

  // The rest of Shell, and events.

  setView(view: View): void {
    this.view = view;
    this.changed();
  }

  showPast(state: SpaceState | null, now: Millis = 0): void {
    this.pastState = state;
    this.pastNow = now;
    this.changed();
  }

  open(panel: string, params: PanelParams = {}, replace = false): void {
    this.emit("open", { panel, params, replace });
  }

  mention(participant: ParticipantID): void {
    this.emit("mention", { participant });
  }

  toast(text: string): void {
    this.emit("toast", { text });
  }

  /** Calls f after changes, at most once per frame, until the returned function is called. */
  subscribe(f: () => void): () => void {
    this.subscribers.add(f);
    return () => this.subscribers.delete(f);
  }

  /** Calls f for each event with this name, until the returned function is called. */
  on<K extends keyof ShellEvents>(name: K, f: (e: ShellEvents[K]) => void): () => void {
    const set = this.listeners.get(name) ?? new Set();
    this.listeners.set(name, set);
    set.add(f as (e: never) => void);
    return () => set.delete(f as (e: never) => void);
  }

  emit<K extends keyof ShellEvents>(name: K, e: ShellEvents[K]): void {
    for (const f of this.listeners.get(name) ?? []) (f as (e: ShellEvents[K]) => void)(e);
  }

  /** Schedules an update for a change outside of the connection. */
  changed(): void {
    this.frame ||= requestAnimationFrame(() => this.notify());
  }

  private notify(): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    if (this.lastConnection !== this.room.connectionState) {
      this.lastConnection = this.room.connectionState;
      this.connectionChangedAt = performance.now();
    }
    this.settle();
    for (const f of this.subscribers) f();
  }
}
