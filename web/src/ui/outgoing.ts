/** The user's messages that are not in the log yet: queued, sent or rejected. */

import { type TemplateResult, html, nothing } from "lit";
import type { Outgoing } from "@sdk/outbox.js";
import { field, obj, str } from "@sdk/read.js";
import { postponed, seconds } from "../core/sentences.js";
import "./prose.js";
import type { SpaceShell } from "./shell.js";
import { plain, who } from "./text.js";

export function outgoing(shell: SpaceShell): TemplateResult | typeof nothing {
  const items = shell.outbox.items.filter((x) => x.draft.kind === "chat" && x.draft.context === undefined);
  if (items.length === 0) return nothing;
  return html`<div class="outgoing">${items.map((x) => one(shell, x))}</div>`;
}

function one(shell: SpaceShell, x: Outgoing): TemplateResult {
  const text = str(obj(x.draft.payload)["message"]);
  return html`<article class="message pending" data-own="true" data-status=${x.status} data-id=${x.id} aria-label=${x.status === "refused" ? "Your message, rejected" : "Your message, not sent yet"}>
    <div class="message-main">
      ${x.draft.to === undefined ? nothing : html`<header class="message-head"><span class="chip accent">to ${x.draft.to.map(who).join(", ")}</span></header>`}
      <div class="bubble"><meup-prose .text=${text} .format=${field(x.draft.payload, "format") === "markdown" ? "markdown" : "plain"} .breaks=${true}></meup-prose></div>
      ${x.status === "refused" ? refused(shell, x) : html`<p class="message-note">${plain(wait(shell, x))}</p>`}
    </div>
  </article>`;
}

/** What a message waits for. */
function wait(shell: SpaceShell, x: Outgoing): string {
  const { holdFor } = shell.outbox;
  if (x.status === "sent") return "Sending…";
  if (shell.room.connectionState.phase !== "live") return "Waiting for the connection";
  if (x.refusal !== null) return postponed(x.refusal, holdFor);
  return holdFor > 0 ? `Sent automatically in ${seconds(holdFor)}` : "Sending…";
}

function refused(shell: SpaceShell, x: Outgoing): TemplateResult {
  return html`<div class="refusal" role="alert">
    <p>Not sent. ${plain(x.note)}</p>
    <p class="refusal-acts">
      <button class="words" @click=${() => shell.room.again(x.id)}>Retry</button>
      <button class="words" @click=${() => edit(shell, x.id)}>Edit</button>
      <button class="words" @click=${() => shell.room.dismiss(x.id)}>Discard</button>
    </p>
  </div>`;
}

function edit(shell: SpaceShell, id: string): void {
  const draft = shell.room.dismiss(id);
  if (draft !== null) shell.emit("edit", { draft });
}
