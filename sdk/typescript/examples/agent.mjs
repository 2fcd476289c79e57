import { connect } from "@meup-protocol/sdk";

const me = await connect(); // MEUP_URL, MEUP_TOKEN, MEUP_SPACE

me.onQuestion((q) =>
  q.reason(async (r) => {
    await r.thought("The weather service has the temperature.");
    const result = await r.callTool("weather/temperature", { city: "Oslo" });
    await r.conclude(`It returned ${result.text}.`);
    return `In Oslo it is ${result.text} °C.`;
  }),
);

process.on("SIGTERM", () => me.close());
console.error(`${await me.closed}`);
