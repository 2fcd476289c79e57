/** Notices in the main conversation. */

import { notice } from "../sentences.js";
import type { Ctx, Logged } from "./context.js";

const KINDS = /^(?:capability\.(?:grant|revoke)|space\.(?:invite|kick)|reviewer\.(?:promote|demote)$|budget\.extend$|participant\.(?!status$|request-status$|compact-done$))/;

/** Adds a notice for an envelope that warrants one. */
export function note(c: Ctx, e: Logged): void {
  if (!KINDS.test(e.env.kind)) return;
  const text = notice(e.env);
  if (text === "") return;
  const id = e.env.id;
  c.t.notices.set(id, { id, seq: e.seq, at: e.at, from: e.env.from, kind: e.env.kind, envelope: id, text });
  c.t.line({ type: "notice", key: id, seq: e.seq, at: e.at });
}
