import { run } from "@meup-protocol/sdk";

// MEUP_URL, MEUP_TOKEN, MEUP_SPACE
await run({ servesTools: true }, (me) => {
  me.serveTools({
    temperature: {
      description: "Returns the temperature in a city, in °C.",
      inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
      handler: ({ city }) => (city === "Oslo" ? "3" : Promise.reject(new Error(`no such city: ${city}`))),
    },
  });
});
