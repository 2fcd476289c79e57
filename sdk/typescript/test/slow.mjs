// Receives the log from its beginning, slower than the gateway sends it.
import { setImmediate as later } from "node:timers/promises";
import { connect } from "@meup-protocol/sdk";

const me = await connect({ since: 0, buffer: 16, backoff: { min: 1, max: 5 } });
let reached = 0;
for await (const e of me) {
  if (e.kind !== "chat") continue;
  console.log(JSON.stringify(e.seq));
  if (e.payload.message === "the end") break;
  if (++reached % 10 === 0) await me.chat("so far", { to: ["alice"] }); // an acknowledgment follows envelopes that do not fit
  await later();
}
await me.close();
