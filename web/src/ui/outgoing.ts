/** The user's messages that are not in the log yet: queued, sent or rejected. */

import { type TemplateResult, html, nothing } from "lit";
import type { Outgoing } from "../core/outbox.js";
import { obj, str } from "../core/read.js";
import type { SpaceDesk } from "./desk.js";
import { plain, who } from "./text.js";

export function outgoing(desk: SpaceDesk): TemplateResult | typeof nothing {
  const items = desk.outbox.items.filter((x) => x.draft.kind === "chat" && x.draft.context === undefined);
  if (items.length === 0) return nothing;
  return html`<div class="outgoing">${items.map((x) => one(desk, x))}</div>`;
}

function one(desk: SpaceDesk, x: Outgoing): TemplateResult {
  const text = str(obj(x.draft.payload)["message"]);
  return html`<article class="message pending" data-own="true" data-status=${x.status} data-id=${x.id} aria-label=${x.status === "refused" ? "Your message, rejected" : "Your message, not sent yet"}>
    <div class="message-main">
      ${x.draft.to === undefined ? nothing : html`<header class="message-head"><span class="chip accent">to ${x.draft.to.map(who).join(", ")}</span></header>`}
      <div class="bubble"><div class="prose plain">${plain(text)}</div></div>
      ${x.status === "refused" ? refused(desk, x) : html`<p class="message-note">${x.note === "" ? (x.status === "sent" ? "Sending…" : "Waiting for the connection") : plain(x.note)}</p>`}
    </div>
  </article>`;
}

function refused(desk: SpaceDesk, x: Outgoing): TemplateResult {
  return html`<div class="refusal" role="alert">
    <p>Not sent. ${plain(x.note)}</p>
    <p class="refusal-acts">
      <button class="words" @click=${() => desk.room.again(x.id)}>Retry</button>
      <button class="words" @click=${() => edit(desk, x.id)}>Edit</button>
      <button class="words" @click=${() => desk.room.dismiss(x.id)}>Discard</button>
    </p>
  </div>`;
}

function edit(desk: SpaceDesk, id: string): void {
  const draft = desk.room.dismiss(id);
  if (draft !== null) desk.emit("edit", { draft });
}
