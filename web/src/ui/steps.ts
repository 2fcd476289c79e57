/** The content of a block, in order: thoughts, calls, parallel steps, nested contexts and the ending. */

import { type TemplateResult, html, nothing } from "lit";
import { guard } from "lit/directives/guard.js";
import { repeat } from "lit/directives/repeat.js";
import { look } from "@sdk/json.js";
import { isObject, oneLine, share } from "@sdk/read.js";
import { type Block, type Conclusion, type Step, type ThoughtStep, reasoner } from "../core/state.js";
import { duration } from "../core/time.js";
import { author, authorText } from "./author.js";
import type { SpaceShell } from "./shell.js";
import { sameThought } from "./call.js";
import { opinions, thumbs } from "./feedback.js";
import { envelopeLink, redactionNote, referenceList } from "./envelope-link.js";
import { longText, percent } from "./format.js";
import { showsStep } from "./view-filter.js";
import "./marks.js";
import { thought as thoughtText } from "./prose.js";
import { plain } from "./text.js";

/** Maximum characters of a nested block's message in its heading; a longer message is also its first step. */
export const MAX_ABOUT = 300;

/** Steps that ran in parallel, or a single step. */
interface Batch {
  readonly key: string;
  readonly steps: readonly Step[];
}

export function stepList(shell: SpaceShell, b: Block): TemplateResult {
  const steps = b.steps.filter((s) => showsStep(shell.view, s) && !isEmptyContext(shell, s));
  const bare = new Set(steps.filter((s, i) => sameThought(steps[i - 1], s)));
  return html`<ol class="steps">
    ${aim(shell, b)}
    ${b.droppedSteps > 0 ? html`<li class="step faint">${b.droppedSteps} older steps are not loaded.</li>` : nothing}
    ${repeat(batches(steps), (x) => x.key, (x) => batch(shell, b, x, bare))}
    ${steps.length === 0 && b.message === "" && b.conclusion === null ? html`<li class="step faint">No steps</li>` : nothing}
  </ol>`;
}

/** The first step: the message of the start, its metadata and its references. */
function aim(shell: SpaceShell, b: Block): TemplateResult | typeof nothing {
  const says = b.message !== "" && (b.depth === 0 || b.message.length > MAX_ABOUT);
  const facts = metadata(b);
  if (!says && facts.length === 0 && b.cited.length === 0) return nothing;
  return html`<li class="step aim">
    ${says ? html`<div class="step-text">${thoughtText(b.message)}</div>` : nothing}
    ${facts.length === 0 ? nothing : html`<p class="step-label metadata">${facts.map((f) => html`<span class="chip">${plain(oneLine(f, 120))}</span>`)}</p>`}
    ${referenceList(shell, b.cited)}
  </li>`;
}

/** Maximum number of metadata values that are rendered. */
const MAX_METADATA = 12;

/** The metadata of a start, one text per value; the estimate comes with the actual duration. */
function metadata(b: Block): string[] {
  return Object.entries(b.metadata ?? {})
    .slice(0, MAX_METADATA)
    .map(([name, value]) => {
      const text = typeof value === "string" ? value : isObject(value) || Array.isArray(value) ? "…" : look(value);
      switch (name) {
        case "approach":
          return text;
        case "confidence":
          return share(value) === null ? `confidence: ${text}` : percent(share(value) ?? 0);
        case "estimated_duration":
          return b.thoughtSeconds === null ? `estimated ${text}` : `estimated ${text}, took ${duration(b.thoughtSeconds)}`;
        default:
          return `${name.replaceAll("_", " ")}: ${text}`;
      }
    })
    .filter((text) => text !== "");
}

/** Reports whether a step is a context that closed without content. A start inside a context that it names itself opens one. */
function isEmptyContext(shell: SpaceShell, s: Step): boolean {
  const child = s.type === "block" ? shell.shown.blocks.get(s.path) : undefined;
  return child?.status === "complete" && child.steps.length === 0 && child.message === "" && child.conclusion === null;
}

/** Groups adjacent steps with the same group number. */
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

/** The calls in `bare` share the rationale that is rendered above them. */
function batch(shell: SpaceShell, b: Block, x: Batch, bare: ReadonlySet<Step>): TemplateResult {
  const [only] = x.steps;
  if (x.steps.length === 1 && only !== undefined) return html`<li class="step" data-step=${only.key} data-type=${only.type}>${step(shell, b, only, bare.has(only))}</li>`;
  return html`<li class="step together" data-type="together">
    <p class="step-label">${x.steps.length} in parallel</p>
    <ol class="steps inner">
      ${repeat(x.steps, (s) => s.key, (s) => html`<li class="step" data-step=${s.key} data-type=${s.type}>${step(shell, b, s, bare.has(s))}</li>`)}
    </ol>
  </li>`;
}

/** Renders a step again only if its inputs changed. */
function step(shell: SpaceShell, b: Block, s: Step, bare: boolean): unknown {
  const child = s.type === "block" ? shell.shown.blocks.get(s.path) : undefined;
  return guard([s, child, shell.renderKey, reasoner(b), b.status === "reasoning", bare], () => renderStep(shell, b, s, bare));
}

