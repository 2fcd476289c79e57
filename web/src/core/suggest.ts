/** Questions that a user may begin with, for the agents and tools that are online. */

import type { Participant, SpaceState } from "./state.js";

/** Maximum number of suggestions. */
const MAX = 4;

/** Returns questions to agents that are online; none if there is no agent. */
export function suggestions(s: SpaceState): readonly string[] {
  const online = [...s.participants.values()].filter((p) => p.present && p.id !== s.you?.id);
  const agents = online.filter((p) => p.agent).sort((a, b) => a.id.localeCompare(b.id));
  const [agent] = agents;
  if (agent === undefined) return [];
  const out = [`@${agent.id} What can you help me with?`];
  if (online.some((p) => p.tools.length > 0)) out.push(`@${agent.id} Which tools are here, and which of them need my approval?`);
  const reading = firstReader(online);
  if (reading !== "") out.push(`@${agent.id} Use ${reading} and summarize what you find.`);
  const [, second] = agents;
  if (second !== undefined) out.push(`@${agent.id} @${second.id} How would you split a task between you?`);
  return out.slice(0, MAX);
}

/** The name of a tool that declares to change nothing, and that needs no argument. */
function firstReader(online: readonly Participant[]): string {
  const needsNone = (schema: unknown): boolean => !Array.isArray((schema as { required?: unknown } | null)?.required);
  return online.flatMap((p) => p.tools).find((t) => t.readOnly === true && needsNone(t.inputSchema) && /^[\w.-]{1,40}$/u.test(t.name))?.name ?? "";
}
