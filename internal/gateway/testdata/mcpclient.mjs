// A participant with the MCP client of the TypeScript SDK. It prints what it gets,
// one JSON object a line.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(pathToFileURL(process.env.MODULES + '/x.cjs'));
const { Client, StreamableHTTPClientTransport } = require('@modelcontextprotocol/client');
const print = (step, value) => console.log(JSON.stringify({ step, ...value }));

const client = new Client(
	{ name: 'test', version: '1' },
	{
		versionNegotiation: { mode: process.env.ERA === 'legacy' ? 'legacy' : { pin: process.env.ERA } },
		listChanged: {
			tools: {
				debounceMs: 0,
				onChanged: (error, tools) => print('changed', { error: error?.message, tools: tools?.map((t) => t.name) }),
			},
		},
	},
);
const transport = new StreamableHTTPClientTransport(new URL(process.env.ADDRESS), {
	requestInit: { headers: { Authorization: `Bearer ${process.env.TOKEN}` } },
});
await client.connect(transport);
print('connected', { revision: client.getNegotiatedProtocolVersion(), instructions: client.getInstructions() });
const { tools } = await client.listTools();
print('tools', { tools: tools.map((t) => t.name) });
const call = async (name, args, options) => {
	const r = await client.callTool({ name, arguments: args }, options);
	return { error: r.isError === true, text: r.content.map((c) => c.text).join('\n'), value: r.structuredContent };
};
const said = await call('say', { message: 'where is the zebra?' });
print('said', said);
let progress = 0;
const answer = await call('wait', { after: said.value.cursor, seconds: 55 }, { onprogress: () => progress++, resetTimeoutOnProgress: true });
print('answer', { ...answer, progress });
const abort = new AbortController();
await call('fan__hold', {}, { signal: abort.signal, onprogress: () => abort.abort() }).then(
	() => print('held', { error: null }),
	(e) => print('held', { error: String(e) }),
);
print('precise', await call('lamp__precise', { n: 1 }));
const proposed = await call('lamp__precise', { n: 2 });
print('proposed', proposed);
const after = JSON.parse(proposed.text).cursor;
print('outcome', await call('wait', { after, seconds: 50, kinds: ['mcp.request', 'mcp.response', 'mcp.reject', 'mcp.withdraw'] }));
const { resources } = await client.listResources();
print('resources', { uris: resources.map((r) => r.uri) });
const { prompts } = await client.listPrompts();
print('prompts', { names: prompts.map((p) => p.name) });
print('end', {});
for await (const line of process.stdin) {
	if (String(line).includes('end')) break;
}
await client.close();
