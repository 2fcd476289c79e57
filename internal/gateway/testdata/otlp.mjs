// A program with the AI SDK and its telemetry, which calls a tool and answers, for each of RUNS.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(pathToFileURL(process.env.MODULES + '/x.cjs'));
const { generateText, stepCountIs, tool, jsonSchema } = require('ai');
const { MockLanguageModelV2 } = require('ai/test');
const { BasicTracerProvider, BatchSpanProcessor, SimpleSpanProcessor } = require('@opentelemetry/sdk-trace-base');

// The context manager of @opentelemetry/context-async-hooks in short: spans get their parents.
const { AsyncLocalStorage } = require('node:async_hooks');
const { context, ROOT_CONTEXT } = require('@opentelemetry/api');
const storage = new AsyncLocalStorage();
context.setGlobalContextManager({
	active: () => storage.getStore() ?? ROOT_CONTEXT,
	with: (active, fn, self, ...args) => storage.run(active, fn.bind(self), ...args),
	bind: (active, target) => (typeof target === 'function' ? (...args) => storage.run(active, target, ...args) : target),
	enable() { return this; },
	disable() { return this; },
});

// patience is longer than a slow disk takes: an export waits for a sync for each envelope, and the usual limits are 5, 10 and 30 s.
const patience = 5 * 60_000;
for (const { ADDRESS, COMPRESSION, ENCODING, SIMPLE } of JSON.parse(process.env.RUNS)) {
	const { OTLPTraceExporter } = require('@opentelemetry/exporter-trace-otlp-' + ENCODING);
	const exporter = new OTLPTraceExporter({
		url: ADDRESS + '/v1/traces?space=lab',
		headers: { Authorization: 'Bearer ' + process.env.TOKEN },
		compression: COMPRESSION,
		timeoutMillis: patience,
	});
	const processor = SIMPLE ? new SimpleSpanProcessor(exporter) : new BatchSpanProcessor(exporter, { scheduledDelayMillis: patience, exportTimeoutMillis: patience });
	const provider = new BasicTracerProvider({ spanProcessors: [processor], forceFlushTimeoutMillis: patience });
	const usage = { inputTokens: 7, outputTokens: 3, totalTokens: 10 };
	const answers = [
		{ content: [{ type: 'tool-call', toolCallId: 'c1', toolName: 'read', input: '{"path":"a.txt"}' }], finishReason: 'tool-calls', usage, warnings: [] },
		{ content: [{ type: 'text', text: 'the file is short' }], finishReason: 'stop', usage, warnings: [] },
	];
	const result = await generateText({
		model: new MockLanguageModelV2({ modelId: 'mock-model', doGenerate: async () => answers.shift() }),
		prompt: 'how long is the file?',
		tools: { read: tool({ description: 'reads', inputSchema: jsonSchema({ type: 'object', properties: { path: { type: 'string' } } }), execute: async () => 'the text' }) },
		stopWhen: stepCountIs(3),
		experimental_telemetry: { isEnabled: true, functionId: 'reader', tracer: provider.getTracer('ai') },
	});
	await provider.forceFlush();
	await provider.shutdown();
	console.log(result.text);
	console.log();
}
