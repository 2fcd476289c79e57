/** A block of code: its language, a button that copies it, and the highlighted text. */

import { type TemplateResult, html } from "lit";
import { highlight } from "../core/highlight.js";
import { visible } from "../core/unicode.js";
import { PageElement, define } from "./element.js";

/** How long the button says that the code was copied, milliseconds. */
const COPIED = 2000;

export class Code extends PageElement {
  static override properties = { text: { attribute: false }, language: { attribute: false }, note: { state: true } };

  declare text: string;
  declare language: string;
  /** The result of copying. */
  declare private note: string;
  private timer: ReturnType<typeof setTimeout> | undefined;

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    clearTimeout(this.timer);
  }

  protected override render(): TemplateResult {
    const parts = highlight(this.text, this.language);
    return html`<div class="code-head"><span class="code-language">${this.language || "text"}</span><button class="code-copy" type="button" @click=${() => void this.copy()}>${this.note || "Copy"}</button></div>
      <pre tabindex="0" data-language=${this.language}><code>${parts.map((x) => (x.type === "" ? visible(x.text) : html`<span class=${`code-${x.type}`}>${visible(x.text)}</span>`))}</code></pre>`;
  }

  private async copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(this.text);
      this.note = "Copied";
    } catch {
      this.note = "Select the text to copy it";
    }
    clearTimeout(this.timer);
    this.timer = setTimeout(() => (this.note = ""), COPIED);
  }
}

define("meup-code", Code);
