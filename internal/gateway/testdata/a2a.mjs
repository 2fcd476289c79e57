// An agent with the SDK of A2A. For each of RUNS it prints what it gets, one JSON object a line, and an empty line.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(pathToFileURL(process.env.MODULES + '/x.cjs'));
const { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory } = require('@a2a-js/sdk/client');
const sdk = require('@a2a-js/sdk');
const { RUNS, TOKEN } = process.env;
const print = (type, value) => console.log(JSON.stringify({ type, value }));
const fetchImpl = (address, init = {}) => fetch(address, { ...init, headers: { ...init.headers, Authorization: `Bearer ${TOKEN}` } });

const run = async ({ ADDRESS, BINDING, DECISION }) => {
	const transport = BINDING === 'JSONRPC' ? JsonRpcTransportFactory : RestTransportFactory;
	const client = await new ClientFactory({
		transports: [new transport({ fetchImpl })],
		cardResolver: new DefaultAgentCardResolver({ fetchImpl: fetch }), // the card needs no token
	}).createFromUrl(ADDRESS + '/');
	const card = await client.getAgentCard();
	print('card', { name: card.name, skills: card.skills.map((s) => s.id) });

	const message = (id, taskId, ...parts) => sdk.SendMessageRequest.fromJSON({ message: { messageId: id, taskId, role: 'ROLE_USER', parts } });
	const failure = async (name, f) => {
		try {
			await f();
			print('failure', { name });
		} catch (e) {
			print('failure', { name, error: e.name, message: e.message });
		}
	};

	// follow reads a stream until it ends, or cut returns true.
	let task, cursor, asked;
	const follow = async (stream, cut = () => false) => {
		for await (const event of stream) {
			const value = sdk.StreamResponse.toJSON(event);
			print('event', value);
			const body = value.task ?? value.statusUpdate ?? value.artifactUpdate;
			task ??= body.id;
			cursor = body.metadata?.['meup.cursor'] ?? cursor;
			asked = body.status?.message?.parts.find((p) => p.data?.proposal)?.data.proposal;
			if (cut(value)) {
				return;
			}
		}
	};
	const again = () => client.resubscribeTask(sdk.SubscribeToTaskRequest.fromJSON({ id: task }), { serviceParameters: { 'Last-Event-ID': cursor } });

	await follow(client.sendMessageStream(message('m-1', undefined, { text: 'why?' })), (e) => e.statusUpdate !== undefined);
	print('cut', cursor);
	await follow(again());
	if (asked) {
		const decision = { proposal: asked, decision: DECISION, reason: 'no thanks' };
		await failure('text is no decision', () => client.sendMessage(message('m-2', task, { text: 'yes, approved' })));
		await follow(client.sendMessageStream(message('m-3', task, { data: decision })));
	}
	print('task', sdk.Task.toJSON(await client.getTask(sdk.GetTaskRequest.fromJSON({ id: task, historyLength: 1 }))));
	print('retry', sdk.Task.toJSON(await client.sendMessage(message('m-1', undefined, { text: 'why?' }))));
	const list = await client.listTasks(sdk.ListTasksRequest.fromJSON({ pageSize: 10, includeArtifacts: true }));
	print('list', { size: list.totalSize, next: list.nextPageToken, tasks: list.tasks.map((t) => t.id) });
	await failure('subscribe to the end', () => follow(client.resubscribeTask(sdk.SubscribeToTaskRequest.fromJSON({ id: task }))));
	await failure('cancel the end', () => client.cancelTask(sdk.CancelTaskRequest.fromJSON({ id: task })));
	await failure('no task', () => client.getTask(sdk.GetTaskRequest.fromJSON({ id: 'nothing' })));
	await failure('file', () => client.sendMessage(message('m-4', undefined, { url: 'https://example.org/a.png' })));

	const waiting = await client.sendMessage({ ...message('m-5', undefined, { text: 'and now?' }), configuration: { returnImmediately: true, acceptedOutputModes: [] } });
	print('waiting', sdk.Task.toJSON(waiting));
	print('canceled', sdk.Task.toJSON(await client.cancelTask(sdk.CancelTaskRequest.fromJSON({ id: waiting.id }))));
	print('canceled again', sdk.Task.toJSON(await client.cancelTask(sdk.CancelTaskRequest.fromJSON({ id: waiting.id }))));
};

for (const each of JSON.parse(RUNS)) {
	await run(each);
	console.log();
}
