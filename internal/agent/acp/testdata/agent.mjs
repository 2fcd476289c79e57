// An agent of the ACP SDK: it thinks, asks for permission, and answers.
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const { agent, methods, ndJsonStream } = await import(pathToFileURL(process.env.SDK));
const turns = new Map();

const app = agent({ name: "sdk-agent" })
  .onRequest(methods.agent.initialize, () => ({
    protocolVersion: 1,
    agentInfo: { name: "sdk-agent", version: "2.4.0" },
    agentCapabilities: { loadSession: false, mcpCapabilities: { http: true, sse: false } },
  }))
  .onRequest(methods.agent.session.new, ({ params }) => {
    const sessionId = `s${turns.size}`;
    turns.set(sessionId, { servers: params.mcpServers, abort: undefined });
    return { sessionId };
  })
  .onNotification(methods.agent.session.cancel, ({ params }) => turns.get(params.sessionId).abort?.abort())
  .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
    const { sessionId } = params;
    const turn = turns.get(sessionId);
    turn.abort = new AbortController();
    const update = (u) => client.notify(methods.client.session.update, { sessionId, update: u });
    if (params.prompt[0].text.includes("was not made")) {
      await update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: "Left as it is." } });
      return { stopReason: "end_turn" };
    }
    await update({ sessionUpdate: "agent_thought_chunk", content: { type: "text", text: `servers: ${turn.servers.map((s) => s.name + " " + s.type)}` } });
    await update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: "I change the file." } });
    const call = { toolCallId: "call_1", title: "Modifying config", kind: "edit", status: "pending", rawInput: { path: "/config.json" }, locations: [{ path: "/config.json" }] };
    await update({ sessionUpdate: "tool_call", ...call });
    const { outcome } = await client.request(methods.client.session.requestPermission, {
      sessionId,
      toolCall: call,
      options: [{ kind: "allow_once", name: "Allow", optionId: "allow" }, { kind: "reject_once", name: "Skip", optionId: "reject" }],
    });
    const allowed = outcome.outcome === "selected" && outcome.optionId === "allow";
    await update({ sessionUpdate: "tool_call_update", toolCallId: "call_1", status: allowed ? "completed" : "failed", rawOutput: { allowed } });
    await update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: allowed ? "Changed." : "Not allowed." } });
    return { stopReason: turn.abort.signal.aborted ? "cancelled" : "end_turn" };
  });

app.connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
