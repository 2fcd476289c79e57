// A participant as a whole program: its lines, and its exit status.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test } from "node:test";
import { ToolError, run } from "@meup-protocol/sdk";
import { FakeGateway, until } from "./fake.mjs";

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
  const { status, err } = await program(away('token: "x", connectTimeout: 20, onWarning: () => {}'));
  assert.match(err, /^meup: the gateway at http:\/\/127.0.0.1:1 was not reached within 0.02 s \(.*\): start it, or check the address\n$/);
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
  const { status, err } = await program(away('token: "x"'), (child, err) => err.includes("stopping") || child.kill("SIGINT"));
  assert.match(err, /^meup: waiting for the gateway at http:\/\/127.0.0.1:1: .*\nmeup: stopping\n$/);
  assert.equal(status, 130);
});

test("a signal closes proposals and contexts", async () => {
  for (const [signal, want] of [["SIGINT", 130], ["SIGTERM", 0]]) {
    const { status, out, err } = await program(["program.mjs", signal]);
    assert.match(err, /^meup: joined lab as bot at http:\/\/gateway.example\nmeup: question \S+ of alice begins\nmeup: stopping: 1 question stays open until the next start\nmeup: question \S+ of alice: not answered after \d\.\d s: the agent is shutting down\n$/);
    assert.equal(out, "reasoning.start mcp.proposal mcp.withdraw reasoning.cancel\n");
    assert.equal(status, want);
  }
});

test("the lines of questions have no text of them, and no control characters of others", async () => {
  const lines = [];
  const g = new FakeGateway();
  const log = console.warn;
  const fault = console.error;
  console.warn = (line) => lines.push(line);
  console.error = (...parts) => lines.push(parts.map((part) => (part instanceof Error ? part.message : part)).join(" "));
  try {
    let me;
    const running = run(g.options({ onError: undefined }), (it) => {
      me = it;
      me.onQuestion((q) => {
        if (q.text === "raise") throw new Error("a defect");
        if (q.text === "fail") throw new ToolError("out of\npaper \u001b[2J", {});
        return q.text === "silent" ? undefined : "yes";
      }, { catchUp: "off" });
    });
    await until("joined", () => me);
    for (const text of ["secret", "silent", "raise", "fail"]) {
      g.say("alice", "chat", { message: text }, { id: text === "secret" ? "q" : text, to: ["bot"] });
      await until("the end", () => lines.some((line) => line.startsWith(`meup: question ${text === "secret" ? "q" : text} of alice: `)));
    }
    await me.close();
    await running;
  } finally {
    console.warn = log;
    console.error = fault;
  }
  assert.deepEqual(lines.map((line) => line.replace(/\d+\.\d s/, "N s")), [
    "meup: joined lab as bot at http://gateway.example",
    "meup: question q of alice begins",
    "meup: question q of alice: answered in N s",
    "meup: question silent of alice begins",
    "meup: question silent of alice: not answered after N s: the handler has sent no answer",
    "meup: question raise of alice begins",
    "meup: question raise of alice: not answered after N s: a defect",
    "meup: question fail of alice begins",
    "meup: question fail of alice: not answered after N s: out of paper  [2J",
  ]);
});
