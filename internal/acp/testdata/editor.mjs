// A client of the ACP SDK: its standard input and output are the agent's, and it reports
// what it gets on standard error, one JSON object per line.
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const { client, methods, ndJsonStream } = await import(pathToFileURL(process.env.SDK));
const report = (event) => process.stderr.write(JSON.stringify(event) + "\n");

const app = client({ name: "editor" })
  .onNotification(methods.client.session.update, ({ params }) => report({ update: params.update }))
  .onRequest(methods.client.session.requestPermission, ({ params }) => {
    report({ permission: params });
    const option = params.options.find((o) => o.kind === process.env.CHOICE);
    return { outcome: { outcome: "selected", optionId: option.optionId } };
  });

await app.connectWith(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)), async (agent) => {
  report({ initialize: await agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} }) });
  const { sessionId } = await agent.request(methods.agent.session.new, { cwd: "/", mcpServers: [] });
  const prompt = [{ type: "text", text: "what is it?" }, { type: "resource", resource: { uri: "file:///a.txt", text: "```" } }];
  report({ stop: await agent.request(methods.agent.session.prompt, { sessionId, prompt }) });
  report({ loaded: await agent.request(methods.agent.session.load, { sessionId, cwd: "/", mcpServers: [] }) });
});
process.exit(0);
