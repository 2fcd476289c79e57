/**
 * The base class of the page's elements. They render into the document and not
 * into a shadow root, so that selection and search work across elements and a
 * label can refer to another element's id.
 */

import { LitElement } from "lit";

export abstract class PageElement extends LitElement {
  protected override createRenderRoot(): HTMLElement {
    return this;
  }
}

/** Registers an element unless the name is already registered. */
export function define(name: string, element: CustomElementConstructor): void {
  if (customElements.get(name) === undefined) customElements.define(name, element);
}
