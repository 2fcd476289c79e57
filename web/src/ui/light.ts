/**
 * The base of the page's own elements. They draw into the document itself and
 * not into a shadow of it, so that one can select and find text across them,
 * and that a label in one of them can name what is in another.
 */

import { LitElement } from "lit";

export abstract class Light extends LitElement {
  protected override createRenderRoot(): HTMLElement {
    return this;
  }
}

/** Registers an element, once. */
export function define(name: string, element: CustomElementConstructor): void {
  if (customElements.get(name) === undefined) customElements.define(name, element);
}
