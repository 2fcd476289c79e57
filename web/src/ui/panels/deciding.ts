/** Who decides on the proposals of a space, for the cards of its proposals. */

import type { ReactiveController, ReactiveControllerHost } from "lit";
import { type Roles, readDeciders, readRoles, rolesOf } from "../../core/deciders.js";
import type { Shell } from "../panel.js";

/** How long a response counts, milliseconds: a reload of the configuration may change it. */
const LASTS = 60_000;

interface Asked {
  readonly at: number;
  readonly response: Promise<Roles | null>;
}

const asked = new WeakMap<Shell, Asked>();

/** Reports whether the user may see the rights of others. */
export function seesRights(shell: Shell): boolean {
  return ["observe", "capability.grant", "capability.revoke"].some((kind) => shell.may(kind));
}

/**
 * Returns who decides in a space; null if the user may not see it. The policy says it at once; those who see
 * the deciders alone get them without scores. Others learn it when the gateway refuses their decision.
 */
function rolesIn(shell: Shell): Promise<Roles | null> {
  const known = asked.get(shell);
  if (known !== undefined && performance.now() - known.at < LASTS) return known.response;
  const response = seesRights(shell) ? shell.get("policy").then(readRoles) : shell.may("reviewer.demote") ? shell.get(`deciders?since=${encodeURIComponent(new Date().toISOString())}`).then((v) => rolesOf(readDeciders(v))) : Promise.resolve(null);
  const settled = response.catch(() => null);
  asked.set(shell, { at: performance.now(), response: settled });
  return settled;
}

/** Loads who decides for an element with a shell, and again while it renders. */
export class Deciding implements ReactiveController {
  /** Null before the response, and if the user may not see it. */
  roles: Roles | null = null;

  constructor(private readonly host: ReactiveControllerHost & { readonly shell: Shell }) {
    host.addController(this);
  }

  hostUpdate(): void {
    void rolesIn(this.host.shell).then((r) => {
      if (r === this.roles) return;
      this.roles = r;
      this.host.requestUpdate();
    });
  }
}