function renderStep(shell: SpaceShell, b: Block, s: Step, bare: boolean): TemplateResult {
  switch (s.type) {
    case "call":
      return html`<meup-call .shell=${shell} .step=${s} .owner=${reasoner(b)} .over=${b.status !== "reasoning"} .bare=${bare}></meup-call>`;
    case "block": {
      const child = shell.shown.blocks.get(s.path);
      if (child === undefined) return html`<div class="step-text">${thoughtText(s.rationale)}</div>`;
      return html`${s.rationale === "" || s.rationale === child.message ? nothing : html`<div class="step-text">${thoughtText(s.rationale)}</div>`}
        <meup-reasoning .shell=${shell} .block=${child} .owner=${reasoner(b)} .renderKey=${shell.renderKey}></meup-reasoning>`;
    }
    case "said":
      return html`<p class="step-label">${author(s.from)} said</p>${s.marks === null ? nothing : html`<meup-marks .marks=${s.marks}></meup-marks>`}<div class="step-text"><meup-prose .text=${s.text} .format=${s.format}></meup-prose></div>`;
    default:
      return thought(shell, b, s);
  }
}

const LABELS: Readonly<Record<string, string>> = { hypothesis: "Hypothesis", observation: "Observation", question: "Question" };

function thought(shell: SpaceShell, b: Block, s: ThoughtStep): TemplateResult {
  const label = s.type === "thought" ? "" : (LABELS[s.type] ?? s.kind);
  const foreign = s.from !== reasoner(b);
  return html`${label !== "" || foreign || s.raw || s.confidence !== null || s.severity !== ""
      ? html`<p class="step-label">
          ${foreign ? html`${author(s.from)}` : nothing} ${label === "" ? nothing : plain(oneLine(label, 60))}
          ${s.severity === "" ? nothing : html`<span class="chip ${/^(?:info|low|none)$/i.test(s.severity) ? "" : "wait"}">${plain(oneLine(s.severity, 60))}</span>`}
          ${s.confidence === null ? nothing : html`<span class="faint">${percent(s.confidence)}</span>`}
          ${s.raw ? html`<span class="chip" title="The model's own thinking">raw</span>` : nothing}
        </p>`
      : nothing}
    <div class=${s.growing ? "step-text growing" : "step-text"}>${thoughtText(s.text)}</div>
    ${s.questions.length === 0 ? nothing : html`<ul class="step-points">${s.questions.map((q) => html`<li>${thoughtText(q)}</li>`)}</ul>`}
    ${s.evidence.length === 0 ? nothing : html`<p class="step-label">For</p><ul class="step-points evidence" aria-label="Evidence for">${s.evidence.map((e) => html`<li>${thoughtText(e)}</li>`)}</ul>`}
    ${s.against.length === 0 ? nothing : html`<p class="step-label">Against</p><ul class="step-points evidence" aria-label="Evidence against">${s.against.map((e) => html`<li>${thoughtText(e)}</li>`)}</ul>`}
    ${referenceList(shell, s.cited)} ${redactionNote(s.redacted)} ${s.id === "" ? nothing : html`${envelopeLink(shell, s.id)}${thumbs(shell, s.id, s.from)}${opinions(shell, s.id, s.from)}`}`;
}

/** The ending of a block, below its steps. */
export function ending(shell: SpaceShell, b: Block): TemplateResult | typeof nothing {
  if (b.cancelled !== null) {
    return html`<p class="ending">Canceled by ${authorText(b.cancelled.by)}${b.cancelled.reason === "" ? "" : html`: ${longText(b.cancelled.reason)}`}</p>`;
  }
  if (b.status === "stopped") return html`<p class="ending">Ended without a conclusion.</p>`;
  return b.conclusion === null ? nothing : conclusion(shell, b, b.conclusion);
}

function conclusion(shell: SpaceShell, b: Block, c: Conclusion): TemplateResult {
  const answer = b.answer === null ? "" : (shell.shown.messages.get(b.answer)?.text ?? "");
  const said = c.text !== "" && c.text.trim() !== answer.trim();
  return html`<div class="ending conclusion">
    <p class="step-label">Conclusion${c.by === b.opener ? nothing : html` of ${author(c.by)}`}${c.confidence === null ? nothing : html` <span class="faint">${percent(c.confidence)}</span>`} ${envelopeLink(shell, c.id)}</p>
    ${said ? html`<div class="step-text">${thoughtText(c.text)}</div>` : c.decision === "" && answer !== "" ? html`<p class="faint">See the answer below.</p>` : nothing}
    ${c.decision === "" ? nothing : html`<div class="step-text named"><b>Decision</b> ${thoughtText(c.decision)}</div>`}
    ${c.recommendation === "" ? nothing : html`<div class="step-text named"><b>Recommendation</b> ${thoughtText(c.recommendation)}</div>`}
    ${c.keyFactors.length === 0 ? nothing : html`<ul class="step-points" aria-label="Key factors">${c.keyFactors.map((f) => html`<li>${thoughtText(f)}</li>`)}</ul>`}
    ${referenceList(shell, c.cited)} ${redactionNote(c.redacted)}
  </div>`;
}
