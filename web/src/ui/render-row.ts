/** One row of the conversation. Notices of the page have a shape that no message can imitate. */

import { type TemplateResult, html, nothing } from "lit";
import type { Notice } from "../core/state.js";
import { author, mark } from "./author.js";
import { monogram } from "./monogram.js";
import type { SpaceShell } from "./shell.js";
import "./message.js";
import { envelopeLink } from "./envelope-link.js";
import "./elicitation-row.js";
import "./proposal-row.js";
import "./reasoning.js";
import type { Row } from "./rows.js";
import { who } from "./text.js";
import { clock, dayName, longText, moment } from "./format.js";

export function renderRow(shell: SpaceShell, r: Row): TemplateResult {
  switch (r.type) {
    case "day":
      return html`<div class="row day" role="separator"><span>${dayName(r.at, shell.now() || Date.now())}</span></div>`;
    case "message": {
      const m = r.message;
      const own = m.from === shell.you;
      return html`<div class="row" data-joined=${r.joined}><meup-message .shell=${shell} .message=${m} .quote=${r.quote} .missingQuote=${r.missingQuote} .joined=${r.joined} .agent=${isAgent(shell, m.from)} .own=${own}></meup-message></div>`;
    }
    case "block":
      return html`<div class="row thinking">
        ${monogram(r.block.opener, true)}
        <div class="thinking-main">
          <header class="message-head">
            <button class="author" @click=${() => shell.open("participants", { id: r.block.opener })}>${who(r.block.opener)}</button> ${mark(r.block.opener)}
            <time class="time" datetime=${new Date(r.block.startedAt).toISOString()} title=${moment(r.block.startedAt)}>${clock(r.block.startedAt)}</time>
          </header>
          <meup-reasoning .shell=${shell} .block=${r.block} .owner=${r.block.opener} .renderKey=${shell.renderKey}></meup-reasoning>
        </div>
      </div>`;
    case "call":
      return html`<div class="row aside" data-id=${r.step.call.id}><p class="aside-head">${author(r.step.from)} called a tool <span class="time">${clock(r.step.at)}</span></p><meup-call .shell=${shell} .step=${r.step} .owner=${r.step.from}></meup-call></div>`;
    case "proposal":
      return html`<div class="row decide" tabindex="-1" data-inside=${r.inside} data-id=${r.proposal.id}><meup-proposal .shell=${shell} .proposal=${r.proposal} .state=${shell.shown} .past=${shell.past}></meup-proposal></div>`;
    case "elicitation":
      return html`<div class="row decide" tabindex="-1" data-id=${r.elicitation.id}><meup-elicitation .shell=${shell} .elicitation=${r.elicitation} .past=${shell.past}></meup-elicitation></div>`;
    case "notice":
      return notice(shell, r.notice);
  }
}

function isAgent(shell: SpaceShell, id: string): boolean {
  return shell.shown.participants.get(id)?.agent ?? false;
}

function notice(shell: SpaceShell, n: Notice): TemplateResult {
  if (n.rights.length > 0) import("./panels/rights.js").catch(() => undefined); // without it, the sentence is shown
  return html`<div class="row notice" role="note" data-id=${n.id}><span class="time">${clock(n.at)}</span> <span>${author(n.from)} ${longText(n.text)}${n.rights.length === 0 ? nothing : html`<meup-rights .rights=${n.rights} .ended=${n.kind.endsWith("revoke")}></meup-rights>`}</span> ${envelopeLink(shell, n.envelope)}</div>`;
}
