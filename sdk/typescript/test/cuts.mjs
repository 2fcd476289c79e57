// Sends numbered chats, answers questions and reports the received chats, until
// stdin ends. Its connection is cut all the time.
import { connect } from "@meup-protocol/sdk";

const me = await connect({ backoff: { min: 2, max: 20 }, buffer: 32 });
me.onQuestion((q) => q.reason(async (r) => {
  await r.thought(`about ${q.text}`);
  return `answer to ${q.text}`;
}), { answer: "addressed", catchUp: "off" });

let over = false;
process.stdin.resume().on("end", () => (over = true));

let ended = false;
const unanswered = new Set();
const receive = (async () => {
  for await (const e of me) {
    if (e.kind === "chat" && e.from === "planner") unanswered.delete(e.correlationId);
    if (e.kind === "chat" && e.from === "alice") {
      console.log(JSON.stringify(e.seq));
      if (e.to !== undefined) unanswered.add(e.id);
      ended ||= e.payload.message === "the end";
    }
    if (ended && unanswered.size === 0) return;
  }
})();

for (let n = 0; !over; n++) {
  const last = me.chat(`m${n}`, { to: ["alice"] });
  if (n % 8 === 7) await last;
  else last.catch((err) => console.error(err));
}
await me.chat("done", { to: ["alice"] });
await receive;
await me.close();
