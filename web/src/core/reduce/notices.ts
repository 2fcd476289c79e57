/** Notices in the main conversation. */

import { field, str } from "@sdk/read.js";
import { notice } from "../sentences.js";
import { capabilities } from "./people.js";
import type { Ctx, Logged } from "./context.js";

const KINDS = /^(?:capability\.(?:grant|revoke)|space\.(?:invite|kick)|reviewer\.(?:promote|demote)$|budget\.extend$|participant\.(?!status$|request-status$|compact-done$))/;

/** Adds a notice for an envelope that warrants one. */
export function note(c: Ctx, e: Logged): void {
  if (!KINDS.test(e.env.kind)) return;
  const text = notice(e.env);
  if (text === "") return;
  const id = e.env.id;
  const { payload } = e.env;
  const rights = e.env.kind.startsWith("capability.") ? (c.t.grants.get(str(field(payload, "grant_id")))?.capabilities ?? capabilities(field(payload, "capabilities"))) : [];
  c.t.notices.set(id, { id, seq: e.seq, at: e.at, from: e.env.from, kind: e.env.kind, envelope: id, text, rights });
  c.t.line({ type: "notice", key: id, seq: e.seq, at: e.at });
}
