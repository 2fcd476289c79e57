/** An answer that is sent while it is generated. */

import type { Client } from "./client.js";
import { realClock } from "./clock.js";
import { InterruptedError, isRejected } from "./errors.js";
import { newID } from "./ids.js";
import type { ID, ParticipantID } from "./types.js";

/** Milliseconds between two chunks. A text that is complete before the first one is not streamed. */
const PAUSE = 100;
/** Bound of the streamed bytes; the complete answer has the rest. */
const MAX_STREAM = 64 * 1024;

/** The stream of an answer. A gateway that refuses it, or a lost connection, ends the stream and not the answer. */
export class AnswerStream {
  private id = ""; // "": it is not open
  private unsent = "";
  private size = 0;
  private off = false; // nothing more is sent
  private sending: Promise<void> = Promise.resolve();
  private stop: (() => void) | null = null; // of the timer of the next chunk
  private closing: Promise<ID> | null = null;

  constructor(
    private readonly client: Client,
    private readonly question: ID,
    private readonly audience: readonly ParticipantID[],
  ) {}

  /** Adds a piece of the answer, which is sent within PAUSE. */
  add(text: string): void {
    this.size += new TextEncoder().encode(text).length;
    if (this.size > MAX_STREAM || this.off || this.closing !== null) return; // beyond the bound, a later piece would leave a gap
    this.unsent += text;
    this.stop ??= realClock.after(PAUSE, () => {
      this.sending = this.flush().finally(() => {
        this.stop = null;
        if (this.unsent !== "" && !this.off) this.add("");
      });
    });
  }

  private async flush(): Promise<void> {
    const data = this.unsent;
    this.unsent = "";
    try {
      if (this.id === "") {
        const id = newID();
        await this.put("stream.open", { stream_id: id, content_type: "text/markdown", description: "the answer" });
        this.id = id;
      }
      await this.put("stream.data", { stream_id: this.id, data });
    } catch (err) {
      this.off = true;
      if (!isRejected(err) && !(err instanceof InterruptedError)) this.client.fault("an answer is not streamed further", err);
    }
  }

  private put(kind: string, payload: { readonly [key: string]: string }): Promise<unknown> {
    return this.client.publish({ kind, ...(this.audience.length > 0 && { to: this.audience }), correlationId: this.question, payload });
  }

  /** Closes the stream, or withdraws it; the first call counts. Returns its id, "" if it did not carry the answer. */
  end(withdraw = false): Promise<ID> {
    this.off ||= withdraw && this.closing === null;
    return (this.closing ??= this.close());
  }

  private async close(): Promise<ID> {
    this.stop?.();
    await this.sending;
    this.stop?.();
    if (this.id !== "" && this.unsent !== "" && !this.off) await this.flush();
    if (this.id === "") return "";
    await this.put("stream.close", { stream_id: this.id, ...(this.off && { reason: "withdrawn" }) }).catch(() => {}); // it closes with the connection
    return this.off ? "" : this.id;
  }
}
