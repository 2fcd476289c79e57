import { run } from "@meup-protocol/sdk";

// MEUP_URL, MEUP_TOKEN, MEUP_SPACE
await run({}, (me) => {
  me.onQuestion((q) =>
    q.reason(async (r) => {
      await r.thought("The weather service has the temperature.");
      const result = await r.callTool("weather/temperature", { city: "Oslo" });
      await r.conclude(`It returned ${result.text}.`);
      return `In Oslo it is ${result.text} °C.`;
    }),
  );
});
