// Prints the events of a thread, those after its first event, and the status for a thread that does not exist.
import { ApiError, threadEvents } from "@meup-protocol/sdk";

const { MEUP_URL: url, MEUP_SPACE: space, MEUP_TOKEN: token } = process.env;
let first = "";
for (const round of ["all", "rest"]) {
  for await (const e of threadEvents(space, "q", { url, token, after: first })) {
    if (first === "") first = e.id;
    console.log([round, e.turn, e.type, e.from, e.state, e.text, e.envelope?.id].join(" "));
    if (e.type === "ended") break;
  }
}
try {
  for await (const e of threadEvents(space, "none", { url, token })) console.log(e.type);
} catch (err) {
  console.log(err instanceof ApiError && err.status, err.refusal.error);
}
