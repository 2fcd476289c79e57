/** The preview of a running block: its last two steps and the steps in progress. */

import { type TemplateResult, html, nothing } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { oneLine } from "@sdk/read.js";
import { type Block, type Step, reasoner } from "../core/state.js";
import { callDuration } from "../core/time.js";
import { author } from "./author.js";
import type { SpaceShell } from "./shell.js";
import { showsStep } from "./view-filter.js";
import { outcomeMark, sameThought } from "./call.js";
import { thought } from "./prose.js";
import { brief, plain, who } from "./text.js";

/** Maximum characters of a streaming text, counted from its end. */
const MAX_GROWING = 4000;
/** The last steps that are shown, and the maximum together with the steps in progress. */
const STEPS = 2;
const MAX = 6;

export function preview(shell: SpaceShell, b: Block): TemplateResult {
  const steps = latest(b, shell);
  if (steps.length === 0) {
    return html`<p class="preview-line">${b.message === "" ? "…" : brief(oneLine(b.message, 320))}</p>`;
  }
  return html`<ul class="preview-steps">${repeat(steps, (s) => s.key, (s, i) => html`<li class="preview-line">${line(shell, b, s, sameThought(steps[i - 1], s))}</li>`)}</ul>`;
}

function latest(b: Block, shell: SpaceShell): readonly Step[] {
  const seen = b.steps.filter((s) => showsStep(shell.view, s));
  const from = seen.length - STEPS;
  return seen.filter((s, i) => i >= from || inProgress(shell, s)).slice(-MAX);
}

/** Reports whether a step is in progress. */
function inProgress(shell: SpaceShell, s: Step): boolean {
  switch (s.type) {
    case "call":
      return s.call.outcome === "pending";
    case "block":
      return shell.shown.blocks.get(s.path)?.status === "reasoning";
    case "said":
      return false;
    default:
      return s.growing;
  }
}

/** `bare`: the rationale is rendered in the line above. */
function line(shell: SpaceShell, b: Block, s: Step, bare: boolean): TemplateResult {
  const by = s.from === reasoner(b) ? nothing : html`${author(s.from)} `;
  switch (s.type) {
    case "call":
      return html`${outcomeMark(s.call, shell.you)}
        <span>
          ${by}
          ${s.call.rationale === "" || bare ? html`<code>${who(s.call.tool)}</code>` : html`${brief(oneLine(s.call.rationale, 160))} <code>${who(s.call.tool)}</code>`}
          ${s.call.summary === "" ? nothing : html`<span class="faint"> → ${plain(oneLine(s.call.summary, 100))}</span>`}
          ${s.call.durationMs === null ? nothing : html`<span class="faint"> ${callDuration(s.call.durationMs)}</span>`}
        </span>`;
    case "block": {
      const child = shell.shown.blocks.get(s.path);
      const running = child?.status === "reasoning";
      return html`${running ? html`<span class="spinner" aria-hidden="true"></span>` : html`<span class="dot" aria-hidden="true"></span>`}
        <span>${by}${brief(oneLine(s.rationale || child?.message || "Nested context", 160))}</span>`;
    }
    case "said":
      return html`<span class="dot" aria-hidden="true"></span><span>${author(s.from)}: ${brief(oneLine(s.text, 200))}</span>`;
    default:
      return html`<span class="dot" aria-hidden="true"></span><span class=${s.growing ? "growing" : ""}>${by}${s.growing ? thought(s.text.slice(-MAX_GROWING)) : brief(oneLine(s.text || s.questions.join(" "), 320), plain)}</span>`;
  }
}
