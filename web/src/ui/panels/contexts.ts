/** The list of contexts as a tree, and the filter of the conversation. */

import { type TemplateResult, html, nothing } from "lit";
import { type TreeNode, tree } from "../../core/filter.js";
import { oneLine } from "@sdk/read.js";
import { blockTitle } from "../../core/time.js";
import { neutral } from "../../core/unicode.js";
import { waitOf } from "../../core/waiting.js";
import type { Block, SpaceState } from "../../core/state.js";
import type { ContextPath } from "@sdk/types.js";
import { define } from "../element.js";
import { icon } from "../icons.js";
import { EVERYTHING, PanelElement, type View, mayDecide } from "../panel.js";
import { isFiltering } from "../view-filter.js";
import { shared } from "../styles.js";
import { who } from "../text.js";
import { amount, go, parts } from "./parts.js";
import { treeStyles } from "./context-style.js";

/** The number of outermost contexts, newest first, shown initially and added by each step. */
const PAGE = 60;

export class Contexts extends PanelElement {
  static override properties = { ...PanelElement.properties, most: { state: true }, closed: { state: true }, tick: { state: true } };
  static override styles = [shared, parts, treeStyles];

  declare private most: number;
  declare private closed: ReadonlySet<ContextPath>;
  declare private tick: number;
  private made: { readonly of: SpaceState; readonly nodes: readonly TreeNode[] } | null = null;

  constructor() {
    super();
    this.most = PAGE;
    this.closed = new Set();
    this.tick = 0;
  }

  private get nodes(): readonly TreeNode[] {
    if (this.made?.of !== this.state) this.made = { of: this.state, nodes: tree(this.state) };
    return this.made.nodes;
  }

  protected override render(): TemplateResult {
    const { nodes } = this;
    const youngest = nodes.slice(-this.most).reverse();
    return html`
      ${this.choices()}
      <h3 class="section">${nodes.length === 0 ? "Contexts" : amount(nodes.length, "context")}</h3>
      ${nodes.length === 0 ? html`<p class="empty">No reasoning yet</p>` : html`<ul class="tree">${youngest.map((n) => this.node(n))}</ul>`}
      ${nodes.length > this.most ? html`<button class="words" @click=${() => (this.most += PAGE)}>Show older</button>` : nothing}
    `;
  }

  private choices(): TemplateResult {
    const v = this.shell.view;
    const main = v.contexts.length === 1 && v.contexts[0] === "";
    const on = isFiltering(v);
    return html`<section class="card stack" aria-labelledby="filter">
      <h3 id="filter">Filter of the conversation</h3>
      <label class="check"><input type="checkbox" .checked=${main} @change=${() => this.set({ contexts: main ? [] : [""] })} /> Main conversation only</label>
      <label class="check"><input type="checkbox" .checked=${v.conclusionsOnly} @change=${() => this.set({ conclusionsOnly: !v.conclusionsOnly })} /> Starts and conclusions only</label>
      ${on
        ? html`<div class="row in-force"><span class="grow small">${inWords(v)}</span><button class="button small" @click=${() => this.set(EVERYTHING)}>Show all</button></div>`
        : html`<p class="quiet">All messages are shown. Proposals awaiting approval and mentions of you are never hidden.</p>`}
    </section>`;
  }

  private node(n: TreeNode): TemplateResult {
    const b = n.block;
    const v = this.shell.view;
    const only = v.contexts.includes(n.path);
    const out = v.exclude.includes(n.path);
    const open = !this.closed.has(n.path);
    const title = titleOf(b);
    const now = this.shell.now();
    const wait = waitOf(this.state, b, now);
    const waits = wait.since !== null || b.status === "cancelled" || b.status === "stopped";
    return html`<li>
      <div class="node" data-out=${out} data-only=${only}>
        ${n.children.length === 0
          ? html`<span class="twig"></span>`
          : html`<button class="twig" aria-expanded=${open ? "true" : "false"} aria-label=${`${amount(n.below, "context")} within`} @click=${() => this.fold(n.path)}>${icon("chevron")}</button>`}
        <button class="title grow" title="Show in conversation" @click=${() => void go(this.shell, n.path)}>${title}</button>
        <p class="meta">
          <span class="chip ${waits ? "wait" : b.status === "reasoning" ? "accent" : ""}">${blockTitle(b, now, wait, wait.pending.some((id) => mayDecide(this.shell, id)))}</span>
          <span>${b.opener === "" ? "unknown" : who(b.opener)}</span>
          ${b.counts.calls === 0 ? nothing : html`<span>${amount(b.counts.calls, "call")}</span>`}
        </p>
        <div class="acts" role="group" aria-label=${title}>
          <button class="toggle" aria-pressed=${only ? "true" : "false"} @click=${() => this.flip("contexts", n.path)}>Only this</button>
          <button class="toggle" aria-pressed=${out ? "true" : "false"} @click=${() => this.flip("exclude", n.path)}>Hide</button>
        </div>
      </div>
      ${open && n.children.length > 0 ? html`<ul>${n.children.map((x) => this.node(x))}</ul>` : nothing}
    </li>`;
  }

  private fold(path: ContextPath): void {
    const closed = new Set(this.closed);
    if (!closed.delete(path)) closed.add(path);
    this.closed = closed;
  }

  /** Adds a context to a list of the view or removes it. A context is in at most one of the lists. */
  private flip(list: "contexts" | "exclude", path: ContextPath): void {
    const v = this.shell.view;
    const other = list === "contexts" ? "exclude" : "contexts";
    const there = v[list].includes(path);
    const mine = there ? v[list].filter((x) => x !== path) : [...v[list].filter((x) => x !== ""), path];
    this.set({ [list]: mine, [other]: v[other].filter((x) => x !== path) });
  }

  private set(change: Partial<View>): void {
    const next = { ...this.shell.view, ...change };
    this.shell.setView(isFiltering(next) ? next : EVERYTHING);
    this.tick++;
  }
}

function titleOf(b: Block): string {
  return oneLine(neutral(b.message || b.approach || b.conclusion?.text || b.id), 90);
}

/** The view as a sentence. */
function inWords(v: View): string {
  const lines: string[] = [];
  if (v.contexts.length === 1 && v.contexts[0] === "") lines.push("only the main conversation");
  else if (v.contexts.length > 0) lines.push(`only ${amount(v.contexts.length, "context")}`);
  if (v.exclude.length > 0) lines.push(`without ${amount(v.exclude.length, "context")}`);
  if (v.conclusionsOnly) lines.push("starts and conclusions only");
  if (v.from.length > 0) lines.push(`only messages of ${v.from.map(who).join(", ")}`);
  const all = lines.join(", ");
  return `${all.charAt(0).toUpperCase()}${all.slice(1)}.`;
}

define("meup-contexts", Contexts);
