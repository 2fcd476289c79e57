// A client with the npm package openai. It prints what it gets, one JSON object a line.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(pathToFileURL(process.env.MODULES + '/x.cjs'));
const OpenAI = require('openai');
const print = (value) => console.log(JSON.stringify(value));

const client = new OpenAI({ baseURL: process.env.ADDRESS + '/v1', apiKey: process.env.TOKEN });
const model = process.env.MODEL;
const steps = {
	async models() {
		for await (const m of client.models.list()) print({ model: m.id });
		print({ one: (await client.models.retrieve(model)).id });
	},
	async chat() {
		const messages = [{ role: 'user', content: process.env.QUESTION }];
		const done = await client.chat.completions.create({ model, messages });
		print({ chat: done.choices[0].message, id: done.id, usage: done.usage });
	},
	async stream() {
		const messages = [{ role: 'user', content: [{ type: 'text', text: process.env.QUESTION }] }];
		const stream = client.chat.completions.stream({ model, messages, stream_options: { include_usage: true } });
		for await (const chunk of stream) print({ chunk });
		const done = await stream.finalChatCompletion();
		print({ streamed: done.choices[0].message, usage: done.usage });
	},
	async follow() {
		const messages = [
			{ role: 'user', content: process.env.QUESTION },
			{ role: 'assistant', content: 'as before' },
			{ role: 'user', content: 'and now?' },
		];
		const done = await client.chat.completions.create({ model, messages });
		print({ follow: done.choices[0].message.content });
	},
	async response() {
		const done = await client.responses.create({ model, input: process.env.QUESTION });
		print({ response: done.output_text, output: done.output, id: done.id });
		const again = await client.responses.retrieve(done.id);
		print({ again: again.output_text, same: JSON.stringify(again.output) === JSON.stringify(done.output) });
		const next = await client.responses.create({ model, input: 'next', previous_response_id: done.id });
		print({ next: next.output_text });
	},
	async responses() {
		const stream = client.responses.stream({ model, input: [{ role: 'user', content: [{ type: 'input_text', text: process.env.QUESTION }] }] });
		for await (const event of stream) print({ event });
		const done = await stream.finalResponse();
		print({ final: done.output_text, output: done.output, status: done.status });
	},
	async faults() {
		const ask = (body, options) => client.chat.completions.create({ model, messages: [{ role: 'user', content: 'x' }], ...body }, options)
			.then(() => print({ fault: 'none' }), (e) => print({ fault: e.constructor.name, status: e.status, code: e.code, param: e.param, type: e.type }));
		await ask({ model: 'nowhere' });
		await ask({ model: 'lab/nobody' });
		await ask({ n: 2 });
		await ask({ tools: [{ type: 'function', function: { name: 'f' } }] });
		await ask({ messages: [] });
		const stranger = new OpenAI({ baseURL: process.env.ADDRESS + '/v1', apiKey: 'wrong', maxRetries: 0 });
		await stranger.models.list().then(() => print({ fault: 'none' }), (e) => print({ fault: e.constructor.name, status: e.status, code: e.code }));
	},
};
for (const name of process.env.STEPS.split(',')) await steps[name]();
