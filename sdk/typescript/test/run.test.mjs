// A participant as a whole program: its lines, and its exit status.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test } from "node:test";

/** Runs a program; `f` gets the process and each line of its standard error. */
async function program(args, f = () => {}) {
  const child = spawn(process.execPath, [...process.execArgv.filter((x) => x !== "--test"), "--no-warnings", ...args], { cwd: import.meta.dirname ?? new URL(".", import.meta.url).pathname });
  let out = "";
  let err = "";
  child.stdout.on("data", (text) => (out += text));
  child.stderr.on("data", (text) => {
    err += text;
    f(child, err);
  });
  const status = await new Promise((resolve) => child.on("close", resolve));
  return { status, out, err };
}

const away = (options) => ["--experimental-websocket", "--input-type=module", "-e", `import { run } from "@meup-protocol/sdk"; await run({ url: "http://127.0.0.1:1", space: "lab", ${options} }, () => {});`];

test("a gateway that stays away is one line, and exit status 1", async () => {
  const { status, err } = await program(away('token: "x", timeout: 20, onWarning: () => {}'));
  assert.match(err, /^meup: the gateway ws:\/\/127.0.0.1:1 was not reached within 0.02 s \(.*\): start it, or check the address\n$/);
  assert.equal(status, 1);
});

test("a missing token is one line, and exit status 1", async () => {
  for (const [options, want] of [['token: ""', /^meup: the option token is empty: .*\n$/], ["token: undefined", /^meup: the option token is undefined: .*\n$/]]) {
    const { status, err } = await program(away(options));
    assert.match(err, want);
    assert.equal(status, 1);
  }
});

test("Ctrl-C ends a program that waits for the gateway", async () => {
  const { status, err } = await program(away('token: "x"'), (child) => child.kill("SIGINT"));
  assert.match(err, /^meup: the gateway ws:\/\/127.0.0.1:1 is not reached, trying again for 30 s: .*\n$/);
  assert.equal(status, 130);
});

test("a signal closes proposals and contexts", async () => {
  for (const [signal, want] of [["SIGINT", 130], ["SIGTERM", 0]]) {
    const { status, out, err } = await program(["program.mjs", signal]);
    assert.equal(err, "meup: joined lab as bot at ws://gateway.example\n");
    assert.equal(out, "reasoning.start mcp.proposal mcp.withdraw reasoning.cancel\n");
    assert.equal(status, want);
  }
});
