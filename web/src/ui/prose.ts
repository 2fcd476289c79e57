/** The text of a message or a thought: plain, or Markdown once its module is loaded. */

import { type TemplateResult, html } from "lit";
import { PageElement, define } from "./element.js";
import { plain } from "./text.js";
import { longText } from "./format.js";

type Markdown = typeof import("./markdown.js");

let loaded: Markdown | null = null;
let loading: Promise<Markdown> | null = null;

/** Long Markdown is rendered in part at first; a cut inside a table renders the table as text. */
export class Prose extends PageElement {
  static override properties = { text: { attribute: false }, format: { attribute: false }, breaks: { attribute: false }, failed: { state: true } };

  declare text: string;
  declare format: "plain" | "markdown";
  /** Keep line breaks in Markdown. */
  declare breaks: boolean | undefined;
  declare private failed: boolean;

  protected override render(): TemplateResult {
    if (this.format !== "markdown" || this.failed) return html`<div class="prose plain" dir="auto">${longText(this.text)}</div>`;
    if (loaded === null) {
      void this.load();
      return html`<div class="prose plain" dir="auto">${plain(this.text.slice(0, 6000))}</div>`;
    }
    const { markdown } = loaded;
    return html`<div class="prose" dir="auto">${longText(this.text, (s) => markdown(s, this.breaks === true))}</div>`;
  }

  private async load(): Promise<void> {
    try {
      loading ??= import("./markdown.js");
      loaded = await loading;
    } catch {
      loading = null;
      this.failed = true; // the plain text stays
    }
    this.requestUpdate();
  }
}

define("meup-prose", Prose);

const MARKS = /[`*_~#>|\\]|\]\(|&#?\w+;|^\s*(?:[-+]|\d{1,9}[.)])\s|^\s*(?:-{2,}|={2,})\s*$/mu;

/** The format of a text that declares none: text with any Markdown syntax is Markdown. */
export function formatOf(text: string): "plain" | "markdown" {
  return MARKS.test(text) ? "markdown" : "plain";
}

/** Renders a thought, whose kinds declare no format. */
export function thought(text: string): unknown {
  return formatOf(text) === "markdown" ? html`<meup-prose .text=${text} .format=${"markdown"} .breaks=${true}></meup-prose>` : longText(text);
}
