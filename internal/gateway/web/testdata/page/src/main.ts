/** @license A page for tests. */
import { show } from "./shared";
import "./main.css";

// The code leaves the address before anything else happens.
const code = new URLSearchParams(location.hash.slice(1)).get("code");
if (code !== null) history.replaceState(null, "", location.pathname);

async function session(): Promise<Response> {
  if (code === null) return fetch("/api/session");
  return fetch("/api/session", { method: "POST", body: JSON.stringify({ code }) });
}

function connect(space: string): void {
  const socket = new WebSocket(`ws://${location.host}/ws?space=${space}&since=0`, ["meup.v0.1"]);
  socket.onmessage = (message: MessageEvent<string>) => {
    const envelope = JSON.parse(message.data) as { kind: string; payload: { you: { id: string } } };
    if (envelope.kind === "system.welcome") show("welcome", envelope.payload.you.id);
  };
}

const answer = await session();
const body = (await answer.json()) as { participant?: string; spaces?: { name: string }[]; error?: string };
show("session", `${answer.status} ${body.participant ?? body.error}`);
for (const space of body.spaces ?? []) connect(space.name);
const { lazy } = await import("./lazy");
lazy();
