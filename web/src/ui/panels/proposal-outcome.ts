/** The outcome of a proposal. Fulfilled, rejected, withdrawn and expired proposals look different. */

import { type TemplateResult, html, nothing } from "lit";
import { shownParams } from "@sdk/proposal.js";
import type { Proposal } from "../../core/state.js";
import { icon } from "../icons.js";
import { personText } from "../author.js";
import { pretty } from "../text.js";
import { longText } from "../format.js";
import { exact, reasonWords, when } from "./parts.js";
import { shownResult } from "../../core/outcome.js";
import { argsDifference } from "./proposal-args.js";

interface OutcomeStyle {
  readonly tone: "good" | "bad" | "quiet" | "wait";
  readonly sign: string;
  readonly words: string;
}

/** The color, icon and words of an outcome. */
export function outcomeStyle(p: Proposal, you: string): OutcomeStyle {
  const by = p.decidedBy === "" ? "" : ` by ${personText(p.decidedBy, you)}`;
  switch (p.status) {
    case "pending":
      return { tone: "wait", sign: "decide", words: "Awaiting approval" };
    case "approved":
      if (!p.done) return { tone: "good", sign: "run", words: `Approved${by}, running` };
      if (p.failed) return { tone: "bad", sign: "stop", words: `Approved${by}, failed` };
      return { tone: "good", sign: "check", words: `Approved${by}, done` };
    case "rejected":
      return { tone: "bad", sign: "cross", words: `Rejected${by}` };
    case "withdrawn":
      return { tone: "quiet", sign: "reply", words: `Withdrawn${by}` };
    case "expired":
      return { tone: "wait", sign: "time", words: p.lapsed && (p.decidedAt ?? 0) < (p.expiresAt ?? Infinity) ? "Expired: the reasoning ended without a decision" : "Expired: no decision in time" };
    case "settled":
      return { tone: "quiet", sign: "people", words: `Already decided${by}` };
  }
}

export function renderOutcome(p: Proposal, you: string): TemplateResult {
  const look = outcomeStyle(p, you);
  return html`<div class="fate" data-tone=${look.tone}>
    <p class="row">${look.sign === "run" ? html`<span class="spinner" aria-hidden="true"></span>` : icon(look.sign)}<b class="grow">${look.words}</b>${p.decidedAt === null ? nothing : when(p.decidedAt)}</p>
    ${reason(p)} ${changed(p)} ${result(p)}
  </div>`;
}

function reason(p: Proposal): TemplateResult | typeof nothing {
  if (p.status === "approved" || p.status === "expired" || (p.reason === "" && p.explanation === "")) return nothing;
  const word = p.reason === "other" && p.explanation !== "" ? "" : reasonWords(p.reason);
  return html`<p class="small">${longText(word)}${p.explanation === "" ? nothing : html`${word === "" ? "" : ": "}${longText(p.explanation)}`}</p>`;
}

/** The arguments of an approval that differ from the proposed ones. */
function changed(p: Proposal): TemplateResult | typeof nothing {
  if (p.approvedArgs === undefined) return nothing;
  return html`<p class="small">Approved with different arguments:</p>
    ${argsDifference(shownParams(p.method, p.params) ?? {}, p.approvedArgs)}`;
}

function result(p: Proposal): TemplateResult | typeof nothing {
  if (!p.done) return nothing;
  return html`<p class="small">${longText(shownResult(p.result, p.summary) || "No content")}</p>
    ${p.result === undefined ? nothing : html`<details><summary>Result</summary><pre tabindex="0">${exact(pretty(p.result).slice(0, 50_000))}</pre></details>`}`;
}
