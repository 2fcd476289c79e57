/** A real gateway for tests, built once and started on a port of its own. */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Api } from "../src/core/api.js";
import type { Socket } from "@sdk/connection.js";
import type { Storage } from "@sdk/outbox.js";
import { Room } from "../src/core/room.js";

declare const REPOSITORY: string;

const CONFIG = (port: number, data: string): string => `
listen: 127.0.0.1:${port}
data: ${data}
limits: {rate: 1000, burst: 1000}
spaces:
  lab:
    participants:
      alice: {token: alice-token-for-tests, capabilities: ["*"]}
      bob: {token: bob-token-for-tests-1, capabilities: [chat]}
      mallory: {token: mallory-token-for-tests, capabilities: [chat]}
`;

/** The program, or why there is none. */
function program(dir: string): string {
  const given = process.env["MEUP_GATEWAY"];
  if (given !== undefined) return given;
  const path = join(dir, "meup-gateway");
  execFileSync("go", ["build", "-buildvcs=false", "-trimpath", "-o", path, "./cmd/meup-gateway"], { cwd: REPOSITORY, stdio: "pipe", env: { ...process.env, CGO_ENABLED: "0" } });
  return path;
}

/** Whether a gateway can be built here. */
export function buildable(): boolean {
  if (process.env["MEUP_GATEWAY"] !== undefined) return true;
  try {
    execFileSync("go", ["version"], { stdio: "ignore" });
    return existsSync(join(REPOSITORY, "go.mod"));
  } catch {
    return false;
  }
}

export class Gateway {
  private process: ChildProcess | null = null;
  private readonly rooms: Room[] = [];

  private constructor(
    private readonly dir: string,
    private readonly path: string,
    readonly port: number,
  ) {}

  static async make(): Promise<Gateway> {
    const dir = mkdtempSync(join(tmpdir(), "meup-web-"));
    const port = await freePort();
    const g = new Gateway(dir, program(dir), port);
    writeFileSync(join(dir, "meup.yaml"), CONFIG(port, join(dir, "data")));
    await g.start();
    return g;
  }

  async start(): Promise<void> {
    this.process = spawn(this.path, ["serve", "--config", join(this.dir, "meup.yaml")], { stdio: "ignore" });
    await until("the gateway is ready", async () => {
      const r = await fetch(`http://127.0.0.1:${this.port}/readyz`).catch(() => null);
      return r?.ok === true;
    });
  }

  /** Ends it as a power cut does. */
  async kill(): Promise<void> {
    const p = this.process;
    this.process = null;
    if (p === null || p.exitCode !== null) return;
    const gone = once(p, "exit");
    p.kill("SIGKILL");
    await gone;
  }

  api(token: string): Api {
    return new Api({ base: `http://127.0.0.1:${this.port}`, headers: { Authorization: `Bearer ${token}` } });
  }

  /** The page of somebody. Node's WebSocket has no cookies, so the token goes as programs' do. */
  room(token: string, options: { space?: string; storage?: Storage; page?: number } = {}): Room {
    const room = new Room({
      space: options.space ?? "lab",
      base: `ws://127.0.0.1:${this.port}`,
      api: this.api(token),
      storage: options.storage ?? null,
      ...(options.page !== undefined && { page: options.page }),
      open: (url, protocols) =>
        new WebSocket(url, [...protocols, `bearer.${Buffer.from(token).toString("base64url")}`]) as unknown as Socket,
    });
    this.rooms.push(room);
    room.start();
    return room;
  }

  async end(): Promise<void> {
    for (const r of this.rooms) r.close();
    await this.kill();
    rmSync(this.dir, { recursive: true, force: true });
  }
}

/**
 * A port for a gateway that is started there more than once: below the ports that systems give
 * to connections, and taken by the UDP socket of the same number until the process ends, as for
 * the tests in Go.
 */
async function freePort(): Promise<number> {
  for (let i = 0; i < 1000; i++) {
    const port = 10_100 + Math.floor(Math.random() * 21_900);
    const mark = createSocket("udp4").unref();
    const s = createServer();
    try {
      mark.bind(port, "127.0.0.1");
      await once(mark, "listening");
      s.listen(port, "127.0.0.1");
      await once(s, "listening");
    } catch {
      mark.close();
      continue;
    }
    s.close();
    await once(s, "close");
    return port;
  }
  throw new Error("no port is free");
}

/** Waits until something holds; fails after five minutes. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let i = 0; i < 15000; i++) {
    if (await holds()) return;
    await new Promise((r) => setTimeout(r, 20));
  }
  throw new Error(`not within 5 minutes: ${what}`);
}
