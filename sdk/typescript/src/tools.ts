/** Tools of the participants of a space: lists, results, and which participant has which tool. */

import type { Client } from "./client.js";
import { realClock } from "./clock.js";
import { DiscoveryError, ToolError } from "./errors.js";
import { arr, field, isObject, obj, recipients, str, strings } from "./read.js";
import { AWAY, type Requests } from "./requests.js";
import type { Envelope, ParticipantID, Payload } from "./types.js";
import { setPublicMessage } from "./wording.js";

/** A tool as tools/list describes it. */
export interface Tool {
  readonly name: string;
  readonly description?: string;
  /** A JSON Schema of the arguments. */
  readonly inputSchema?: Payload;
  readonly annotations?: Payload;
}

/** A tool, and the participant that runs it. */
export interface OfferedTool extends Tool {
  readonly participant: ParticipantID;
}

/** A tool by its own name, and the participant that runs it. */
export interface Located {
  readonly participant: ParticipantID;
  readonly tool: string;
}

/** The result of a tool. */
export class ToolResult {
  constructor(
    /** As the tool returned it. */
    readonly raw: Payload,
  ) {}

  get content(): readonly Payload[] {
    return arr(field(this.raw, "content")).filter(isObject);
  }

  /** The texts of the content, joined by newlines. */
  get text(): string {
    return this.content.flatMap((c) => (field(c, "type") === "text" ? [str(field(c, "text"))] : [])).join("\n");
  }

  /** `structuredContent`; undefined without. */
  get structured(): unknown {
    return field(this.raw, "structuredContent");
  }
}

/** Returns the result of tools/call. Throws ToolError if it is an error. */
export function toolResult(v: unknown): ToolResult {
  const result = new ToolResult(obj(v));
  if (field(result.raw, "isError") === true) throw new ToolError(result.text || "the tool failed", result.raw);
  return result;
}

/** Bounds of a list: pages and tools of a participant, milliseconds. */
const MAX_PAGES = 10;
const MAX_TOOLS = 256;
const LIST = 10_000;
/** Milliseconds for participants that do not declare tools, most of which are people and never respond. */
const LIST_UNDECLARED = 2_000;

/** The tools of other participants, listed when they are needed. */
export class Directory {
  private readonly lists = new Map<ParticipantID, Promise<readonly Tool[]>>();
  private listening = false;

  constructor(
    private readonly client: Client,
    private readonly requests: Requests,
  ) {}

  /** Returns the tools of the connected participants that declare some, and of others on request. */
  async all(o: { readonly participants?: readonly ParticipantID[]; readonly signal?: AbortSignal } = {}): Promise<readonly OfferedTool[]> {
    this.listen();
    const { participants, you } = this.client;
    const among = o.participants ?? participants.flatMap((p) => (p.serves?.includes("tools") === true ? [p.id] : []));
    const lists = await Promise.all(among.filter((id) => id !== you).map(async (id) => (await this.listOf(id, LIST, o.signal)).map((t) => ({ ...t, participant: id }))));
    return lists.flat();
  }

  /**
   * Returns the participant that runs a tool, and the tool's own name. A name of the
   * form participant/tool is that of a connected participant; any other name is that of
   * an own tool, or of the only participant that offers it. Throws DiscoveryError for
   * none, or several.
   */
  async resolve(name: string, serves: (tool: string) => boolean, among?: readonly ParticipantID[], signal?: AbortSignal): Promise<Located> {
    this.listen();
    const slash = name.indexOf("/");
    const named = slash > 0 && slash < name.length - 1 ? { participant: name.slice(0, slash), tool: name.slice(slash + 1) } : null;
    if (named !== null && this.isHere(named.participant)) return named;
    const { participants, you } = this.client;
    if (serves(name)) return { participant: you, tool: name };
    const others = participants.filter((p) => p.id !== you && among?.includes(p.id) !== false);
    const declared = others.filter((p) => p.serves?.includes("tools") === true).map((p) => p.id);
    let owners = await this.ownersOf(name, declared, LIST, signal);
    if (owners.length === 0 && named !== null && (await this.returns(named.participant, signal))) return named;
    if (owners.length === 0) owners = await this.ownersOf(name, others.flatMap((p) => (declared.includes(p.id) ? [] : [p.id])), LIST_UNDECLARED, signal);
    const [owner] = owners;
    if (owner === undefined) {
      const away = named === null ? "" : ` (${named.participant} is not connected)`;
      const why = named === null ? `${name} was not called: no connected participant offers it` : `${named.tool} of ${named.participant} was not called: ${named.participant} is not connected`;
      throw setPublicMessage(new DiscoveryError(`no connected participant offers the tool ${name}${away}`), `the tool ${why}`);
    }
    if (owners.length > 1) {
      const advice = `${owners.join(" and ")} offer the tool ${name}: call ${owner}/${name}, or name one with the option participant`;
      throw setPublicMessage(new DiscoveryError(advice), `the tool ${name} was not called: several participants offer it`);
    }
    return { participant: owner, tool: name };
  }

