import { connect } from "@meup-protocol/sdk";

const me = await connect({ servesTools: true }); // MEUP_URL, MEUP_TOKEN, MEUP_SPACE

me.serveTools({
  temperature: {
    description: "Returns the temperature in a city, in °C.",
    inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    handler: ({ city }) => (city === "Oslo" ? "3" : Promise.reject(new Error(`no such city: ${city}`))),
  },
});

process.on("SIGTERM", () => me.close());
console.error(`${await me.closed}`);
