// A front end with the client of AG-UI. For each of RUNS it prints what it gets, one JSON object a line, and an empty line.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(pathToFileURL(process.env.MODULES + '/x.cjs'));
const { HttpAgent } = require('@ag-ui/client');
const print = (value) => console.log(JSON.stringify(value));

for (const { ADDRESS, DECISION } of JSON.parse(process.env.RUNS)) {
	const agent = new HttpAgent({
		url: ADDRESS,
		headers: { Authorization: `Bearer ${process.env.TOKEN}` },
		threadId: process.env.THREAD,
		initialMessages: [{ id: 'm-1', role: 'user', content: process.env.QUESTION }],
	});
	const subscriber = { onEvent: ({ event }) => print(event) };
	await agent.runAgent({ runId: 'run-1' }, subscriber);
	const open = agent.pendingInterrupts ?? [];
	print({ type: 'interrupts', ids: open.map((i) => i.id) });
	if (open.length > 0) {
		const resume = open.map((i) => ({ interruptId: i.id, status: 'resolved', payload: { approved: DECISION === 'approve', reason: 'no thanks' } }));
		await agent.runAgent({ runId: 'run-2', resume }, subscriber);
	}
	print({ type: 'messages', messages: agent.messages });
	console.log();
}
