/**
 * The interface between the panels of the side area and the page.
 *
 * To add a panel:
 *
 *   1. Write panels/NAME.ts. It defines one custom element, `meup-NAME`, that
 *      extends PanelElement (below) and renders into its shadow root. Its styles
 *      are `static override styles = [shared, css`…`]`, with `shared` from
 *      ../styles.ts: type, buttons, fields, lists, focus. Colors and sizes are
 *      the custom properties of theme.css (--ink, --quiet, --accent, --line,
 *      --raised, --space-3, …), which support light and dark.
 *   2. Add it to the list in panels/index.ts. The list holds the data of the tab;
 *      the module is loaded when the panel is first opened.
 *
 * A panel has `shell`, the page's services, and `state`, the state to render.
 * `state` is set at most once per animation frame and only while the panel is
 * visible; Lit then calls render. Compare expensive inputs with `===`: entities
 * and arrays that did not change keep their identity (see core/state.ts). Text of
 * participants is rendered through `plain` (text.ts), which makes invisible
 * characters visible.
 *
 * `open` of Shell shows another panel: `shell.open("envelope", { id })` shows an
 * envelope as it was sent. The parameters become the panel's `params`.
 *
 *   | panel          | params               | opened from                    |
 *   | envelope       | { id }               | every message, step and call   |
 *   | proposals      | { id }, or none      | a proposal in the conversation |
 *   | participants   | { id }, or none      | a name in the conversation     |
 *   | trace          | { id } of the turn   | a block                        |
 *   | search         | the query, or none   | "/"                            |
 *   | policy         | { part }, or none    | a proposal that a budget asks for |
 *
 * The address has the open panel with its parameters. A panel that shows something
 * else opens itself with other parameters, so that a link and Back lead there.
 */

import { LitElement } from "lit";
import { EVERYTHING as ALL, type Filter } from "../core/filter.js";
import type { SpaceState } from "../core/state.js";
import type { ContextPath, Draft, Envelope, ID, Millis, ParticipantID } from "@sdk/types.js";

/** The width at which an open panel covers the conversation. */
export const NARROW = "(max-width: 56.25rem)";

/** The data of a panel's tab. */
export interface Panel {
  /** Short and stable: stored as the last open panel. */
  readonly id: string;
  /** One or two words. */
  readonly title: string;
  /** An icon of icons.ts, or one or two characters. */
  readonly icon: string;
  /** The name of the custom element. */
  readonly element: string;
  /** Loads the module that defines the element. */
  readonly load: () => Promise<unknown>;
  /** The number beside the title; 0 for none. Called every frame, so it must be cheap. */
  readonly badge?: (state: SpaceState) => number;
  /** The badge in words: "3 awaiting approval". */
  readonly badgeLabel?: (count: number) => string;
  /** Reports whether the tab is shown; always shown if absent. */
  readonly offered?: (state: SpaceState) => boolean;
  /** Has no tab: only other elements open it. */
  readonly hidden?: boolean;
}

/** The parameters that a panel was opened with. */
export type PanelParams = Readonly<Record<string, string>>;

/** The base class of panel elements. */
export abstract class PanelElement extends LitElement {
  static override properties = {
    shell: { attribute: false },
    state: { attribute: false },
    params: { attribute: false },
  };

  declare shell: Shell;
  declare state: SpaceState;
  declare params: PanelParams;
}

/**
 * The part of the conversation that is rendered. A view hides loaded items and never
 * drops them. Pending proposals and envelopes addressed to the user are always shown.
 */
export interface View extends Filter {
  /** Show only the start and the conclusion of each context. */
  readonly conclusionsOnly: boolean;
}

/** Shows everything. */
export const EVERYTHING: View = Object.freeze({ ...ALL, conclusionsOnly: false });

/** The result of sending an envelope. */
export type Sent =
  | { readonly ok: true; readonly id: ID; readonly seq: number }
  | { readonly ok: false; readonly id: ID; readonly refusal: string };

/** The page's services for one open space. */
export interface Shell {
  readonly space: string;
  /** The user's participant id; "" before the first welcome. */
  readonly you: ParticipantID;
  /** The live state, also during a replay. */
  readonly state: SpaceState;
  /** The space's time. */
  now(): Millis;

  /** Sends an envelope; never rejects. A refusal is a sentence for the user. */
  send(draft: Draft): Promise<Sent>;
  /** Reports whether the user's capabilities may allow a kind; the gateway checks payloads. */
  may(kind: string): boolean;

  /** Records that a proposal was decided, though the decision is not visible here. */
  settled(proposal: ID, by: ParticipantID): void;

  /** Returns the envelope with an id, loaded or from the gateway. */
  envelope(id: ID): Promise<Envelope | null>;
  /** The loaded envelopes, by seq. */
  readonly envelopes: readonly Envelope[];
  /**
   * Requests a path below `/api/spaces/NAME/`, such as `contexts` or
   * `envelopes?limit=50`. Rejects with an Error whose message is a sentence for the
   * user. `patience` is the longest wait; with `body` it is a POST.
   */
  get(path: string, patience?: Millis, body?: string): Promise<unknown>;
  /** The same for a path of the gateway, such as `/version`; a response that is not JSON is returned as text. */
  getRoot(path: string): Promise<unknown>;

  /** How often the user has opened another conversation. */
  readonly visits: number;
  readonly view: View;
  setView(view: View): void;

  /**
   * Shows a past state in the conversation (see core/replay.ts); `now` is the space's
   * time then, for the durations of running reasoning. Null returns to live.
   */
  showPast(state: SpaceState | null, now?: Millis): void;
  /** The conversation shows a past state. */
  readonly past: boolean;

  /** Scrolls to a message, a context or an envelope and loads history as needed; false if it is not found. */
  goTo(place: ID | ContextPath): Promise<boolean>;
  /** Loads history until a message, a context or an envelope is in it; false if it is not found. */
  load(place: ID | ContextPath): Promise<boolean>;
  /** The URL of a message or an envelope in this page, for copying. */
  link(id: ID): string;
  /** Opens a panel, as a new entry of the browser's history, or in place of the present one. */
  open(panel: string, params?: PanelParams, replace?: boolean): void;
  /** Inserts "@NAME " into the composer and places the caret after it. */
  mention(participant: ParticipantID): void;
  /** Shows a short notification, also to screen readers. */
  toast(text: string): void;
}

/** Reports whether the user may settle a proposal. The gateway checks its content. */
export function mayDecide(shell: Shell, id: ID): boolean {
  const p = shell.state.proposals.get(id);
  return p !== undefined && p.from !== shell.you && ["decide", "mcp.request", "mcp.reject"].some((kind) => shell.may(kind));
}
