// A host of the tool that examples/agent.mjs calls.
import { connect } from "@meup-protocol/sdk";

const me = await connect();
me.serveTools({
  temperature: {
    description: "The temperature of a city in °C.",
    inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    handler: ({ city }) => (city === "Oslo" ? "3" : Promise.reject(new Error(`no such city: ${city}`))),
  },
});
process.on("SIGTERM", () => me.close());
await me.closed;
