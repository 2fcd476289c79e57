/** Kinds of envelopes in words, for people. */

import { oneLine } from "@sdk/read.js";
import { neutral } from "./unicode.js";

const WORDS: Readonly<Record<string, string>> = {
  chat: "Message",
  "chat.acknowledge": "Acknowledgment",
  "chat.cancel": "Canceled question",
  "mcp.request": "Call",
  "mcp.response": "Result",
  "mcp.proposal": "Proposal",
  "mcp.reject": "Rejection",
  "mcp.withdraw": "Withdrawn proposal",
  "mcp.opinion": "Opinion",
  "reasoning.start": "Reasoning",
  "reasoning.cancel": "Canceled reasoning",
  "capability.grant": "Granted access",
  "capability.revoke": "Revoked access",
  "budget.extend": "Extended budget",
  "policy.dismiss": "Dismissed suggestion",
  "space.invite": "Invitation",
  "space.kick": "Removal",
  "reviewer.promote": "Promotion of a reviewer",
  "reviewer.demote": "Demotion of a reviewer",
  "participant.pause": "Pause",
  "participant.resume": "End of a pause",
};

/** Returns a kind in words: "Proposal", "Hypothesis"; the last part of an unknown one. */
export function kindWords(kind: string): string {
  const dotted = kind.replaceAll("/", ".");
  if (Object.hasOwn(WORDS, dotted)) return WORDS[dotted] as string;
  const last = oneLine(neutral(dotted.slice(dotted.lastIndexOf(".") + 1)).replace(/[_-]+/gu, " ").trim(), 40) || "Other";
  return last.charAt(0).toUpperCase() + last.slice(1);
}
