// Lists the tools of an MCP server with the client of a framework, calls one, and
// prints a JSON object: node frameworks.mjs ai-sdk|langchain URL TOKEN ARGUMENTS PREFIX.
// The tool is the one whose name begins with the prefix.
const [framework, url, token, args, prefix] = process.argv.slice(2);
const headers = { Authorization: `Bearer ${token}` };

/** Returns the names of the tools, a function that calls one, and one that closes the client. */
const connect = {
  "ai-sdk": async () => {
    const { createMCPClient } = await import("@ai-sdk/mcp");
    const client = await createMCPClient({ transport: { type: "http", url, headers } });
    const { generateText } = await import("ai");
    const tools = await client.tools();
    // A model that calls the tool, as generateText of the package ai has it called.
    const call = async (toolName, input) => {
      const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
      const model = {
        specificationVersion: "v4", provider: "test", modelId: "test", supportedUrls: {},
        doGenerate: async () => ({ content: [{ type: "tool-call", toolCallId: "c1", toolName, input: JSON.stringify(input) }], finishReason: { unified: "tool-calls" }, usage, warnings: [] }),
      };
      const { toolResults, content } = await generateText({ model, tools, prompt: "Call it." });
      if (toolResults.length !== 1) throw new Error(`no result: ${JSON.stringify(content)}`);
      return toolResults[0].output;
    };
    return { names: Object.keys(tools), call, close: () => client.close() };
  },
  langchain: async () => {
    const { MultiServerMCPClient } = await import("@langchain/mcp-adapters");
    const client = new MultiServerMCPClient({ mcpServers: { space: { transport: "http", url, headers, automaticSSEFallback: false } } });
    const tools = await client.getTools();
    return { names: tools.map((t) => t.name), call: (name, input) => tools.find((t) => t.name === name).invoke(input), close: () => client.close() };
  },
}[framework];

const { names, call, close } = await connect();
const called = names.find((name) => name.startsWith(prefix)) ?? "";
const result = called === "" ? null : await call(called, JSON.parse(args));
await close();
console.log(JSON.stringify({ names, called, result }));
