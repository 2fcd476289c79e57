/** How long something can still be decided: "Expires in 9m". */

import type { Millis } from "@sdk/types.js";
import { PageElement, define } from "../element.js";
import { expiry } from "../format.js";
import { Ticking } from "../ticker.js";

/** The rest of the time that is marked, milliseconds. */
const SOON = 60_000;

export class TimeLeft extends PageElement {
  static override properties = { at: { attribute: false }, now: { attribute: false } };

  declare at: Millis;
  /** The space's time. */
  declare now: () => Millis;

  constructor() {
    super();
    new Ticking(this, () => {
      if (this.hasUpdated && this.textContent !== expiry(this.at, this.now())) this.requestUpdate();
    });
  }

  protected override render(): string {
    this.classList.toggle("wait", this.at - this.now() < SOON);
    return expiry(this.at, this.now());
  }
}

define("meup-time-left", TimeLeft);
