// The program under test of sdk/conformance: see its README. Build dist first:
// node sdk/typescript/build.mjs. MEUP_WS names a module with a WebSocket class,
// such as that of the package ws; the default is the global one.
import { ProposalError, ProtocolError, RpcError, TimeoutError, ToolError, run } from "@meup-protocol/sdk";

const options = process.env.MEUP_WS === undefined ? {} : { WebSocket: (await import(process.env.MEUP_WS)).default };

/** Waits until a signal aborts. */
const aborted = (signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));

const isFailure = (err) => [ToolError, RpcError, ProtocolError, TimeoutError].some((type) => err instanceof type);

async function work(me, r, text) {
  const task = text.replace(/^@bot /, "");
  const [verb] = task.split(" ", 1);
  const rest = task.slice(verb.length + 1);
  switch (verb) {
    case "call":
      return (await r.callTool("echo", { text: rest }, { participant: "tools", propose: false })).content[0].text;
    case "ask": {
      const heard = [];
      const answer = await r.ask("planner", rest, { onThought: (text) => heard.push(text) });
      return answer.outcome === "answered" ? `answered: ${[...heard, answer.text].join(", ")}` : answer.outcome;
    }
    case "propose": {
      const done = await r.propose({ participant: "tools", name: "echo", arguments: { text: rest } });
      if (done.outcome === "rejected") return `rejected: ${done.reason}`;
      if (done.outcome !== "fulfilled") throw new ProposalError(done.proposal, done.outcome, done.by, done.reason);
      return done.result.content[0].text;
    }
    case "count":
      for (let i = 1; i <= Number(rest); i++) await me.publish({ kind: "chat", payload: { message: String(i) } }, { signal: r.signal });
      return "counted";
    case "wait":
      return aborted(r.signal);
    case "fail":
      throw new Error("asked to fail");
  }
  return `you said: ${text}`;
}

const tools = {
  echo: {
    description: "Returns its argument.",
    inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
    handler: ({ text }, { signal }) => {
      if (text === "fail") throw new Error("asked to fail");
      return text === "wait" ? aborted(signal) : String(text);
    },
  },
};

async function* pieces(text) {
  for (const word of text.split(" ")) {
    if (word === "fail") throw new Error("asked to fail");
    yield `${word} `;
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
}

const answer = (me, q) =>
  q.reason(async (r) => {
    await r.thought("thinking");
    const [, streamed] = /^(?:@bot )?stream (.*)$/s.exec(q.text) ?? [];
    if (streamed !== undefined) {
      await r.conclude("done");
      return q.streamAnswer(pieces(streamed));
    }
    const [, plain] = /^@bot plain (.*)$/s.exec(q.text) ?? [];
    if (plain !== undefined) return (await r.callTool("tools/echo", { text: plain })).text;
    const answer = await work(me, r, q.text).catch((err) => {
      if (isFailure(err) || err instanceof ProposalError) return "call failed";
      throw err;
    });
    await r.conclude("done");
    return answer;
  });

const fillIn = ({ message, signal }) => {
  if (message === "fail") throw new Error("asked to fail");
  if (message === "wait") return aborted(signal);
  return message === "decline" ? null : { text: message };
};

await run({ ...options, servesTools: true }, (me) => {
  me.serveTools(tools);
  if (process.env.MEUP_ROLE !== "no forms") me.onElicitation(fillIn);
  if (process.env.MEUP_ROLE !== "tools") me.onQuestion((q) => answer(me, q));
});
