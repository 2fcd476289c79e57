/** Everything in a block, in order: thoughts, calls, what ran together, contexts within, and how it ended. */

import { type TemplateResult, html, nothing } from "lit";
import { guard } from "lit/directives/guard.js";
import { repeat } from "lit/directives/repeat.js";
import type { Block, Conclusion, Step, ThoughtStep } from "../core/state.js";
import type { SpaceDesk } from "./desk.js";
import "./call.js";
import { raw, redaction } from "./raw.js";
import { longText, percent } from "./words.js";
import { passes } from "./sieve.js";
import { plain, thought as thoughtText, who } from "./text.js";

/** Steps that ran at the same time, or one that ran by itself. */
interface Batch {
  readonly key: string;
  readonly steps: readonly Step[];
}

export function stepList(desk: SpaceDesk, b: Block): TemplateResult {
  const steps = b.steps.filter((s) => passes(desk.view, s));
  return html`<ol class="steps">
    ${b.message !== "" && b.depth === 0 ? html`<li class="step aim"><span class="step-text">${thoughtText(b.message)}</span>${b.approach === "" ? nothing : html` <span class="chip">${plain(b.approach)}</span>`}</li>` : nothing}
    ${b.droppedSteps > 0 ? html`<li class="step faint">${b.droppedSteps} older steps are no longer held here.</li>` : nothing}
    ${repeat(batches(steps), (x) => x.key, (x) => batch(desk, b, x))}
    ${steps.length === 0 && b.message === "" && b.conclusion === null ? html`<li class="step faint">Nothing was written down.</li>` : nothing}
  </ol>`;
}

/** Puts together what follows one another and has the same number. */
function batches(steps: readonly Step[]): Batch[] {
  const out: { key: string; steps: Step[]; group: string | null }[] = [];
  for (const s of steps) {
    const group = groupOf(s);
    const last = out.at(-1);
    if (group !== null && last?.group === group) last.steps.push(s);
    else out.push({ key: s.key, steps: [s], group });
  }
  return out;
}

function groupOf(s: Step): string | null {
  const n = s.type === "call" ? s.call.group : s.type === "block" ? s.group : null;
  return n === null ? null : `${s.from} ${n}`;
}

function batch(desk: SpaceDesk, b: Block, x: Batch): TemplateResult {
  const [only] = x.steps;
  if (x.steps.length === 1 && only !== undefined) return html`<li class="step" data-step=${only.key} data-type=${only.type}>${step(desk, b, only)}</li>`;
  return html`<li class="step together" data-type="together">
    <p class="step-label">${x.steps.length} at the same time</p>
    <ol class="steps inner">
      ${repeat(x.steps, (s) => s.key, (s) => html`<li class="step" data-step=${s.key} data-type=${s.type}>${step(desk, b, s)}</li>`)}
    </ol>
  </li>`;
}

/** A step is drawn again only if it is another one. */
function step(desk: SpaceDesk, b: Block, s: Step): unknown {
  const child = s.type === "block" ? desk.shown.blocks.get(s.path) : undefined;
  return guard([s, child, desk.drawing, b.opener, b.status === "reasoning"], () => drawStep(desk, b, s));
}

function drawStep(desk: SpaceDesk, b: Block, s: Step): TemplateResult {
  switch (s.type) {
    case "call":
      return html`<meup-call .desk=${desk} .step=${s} .owner=${b.opener} .over=${b.status !== "reasoning"}></meup-call>`;
    case "block": {
      const child = desk.shown.blocks.get(s.path);
      if (child === undefined) return html`<p class="step-text">${plain(s.rationale)}</p>`;
      return html`${s.rationale === "" || s.rationale === child.message ? nothing : html`<p class="step-text">${plain(s.rationale)}</p>`}
        <meup-reasoning .desk=${desk} .block=${child} .drawing=${desk.drawing}></meup-reasoning>`;
    }
    case "said":
      return html`<p class="step-label">${who(s.from)} said</p><div class="step-text">${longText(s.text, thoughtText)}</div>`;
    default:
      return thought(desk, b, s);
  }
}

const LABELS: Readonly<Record<string, string>> = { hypothesis: "Hypothesis", observation: "Observation", question: "Question" };

function thought(desk: SpaceDesk, b: Block, s: ThoughtStep): TemplateResult {
  const label = s.type === "thought" ? "" : (LABELS[s.type] ?? s.kind);
  const foreign = s.from !== b.opener;
  return html`${label !== "" || foreign || s.raw || s.confidence !== null || s.severity !== ""
      ? html`<p class="step-label">
          ${foreign ? html`<b>${who(s.from)}</b>` : nothing} ${label === "" ? nothing : plain(label)}
          ${s.severity === "" ? nothing : html`<span class="chip ${/^(?:info|low|none)$/i.test(s.severity) ? "" : "wait"}">${plain(s.severity)}</span>`}
          ${s.confidence === null ? nothing : html`<span class="faint">${percent(s.confidence)}</span>`}
          ${s.raw ? html`<span class="chip" title="The model's own thinking">raw</span>` : nothing}
        </p>`
      : nothing}
    <div class=${s.growing ? "step-text growing" : "step-text"}>${longText(s.text, thoughtText)}</div>
    ${s.questions.length === 0 ? nothing : html`<ul class="step-points">${s.questions.map((q) => html`<li>${plain(q)}</li>`)}</ul>`}
    ${s.evidence.length === 0 ? nothing : html`<ul class="step-points evidence" aria-label="Evidence">${s.evidence.map((e) => html`<li>${plain(e)}</li>`)}</ul>`}
    ${redaction(s.redacted)} ${s.id === "" ? nothing : raw(desk, s.id)}`;
}

/** How a block ended, below its steps. */
export function ending(desk: SpaceDesk, b: Block): TemplateResult | typeof nothing {
  if (b.cancelled !== null) {
    return html`<p class="ending">Cancelled by ${who(b.cancelled.by)}${b.cancelled.reason === "" ? "" : html`: ${plain(b.cancelled.reason)}`}</p>`;
  }
  if (b.status === "stopped") return html`<p class="ending">It ended without a conclusion.</p>`;
  return b.conclusion === null ? nothing : conclusion(desk, b, b.conclusion);
}

function conclusion(desk: SpaceDesk, b: Block, c: Conclusion): TemplateResult {
  const answer = b.answer === null ? "" : (desk.shown.messages.get(b.answer)?.text ?? "");
  const said = c.text !== "" && c.text.trim() !== answer.trim();
  return html`<div class="ending conclusion">
    <p class="step-label">Conclusion${c.confidence === null ? nothing : html` <span class="faint">${percent(c.confidence)}</span>`} ${raw(desk, c.id)}</p>
    ${said ? html`<div class="step-text">${longText(c.text, thoughtText)}</div>` : c.decision === "" && answer !== "" ? html`<p class="faint">The answer below.</p>` : nothing}
    ${c.decision === "" ? nothing : html`<p class="step-text"><b>Decision</b> ${plain(c.decision)}</p>`}
    ${c.recommendation === "" ? nothing : html`<p class="step-text"><b>Recommendation</b> ${plain(c.recommendation)}</p>`}
    ${c.keyFactors.length === 0 ? nothing : html`<ul class="step-points" aria-label="Key factors">${c.keyFactors.map((f) => html`<li>${plain(f)}</li>`)}</ul>`}
    ${redaction(c.redacted)}
  </div>`;
}
