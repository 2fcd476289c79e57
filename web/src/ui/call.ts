/** A tool call: rationale, arguments and result. */

import { type TemplateResult, html, nothing } from "lit";
import { isObject, oneLine } from "@sdk/read.js";
import type { Call, CallStep, Step } from "../core/state.js";
import { shownResult } from "../core/outcome.js";
import { callDuration } from "../core/time.js";
import type { Outcome, ParticipantID } from "@sdk/types.js";
import { undecided } from "../core/proposal.js";
import { author, authorText, personText } from "./author.js";
import type { SpaceShell } from "./shell.js";
import { icon } from "./icons.js";
import { PageElement, define } from "./element.js";
import { opinions, thumbs } from "./feedback.js";
import { envelopeLink } from "./envelope-link.js";
import { judged, review } from "./proposal-row.js";
import { thought } from "./prose.js";
import { plain, pretty, verbatim, who } from "./text.js";
import { argsLine, longText } from "./format.js";

const OUTCOMES: Readonly<Record<Outcome, string>> = {
  pending: "running",
  success: "done",
  fulfilled: "approved and done",
  error: "failed",
  rejected: "rejected",
  withdrawn: "withdrawn",
  expired: "expired",
};

/** The status of a call in one or two words. */
export function outcomeWord(c: Call, you: ParticipantID, over = false): string {
  if (undecided(c)) return "awaiting approval";
  if (c.outcome === "pending") return c.proposed ? `decided by ${personText(c.decidedBy, you)}` : over ? "no response" : "running";
  return c.failed && c.outcome !== "error" ? `${OUTCOMES[c.outcome]}, failed` : OUTCOMES[c.outcome];
}

/** The status of a call, with the participants that decided on it and, after an approval, made it. */
export function outcomeBy(c: Call, you: ParticipantID, over = false): string {
  const word = outcomeWord(c, you, over);
  if (c.decidedBy === "" || c.outcome === "pending") return word;
  const by = ` by ${personText(c.decidedBy, you)}`;
  if (c.outcome !== "fulfilled") return word + by;
  return `approved${by}, ${c.failed ? "failed" : "done"}${c.answeredBy === "" ? "" : ` by ${personText(c.answeredBy, you)}`}`;
}

/** The status icon of a call. */
export function outcomeMark(c: Call, you: ParticipantID, over = false): TemplateResult {
  const word = outcomeWord(c, you, over);
  if (c.outcome === "pending" && (c.proposed || !over)) {
    return c.proposed
      ? html`<span class="mark ${undecided(c) ? "wait" : "quiet"}" role="img" aria-label=${word} title=${word}>${icon("decide")}</span>`
      : html`<span class="spinner" role="img" aria-label=${word} title=${word}></span>`;
  }
  const good = !c.failed && (c.outcome === "success" || c.outcome === "fulfilled");
  return html`<span class="mark ${good ? "good" : c.outcome === "error" || c.failed ? "bad" : "quiet"}" role="img" aria-label=${word} title=${word}>${icon(good ? "check" : "cross")}</span>`;
}

/** A call as a step: one line that expands to all details. */
export class CallView extends PageElement {
  static override properties = { shell: { attribute: false }, step: { attribute: false }, owner: { attribute: false }, over: { attribute: false }, bare: { attribute: false }, open: { state: true } };

  declare shell: SpaceShell;
  declare step: CallStep;
  /** The participant whose reasoning contains the call; "" outside of reasoning. */
  declare owner: ParticipantID;
  /** The enclosing reasoning has ended; a pending call gets no response. */
  declare over: boolean;
  /** The rationale is already rendered above. */
  declare bare: boolean;
  declare private open: boolean;

