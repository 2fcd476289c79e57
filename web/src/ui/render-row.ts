/** One row of the conversation. Notices of the page have a shape that no message can imitate. */

import { type TemplateResult, html, nothing } from "lit";
import type { Notice, Proposal } from "../core/state.js";
import { author, mark, authorText } from "./author.js";
import { argsLine } from "./call.js";
import type { SpaceShell } from "./shell.js";
import { icon } from "./icons.js";
import "./message.js";
import { thought } from "./prose.js";
import { envelopeLink } from "./envelope-link.js";
import "./reasoning.js";
import type { Row } from "./rows.js";
import { initials, plain, who } from "./text.js";
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
        <span class="monogram agent" aria-hidden="true">${initials(r.block.opener)}</span>
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
      return proposal(shell, r.proposal);
    case "notice":
      return notice(shell, r.notice);
  }
}

function isAgent(shell: SpaceShell, id: string): boolean {
  return shell.shown.participants.get(id)?.agent ?? false;
}

function notice(shell: SpaceShell, n: Notice): TemplateResult {
  return html`<div class="row notice" role="note" data-id=${n.id}><span class="time">${clock(n.at)}</span> <span>${author(n.from)} ${longText(n.text)}</span> ${envelopeLink(shell, n.envelope)}</div>`;
}

const STATUS = { pending: "awaiting approval", approved: "approved", rejected: "rejected", withdrawn: "withdrawn", expired: "expired", settled: "decided" } as const;

function proposal(shell: SpaceShell, p: Proposal): TemplateResult {
  const open = p.status === "pending";
  return html`<div class="row proposal" data-status=${p.status} data-id=${p.id}>
    <span class="mark ${open ? "wait" : "quiet"}">${icon("decide")}</span>
    <div>
      <p>${author(p.from)} proposes <code>${who(p.tool)}</code> <span class="chip ${open ? "wait" : ""}">${STATUS[p.status]}${p.decidedBy === "" ? "" : ` by ${authorText(p.decidedBy)}`}</span> <span class="time">${clock(p.at)}</span> ${envelopeLink(shell, p.id)}</p>
      ${p.rationale === "" ? nothing : html`<div class="step-text">${thought(p.rationale)}</div>`}
      <p class="call-args">${argsLine(p.args, 160)}</p>
      ${p.done && p.summary !== "" ? html`<p class="call-result ${p.failed ? "bad" : ""}">${plain(p.summary)}</p>` : nothing}
      ${open ? html`<button class="words" @click=${() => shell.open("proposals", { id: p.id })}>Review</button>` : nothing}
    </div>
  </div>`;
}
