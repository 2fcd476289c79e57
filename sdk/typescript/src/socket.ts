/** Opening a WebSocket with a token, in the ways of the different runtimes. */

import type { Socket } from "./connection.js";
import { parse } from "./json.js";
import { field, obj, str } from "./read.js";
import type { Refusal } from "./types.js";

/** A WebSocket class: the global one, or that of the package `ws`. */
export type WebSocketClass = new (url: string, protocols?: never, options?: never) => unknown;

/** Bound of the body of a rejection that is read, in characters. */
const MAX_BODY = 64 * 1024;

/** The part of the package `ws` that reports a rejected upgrade. */
interface NodeSocket extends Socket {
  on(event: "unexpected-response", f: (request: { destroy(): void }, response: Response) => void): void;
}

interface Response {
  readonly statusCode?: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly socket?: { destroy(): void } | null;
  setEncoding(encoding: "utf8"): void;
  on(event: "data" | "end" | "error", f: (text: string) => void): void;
}

export class Opener {
  private refused: Refusal | null = null;
  private readonly runtime: "ws" | "node" | "standard";

  constructor(
    private readonly socket: WebSocketClass,
    private readonly token: string | undefined,
  ) {
    const g = globalThis as { WebSocket?: unknown; window?: unknown; Deno?: unknown; Bun?: unknown; process?: { versions?: { node?: string } } };
    if (typeof (socket.prototype as { on?: unknown }).on === "function") this.runtime = "ws";
    else if (socket === g.WebSocket && g.process?.versions?.node !== undefined && g.window === undefined && g.Deno === undefined && g.Bun === undefined) this.runtime = "node";
    else this.runtime = "standard";
  }

  /** The token for a subprotocol, where no header can be set. A header is better: proxies log subprotocols. */
  get subprotocolToken(): string | undefined {
    return this.runtime === "standard" ? this.token : undefined;
  }

  open(url: string, protocols: readonly string[]): Socket {
    this.refused = null;
    const headers = this.token === undefined ? {} : { Authorization: `Bearer ${this.token}` };
    const make = (...args: readonly unknown[]): unknown => Reflect.construct(this.socket, args);
    if (this.runtime === "standard") return make(url, [...protocols]) as Socket;
    if (this.runtime === "node") return make(url, { headers }) as Socket;
    const socket = make(url, [], { headers }) as NodeSocket;
    socket.on("unexpected-response", (request, response) => {
      let body = "";
      const connection = response.socket;
      const done = (): void => {
        this.refused ??= refusalOf(body, response);
        request.destroy();
        connection?.destroy(); // ws keeps it, and so the process alive
        socket.onclose?.({ code: 1006, reason: "" });
      };
      response.setEncoding("utf8");
      response.on("data", (text) => {
        if (body.length < MAX_BODY) body += text;
      });
      response.on("end", done);
      response.on("error", done);
    });
    return socket;
  }

  /** Returns the answer to the last upgrade, if it was rejected and the runtime reports it. */
  takeRefusal(): Refusal | null {
    const refusal = this.refused;
    this.refused = null;
    return refusal;
  }
}

function refusalOf(body: string, response: Response): Refusal {
  let parsed: unknown;
  try {
    parsed = parse(body);
  } catch {
    parsed = null; // of a proxy
  }
  const wait = Number(response.headers["retry-after"] ?? "");
  const again = Number.isFinite(wait) && wait > 0 ? { retry_after_ms: wait * 1000 } : {};
  const error = str(field(obj(parsed), "error"));
  if (error !== "") return { ...obj(parsed), error, message: str(field(obj(parsed), "message")), ...again };
  const status = response.statusCode ?? 0;
  const code = { 401: "unauthorized", 403: "forbidden", 404: "not_found", 429: "too_many_requests" }[status] ?? (status >= 500 ? "unavailable" : "bad_request");
  return { error: code, message: `The gateway answered with the HTTP status ${status}.`, ...again };
}
