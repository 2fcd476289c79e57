// A gateway in memory, for clients of the SDK: a WebSocket class and a log.
export class FakeGateway {
  log = [];
  logID = "log-1";
  sockets = [];
  /** Decides about a frame: undefined admits it, "lost" drops it, an object is the payload of system.error. */
  decide = () => undefined;
  participants = [{ id: "bot", capabilities: ["*"] }];
  capabilities = ["*"];
  ids = 0;
  /** Milliseconds that its clock is ahead. */
  ahead = 0;

  get WebSocket() {
    const gateway = this;
    return class {
      constructor(url, protocols) {
        Object.assign(this, { url: new URL(url), protocols, sent: [], isOpen: true });
        gateway.sockets.push(this);
        queueMicrotask(() => gateway.join(this));
      }
      send(text) {
        queueMicrotask(() => this.isOpen && gateway.receive(this, JSON.parse(text))); // no socket answers within send
      }
      close(code = 1000) {
        this.end(code);
      }
      end(code, reason = "") {
        if (!this.isOpen) return;
        this.isOpen = false;
        queueMicrotask(() => this.onclose?.({ code, reason }));
      }
      deliver(e) {
        if (this.isOpen) this.onmessage?.({ data: JSON.stringify(e) });
      }
    };
  }

  get socket() {
    return this.sockets.at(-1);
  }

  /** Options of connect. */
  options(more = {}) {
    return { url: "http://gateway.example", space: "lab", token: "secret", WebSocket: this.WebSocket, backoff: { min: 1, max: 2 }, onError: () => {}, fetch: (url) => Promise.resolve(this.history(new URL(url))), ...more };
  }

  /** The HTTP API: the log. */
  history(url) {
    const q = url.searchParams;
    let list = this.log.filter((e) => e.seq > Number(q.get("since") ?? 0) && e.seq < Number(q.get("before") ?? Infinity));
    if (q.has("from")) list = list.filter((e) => q.getAll("from").includes(e.from));
    if (q.has("kinds")) list = list.filter((e) => q.getAll("kinds").includes(e.kind));
    if (q.get("order") === "desc") list = list.reverse();
    const page = list.slice(0, Number(q.get("limit") ?? 1000));
    return new Response(JSON.stringify({ envelopes: page, next: page.at(-1)?.seq ?? 0, has_more: page.length < list.length }));
  }

  control(kind, payload, more = {}) {
    return { id: `g${++this.ids}`, ts: new Date(Date.now() + this.ahead).toISOString(), from: "system:gateway", kind, payload, ...more };
  }

  join(socket) {
    const q = socket.url.searchParams;
    socket.deliver(this.control("system.welcome", { you: { id: "bot", capabilities: this.capabilities, limits: {}, connections: 2 }, participants: this.participants, space: { name: "lab", seq: this.log.length, log: this.logID }, protocol: "meup/v0.1" }));
    if (q.has("since")) for (const e of this.log.slice(q.get("log") === this.logID || !q.has("log") ? Number(q.get("since")) : 0)) socket.deliver(e);
  }

  receive(socket, frame) {
    socket.sent.push(frame);
    if (frame.kind === "system.subscribe") return socket.deliver(this.control("system.subscribed", frame.payload, { correlationId: frame.id }));
    const verdict = this.decide(frame);
    if (verdict === "lost") return;
    if (verdict !== undefined) return socket.deliver(this.control("system.error", verdict, { correlationId: frame.id }));
    let e = this.log.find((x) => x.id === frame.id && x.from === "bot");
    if (e === undefined) {
      e = { ...frame, ts: new Date().toISOString(), from: "bot", seq: this.log.length + 1 };
      this.log.push(e);
      for (const s of this.sockets) s.deliver(e);
    }
    socket.deliver(this.control("system.ack", { seq: e.seq }, { correlationId: e.id }));
  }

  /** Another participant sends an envelope. */
  say(from, kind, payload = {}, more = {}) {
    const e = { id: `e${++this.ids}`, ts: new Date().toISOString(), from, kind, payload, ...more, seq: this.log.length + 1 };
    this.log.push(e);
    for (const s of this.sockets) s.deliver(e);
    return e;
  }

  presence(event, id, more = {}) {
    for (const s of this.sockets) s.deliver(this.control("system.presence", { event, participant: { id, capabilities: [], ...more } }));
  }

  /** All envelopes of the client in the log, of a kind. */
  of(kind) {
    return this.log.filter((e) => e.from === "bot" && e.kind === kind);
  }
}

/** Waits until a condition holds, as long as a busy machine needs. */
export async function until(what, holds) {
  for (let i = 0; i < 30_000; i++) {
    const v = holds();
    if (v) return v;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`not within 5 minutes: ${what}`);
}