  protected override render(): TemplateResult {
    const c = this.step.call;
    const open = this.open;
    return html`<div class="call" data-outcome=${c.outcome}>
      ${c.rationale === "" || this.bare ? nothing : html`<div class="step-text why">${thought(c.rationale)}</div>`}
      <button class="call-line" aria-expanded=${open ? "true" : "false"} @click=${this.toggle}>
        ${outcomeMark(c, this.shell.you, this.over)}
        <code class="tool">${who(c.tool)}</code>
        <span class="call-args">${open ? nothing : argsLine(c.args)}</span>
        <span class="call-end">
          ${c.from === this.owner ? nothing : html`<span>${author(c.from)}</span>`}
          ${c.outcome === "pending" || c.durationMs === null ? nothing : html`<span>${callDuration(c.durationMs)}</span>`}
        </span>
      </button>
      ${open ? details(this.shell, c, this.over) : result(this.shell, c)} ${judged(this.shell, this.shell.shown, this.shell.shown.proposals.get(c.id))} ${opinions(this.shell, c.id, c.from)}
    </div>`;
  }

  private toggle(): void {
    this.shell.emit("toggle", {});
    this.open = !this.open;
  }
}

define("meup-call", CallView);

/** Reports whether two steps are calls with the same rationale. */
export function sameThought(a: Step | undefined, b: Step): boolean {
  return a?.type === "call" && b.type === "call" && b.call.rationale !== "" && a.call.rationale === b.call.rationale && a.call.rationaleId === b.call.rationaleId;
}

function details(shell: SpaceShell, c: Call, over: boolean): TemplateResult {
  return html`<dl class="call-facts">
    <dt>Parameters</dt>
    <dd><pre tabindex="0">${verbatim(pretty(c.args ?? null).slice(0, 50_000))}</pre></dd>
    ${c.result === undefined ? nothing : html`<dt>Result</dt><dd><pre tabindex="0">${verbatim(resultText(c.result).slice(0, 50_000))}</pre></dd>`}
    <dt>Outcome</dt>
    <dd>
      ${outcomeBy(c, shell.you, over)}${c.reason === "" ? nothing : html`: ${longText(c.reason)}`}
      ${c.answeredBy === "" || c.outcome === "fulfilled" ? nothing : html`<span class="faint"> · answered by ${authorText(c.answeredBy)}</span>`}
      ${c.to.length === 0 || (c.to.length === 1 && c.to[0] === c.answeredBy) ? nothing : html`<span class="faint"> · to ${c.to.map(authorText).join(", ")}</span>`}
      ${envelopeLink(shell, c.id)} ${c.responseId === "" ? nothing : envelopeLink(shell, c.responseId)} ${thumbs(shell, c.id, c.from)}
    </dd>
  </dl>`;
}

/** The text content of a result, or the whole result as JSON. */
export function resultText(v: unknown): string {
  const content = isObject(v) ? v["content"] : undefined;
  if (Array.isArray(content) && content.length > 0 && content.every((x) => isObject(x) && x["type"] === "text" && typeof x["text"] === "string")) {
    return content.map((x) => (x as { text: string }).text).join("\n\n");
  }
  return pretty(v);
}

/** The result on one line. */
function result(shell: SpaceShell, c: Call): TemplateResult | typeof nothing {
  if (c.outcome === "pending") {
    if (!c.proposed) return nothing;
    if (!undecided(c)) return html`<p class="call-result">Decided by ${personText(c.decidedBy, shell.you)}.</p>`;
    return html`<p class="call-result wait">Awaiting approval. <button class="words" @click=${() => review(shell, c.id)}>Review</button></p>`;
  }
  const decided = c.decidedBy === "" ? "" : c.outcome === "rejected" ? `Rejected by ${personText(c.decidedBy, shell.you)}` : c.proposed ? `Approved by ${personText(c.decidedBy, shell.you)}` : "";
  const reason = c.reason === "" ? "" : `${decided === "" ? outcomeWord(c, shell.you) : ""}: ${oneLine(c.reason, 160)}`;
  const words = [decided + reason, shownResult(c.result, c.summary)].filter((x) => x !== "").join(". ");
  if (words === "") return nothing;
  return html`<p class="call-result ${c.failed ? "bad" : ""}">${plain(words)}</p>`;
}
