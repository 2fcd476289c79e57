/** Conversations at random, with everything that there is. */

import type { Envelope } from "@sdk/types.js";
import { Scribe } from "./support.js";

/** A conversation of many agents at random, with everything that there is. */
export function babble(random: () => number, length: number): readonly Envelope[] {
  const w = new Scribe();
  const out: Envelope[] = [];
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const people = ["alice", "bob", "planner", "critic", "files"];
  const contexts: string[] = ["free", "free/er"];
  const kinds = [
    "chat", "chat", "chat.cancel", "chat.acknowledge", "reasoning.start", "reasoning.start", "reasoning.thought", "reasoning.thought", "reasoning.hypothesis",
    "reasoning.conclusion", "reasoning.cancel", "mcp.request", "mcp.request", "mcp.proposal", "mcp.response", "mcp.response", "mcp.reject", "mcp.withdraw",
    "capability.grant", "capability.revoke", "stream.open", "stream.close", "participant.pause", "participant.resume", "space.kick", "x.app",
  ];
  for (let i = 0; i < length; i++) {
    const kind = pick(kinds);
    const context = random() < 0.6 ? pick(contexts) : undefined;
    const refs = Array.from({ length: Math.floor(random() * 3) }, () => `m${1 + Math.floor(random() * (w.seq + 3))}`);
    const e = w.say(
      pick(people),
      kind,
      {
        message: `text ${i}`, method: pick(["tools/call", "tools/call", "tools/list", "resources/read", "notifications/cancelled"]), stream_id: `s${Math.floor(random() * 9)}`,
        params: { name: pick(["a", "b"]), arguments: { i } }, reason: pick(["timeout", "unsafe"]), tool_name: pick(["", "a", "b"]), parallel_group: pick([undefined, 0, 1]),
        recipient: pick(people), grant_id: pick(refs) ?? "", capabilities: ["chat", "reasoning/*"], result: { tools: [{ name: "t" }] }, participant_id: pick(people),
      },
      {
        after: Math.floor(random() * 5000),
        ...(context !== undefined && { context }),
        ...(refs.length > 0 && { correlationId: refs.length === 1 ? (refs[0] as string) : refs }),
        ...(random() < 0.2 && { to: [pick(people)] }),
      },
    );
    if (kind === "reasoning.start" && (context?.split("/").length ?? 0) < 4) contexts.push(context === undefined ? e.id : `${context}/${e.id}`);
    out.push(e);
  }
  return out;
}