  private isHere(id: ParticipantID): boolean {
    return this.client.participants.some((p) => p.id === id);
  }

  /** Waits a little for a participant that is not connected, and reports whether it is. */
  private async returns(id: ParticipantID, signal?: AbortSignal): Promise<boolean> {
    if (this.isHere(id)) return true;
    signal?.throwIfAborted();
    await new Promise<void>((resolve) => {
      const end = (): void => {
        stop();
        unhandle();
        unwatch();
        signal?.removeEventListener("abort", end);
        resolve();
      };
      const stop = realClock.after(AWAY, end);
      const unhandle = this.client.handle(() => {
        if (this.isHere(id)) end();
      });
      const unwatch = this.client.onEnd(end);
      signal?.addEventListener("abort", end, { once: true });
    });
    signal?.throwIfAborted();
    return this.isHere(id);
  }

  private async ownersOf(name: string, among: readonly ParticipantID[], timeout: number, signal?: AbortSignal): Promise<readonly ParticipantID[]> {
    const found = await Promise.all(among.map(async (id) => (await this.listOf(id, timeout, signal)).some((t) => t.name === name)));
    signal?.throwIfAborted();
    return among.filter((_, i) => found[i]).sort();
  }

  /** Returns the list of a participant; empty if it does not respond. */
  private listOf(id: ParticipantID, timeout: number, signal?: AbortSignal): Promise<readonly Tool[]> {
    const known = this.lists.get(id);
    if (known !== undefined) return known;
    const list = this.request(id, timeout, signal).catch(() => {
      // a participant that declares tools is asked again, any other one when it joins again
      if ((signal?.aborted === true || timeout === LIST) && this.lists.get(id) === list) this.lists.delete(id);
      return [];
    });
    this.lists.set(id, list);
    return list;
  }

  private async request(id: ParticipantID, timeout: number, signal?: AbortSignal): Promise<readonly Tool[]> {
    const tools: Tool[] = [];
    let cursor = "";
    for (let page = 0; page < MAX_PAGES && tools.length < MAX_TOOLS; page++) {
      const got = obj(await this.requests.request(id, "tools/list", cursor === "" ? {} : { cursor }, { timeout, ...(signal !== undefined && { signal }) }));
      tools.push(...arr(field(got, "tools")).flatMap((x) => tool(x) ?? []));
      cursor = str(field(got, "nextCursor"));
      if (cursor === "") break;
    }
    return tools.slice(0, MAX_TOOLS);
  }

  /** Forgets lists that may have changed. */
  private listen(): void {
    if (this.listening) return;
    this.listening = true;
    this.client.handle((e) => {
      if (e.kind === "system.presence") this.lists.delete(str(field(obj(field(e.payload, "participant")), "id")));
      if (e.kind === "system.welcome") this.lists.clear();
      if (announces(e) && (recipients(e).length === 0 || recipients(e).includes(this.client.you))) this.lists.delete(e.from);
    });
  }
}

function announces(e: Envelope): boolean {
  if (e.kind === "participant.status") return strings(field(e.payload, "offers")).includes("tools");
  return e.kind === "mcp.request" && field(e.payload, "method") === "notifications/tools/list_changed";
}

function tool(v: unknown): Tool | null {
  const t = obj(v);
  const name = str(field(t, "name"));
  return name === "" ? null : ({ ...t, name } as Tool);
}
