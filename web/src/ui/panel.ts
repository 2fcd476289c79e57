/**
 * What a panel of the side area is, and what it may use of the page.
 *
 * To add a panel:
 *
 *   1. Write panels/NAME.ts. It defines one custom element, `meup-NAME`, that
 *      extends PanelElement (below) and draws itself in its shadow root.
 *      Its styles are `static override styles = [shared, css`…`]`, with
 *      `shared` from ../styles.ts: type, buttons, fields, lists, focus. Colours
 *      and sizes are the custom properties of theme.css (--ink, --quiet,
 *      --accent, --line, --raised, --space-3, …), so light and dark come by
 *      themselves.
 *   2. Add it to the list in panels/index.ts: what the tab needs is there, the
 *      module itself is loaded when somebody first opens the panel.
 *
 * A panel has `desk`, the page's services, and `state`, what there is to draw.
 * `state` is set anew at most once in an animation frame, and only while the
 * panel is to be seen; Lit then calls render. Compare what is expensive by
 * `===`: entities and arrays of a state that did not change are the same ones
 * (see core/state.ts). Everything that others wrote goes into the page as text
 * through `plain` (text.ts), which makes tricks with invisible characters
 * visible.
 *
 * `open` of Desk shows another panel: `desk.open("envelope", { id })` shows an
 * envelope as it was sent. A panel gets what it was opened with as `params`.
 *
 *   | panel          | params               | who opens it                  |
 *   | envelope       | { id }               | every message, step and call  |
 *   | proposals      | { id }, or none      | a proposal in the talk        |
 *   | participants   | { id }, or none      | a name in the talk            |
 *   | search         | { text }, or none    | Ctrl-K, "/"                   |
 */

import { LitElement } from "lit";
import { EVERYTHING as ALL, type Filter } from "../core/filter.js";
import type { SpaceState } from "../core/state.js";
import type { ContextPath, Draft, Envelope, ID, Millis, ParticipantID } from "../core/types.js";

/** What the tab of a panel needs. */
export interface Panel {
  /** Short and stable; part of what is remembered. */
  readonly id: string;
  /** A word or two. */
  readonly title: string;
  /** The name of a picture of icons.ts, or one character or two. */
  readonly icon: string;
  /** The name of its custom element. */
  readonly element: string;
  /** Loads the module that defines the element. */
  readonly load: () => Promise<unknown>;
  /** A number beside the title; 0 for none. Cheap: asked for every frame. */
  readonly badge?: (state: SpaceState) => number;
  /** Says what the badge counts: "3 to decide". */
  readonly badgeLabel?: (count: number) => string;
  /** Whether it is offered at all; it always is when this is absent. */
  readonly offered?: (state: SpaceState) => boolean;
  /** It has no tab of its own and is opened by others alone. */
  readonly hidden?: boolean;
}

/** What a panel was opened with. */
export type PanelParams = Readonly<Record<string, string>>;

/** The base of every panel's element. */
export abstract class PanelElement extends LitElement {
  static override properties = {
    desk: { attribute: false },
    state: { attribute: false },
    params: { attribute: false },
  };

  declare desk: Desk;
  declare state: SpaceState;
  declare params: PanelParams;
}

/**
 * What is drawn of the talk. It is applied by the page to what it holds, so
 * nothing is lost by changing it. What waits for a decision and what names
 * oneself is drawn in any case.
 */
export interface View extends Filter {
  /** Of every context only its start and its conclusion. */
  readonly conclusionsOnly: boolean;
}

/** Draws everything. */
export const EVERYTHING: View = Object.freeze({ ...ALL, conclusionsOnly: false });

/** What came of something that was sent. */
export type Sent =
  | { readonly ok: true; readonly id: ID; readonly seq: number }
  | { readonly ok: false; readonly id: ID; readonly refusal: string };

/** The services of the page, one for each space that is open. */
export interface Desk {
  readonly space: string;
  /** Who one is here; "" before the first welcome. */
  readonly you: ParticipantID;
  /** What there is now, whatever is being shown. */
  readonly state: SpaceState;
  /** The server's time. */
  now(): Millis;

  /** Sends something; the promise never rejects. A refusal is a sentence. */
  send(draft: Draft): Promise<Sent>;
  /** Whether one's capabilities let a kind through at all; payloads are the gateway's business. */
  may(kind: string): boolean;

  /** The envelope with an id, if it is held. */
  envelope(id: ID): Promise<Envelope | null>;
  /** The envelopes that are held, by seq. */
  readonly envelopes: readonly Envelope[];
  /**
   * Asks the gateway: `path` begins behind `/api/spaces/NAME/`, such as
   * `contexts` or `envelopes?limit=50`. Rejects with an Error whose message is
   * a sentence to be shown.
   */
  get(path: string): Promise<unknown>;
  /** The same for the paths of the gateway itself, such as `/version`; those that are not JSON come as text. */
  getRoot(path: string): Promise<unknown>;

  readonly view: View;
  setView(view: View): void;

  /**
   * Shows the talk as it once was: a state that a panel has made (see
   * core/replay.ts), and the space's time then, for the seconds of what was
   * reasoning. Null goes back to now.
   */
  showPast(state: SpaceState | null, now?: Millis): void;
  /** Whether the talk shows something past. */
  readonly past: boolean;

  /** Goes to a message, a context or an envelope in the talk, loading what it takes; false if it is not there. */
  goTo(place: ID | ContextPath): Promise<boolean>;
  /** The address of a message or an envelope in this page, for copying. */
  link(id: ID): string;
  /** Opens a panel. */
  open(panel: string, params?: PanelParams): void;
  /** Puts "@NAME " into the composer, and the caret behind it. */
  mention(participant: ParticipantID): void;
  /** Says something briefly at the edge of the page, and to screen readers. */
  say(words: string): void;
}
