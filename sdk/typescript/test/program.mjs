// A program that asks itself, proposes a call, and gets the signal of its argument then. It
// prints what it sent after the question.
import { run } from "@meup-protocol/sdk";
import { FakeGateway } from "./fake.mjs";

const g = new FakeGateway();
const receive = g.receive.bind(g);
g.receive = (socket, frame) => {
  receive(socket, frame);
  if (frame.kind === "mcp.proposal") process.kill(process.pid, process.argv[2]);
};
await run(g.options(), (me) => {
  me.onQuestion((q) => q.reason((r) => r.propose({ participant: "tools", name: "write" })));
  g.say("alice", "chat", { message: "why?" });
});
console.log(g.log.flatMap((e) => (e.from === "bot" ? [e.kind] : [])).join(" "));
