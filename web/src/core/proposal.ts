/** Proposals in the state of the page; the rules are the SDK's. */

import type { Proposed } from "@sdk/proposal.js";
import type { ParticipantID } from "@sdk/types.js";
import type { Call, Participant } from "./state.js";

/** Returns the participants that can run the tool of a proposal without a host: the connected ones except the proposer and the user. */
export function candidates(participants: Iterable<Participant>, p: Proposed, you: ParticipantID): readonly ParticipantID[] {
  return [...participants].flatMap((x) => (x.present && x.id !== p.from && x.id !== you ? [x.id] : [])).sort();
}

/** Reports whether a call is undecided. */
export function undecided(call: Call): boolean {
  return call.proposed && call.outcome === "pending" && call.decidedBy === "";
}
