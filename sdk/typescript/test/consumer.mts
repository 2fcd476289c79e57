// Compiled, not run: the types as a program sees them.
import { type Envelope, type Participant, ProtocolError, connect } from "@meup-protocol/sdk";

export async function main(): Promise<void> {
  await using me: Participant = await connect({ url: "http://localhost:8080", space: "lab" });
  await me.send({ kind: "reasoning.thought", context: "c", payload: { message: "m", parallel_group: 0, further: true } });
  await me.send({ kind: "x.own", payload: { anything: 1 } });
  // @ts-expect-error a thought has a message
  await me.send({ kind: "reasoning.thought", payload: {} });
  // @ts-expect-error the format is plain or markdown
  await me.send({ kind: "chat", payload: { message: "m", format: "html" } });
  me.serveTools({ add: { handler: ({ a }, { from, progress }) => (progress(1), `${from} ${String(a)}`) } });
  me.onQuestion(async (q) => {
    const text = await q.reason(async (r) => (await r.callTool("add", { a: 1 })).text);
    await using r = await q.start({ message: "more" });
    await r.conclude({ message: text, confidence: 0.5 });
    return text;
  });
  for await (const e of me) handle(e);
}

function handle(e: Envelope): number {
  // @ts-expect-error payloads of others are unknown
  const text: string = e.payload["message"];
  return text.length;
}

export function code(err: unknown): string {
  return err instanceof ProtocolError && err.code === "rate_limited" ? err.refusal.message : "";
}
