/** The side area: the tabs of the panels and the open panel. A sheet on narrow pages. */

import { type TemplateResult, html, nothing } from "lit";
import { createRef, ref } from "lit/directives/ref.js";
import type { SpaceShell } from "./shell.js";
import { icon } from "./icons.js";
import { PageElement, define } from "./element.js";
import type { Panel, PanelElement, PanelParams } from "./panel.js";
import { panels } from "./panels/index.js";
import { keepPanel } from "./prefs.js";
import "./resizer.js";

export class Side extends PageElement {
  static override properties = { shell: { attribute: false }, tick: { attribute: false }, open: { attribute: false }, params: { attribute: false }, error: { state: true } };

  declare shell: SpaceShell;
  declare tick: number;
  /** The id of the open panel; "" for none. */
  declare open: string;
  declare params: PanelParams;
  declare private error: string;

  private readonly place = createRef<HTMLElement>();
  private element: PanelElement | null = null;
  private shown = "";
  private view: unknown = null;
  private visits = 0;
  private preloaded = false;

  protected override render(): TemplateResult {
    const state = this.shell.shown;
    const offered = panels.filter((p) => (p.hidden !== true || p.id === this.open) && p.offered?.(state) !== false);
    const open = panels.find((p) => p.id === this.open);
    return html`<aside class="side" data-open=${open !== undefined} aria-label="Panels" @keydown=${this.key}>
      <div class="rail" role="tablist" aria-orientation="vertical" aria-label="Panels">${offered.map((p) => this.tab(p))}</div>
      ${open === undefined
        ? nothing
        : html`<div class="panel" data-panel=${open.id} role="tabpanel" id="panel" aria-label=${open.title}>
            <header class="panel-head">
              <h2>${open.title}</h2>
              <button class="icon-button panel-link" title="Copy link" aria-label="Copy link to this panel" @click=${() => void this.copyLink()}>${icon("link")}</button>
              <button class="icon-button" title="Close" aria-label="Close panel" @click=${() => this.show("")}>${icon("close")}</button>
            </header>
            <meup-resizer .column=${open.id === "trace" ? "trace" : "panel"} .label=${"Width of the panel"} .leading=${true}></meup-resizer>
            <div class="panel-body" ${ref(this.place)}>${this.error === "" ? nothing : html`<p class="page-line" role="alert">${this.error}</p>`}</div>
          </div>`}
    </aside>`;
  }

  private tab(p: Panel): TemplateResult {
    const n = p.badge?.(this.shell.shown) ?? 0;
    const chosen = p.id === this.open;
    const label = n > 0 ? `${p.title}, ${p.badgeLabel?.(n) ?? n}` : p.title;
    return html`<button class="tab" role="tab" data-panel=${p.id} aria-selected=${chosen ? "true" : "false"} aria-controls="panel" tabindex=${chosen || (this.open === "" && p === panels[0]) ? 0 : -1} @click=${() => this.show(chosen ? "" : p.id)}>
      ${icon(p.icon)}<span class="tab-title" aria-hidden="true">${p.title}</span>${n > 0 ? html`<span class="badge" aria-hidden="true" data-count=${n > 99 ? "99+" : n}></span>` : nothing}<span class="unseen">${label}</span>
    </button>`;
  }

  private async copyLink(): Promise<void> {
    try {
      await navigator.clipboard.writeText(location.href);
      this.shell.toast("Link copied");
    } catch {
      this.shell.toast("The link is in the address bar");
    }
  }

  private show(id: string): void {
    this.dispatchEvent(new CustomEvent("panel", { bubbles: true, detail: { id } }));
  }

  /** Keyboard navigation of the tabs. */
  private readonly key = (e: KeyboardEvent): void => {
    if (e.key === "Escape" && this.open !== "" && !e.defaultPrevented) {
      this.show("");
      return;
    }
    const by = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[e.key];
    const tab = (e.target as Element).closest(".tab");
    if (by === undefined || tab === null) return;
    const all = [...this.querySelectorAll<HTMLElement>(".tab")];
    all[(all.indexOf(tab as HTMLElement) + by + all.length) % all.length]?.focus();
    e.preventDefault();
  };

  /**
   * Loads all panels once the connection is live: a module that is first imported while
   * the gateway is unreachable fails, and browsers do not retry a failed import.
   */
  private preload(): void {
    if (this.preloaded || this.shell.room.connectionState.phase !== "live") return;
    this.preloaded = true;
    setTimeout(() => {
      for (const p of panels) p.load().catch(() => undefined); // reported when the panel is opened
    }, 1500);
  }

  protected override updated(): void {
    this.preload();
    if (this.open !== this.shown) void this.openPanel();
    else this.updatePanel();
  }

  /** Replaces the element of the open panel. */
  private async openPanel(): Promise<void> {
    const id = this.open;
    this.shown = id;
    this.querySelector('.tab[aria-selected="true"]')?.scrollIntoView({ block: "nearest", inline: "nearest" });
    this.element?.remove();
    this.element = null;
    this.error = "";
    keepPanel(id);
    const panel = panels.find((p) => p.id === id);
    if (panel === undefined) return;
    try {
      await panel.load();
    } catch {
      if (this.shown === id) this.error = "This panel could not be loaded. Reload the page when the gateway is reachable.";
      return;
    }
    if (this.shown !== id || this.place.value === undefined) return;
    this.element = document.createElement(panel.element) as PanelElement;
    this.updatePanel();
    this.place.value.append(this.element);
  }

  private updatePanel(): void {
    const e = this.element;
    if (e === null) return;
    e.shell = this.shell;
    if (this.view !== this.shell.view || this.visits !== this.shell.visits) {
      this.view = this.shell.view;
      this.visits = this.shell.visits;
      e.requestUpdate();
    }
    e.state = this.shell.shown;
    if (e.params !== this.params) e.params = this.params;
  }
}

define("meup-side", Side);
