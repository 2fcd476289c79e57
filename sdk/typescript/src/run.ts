/** A participant as a whole program, in Node, Deno and Bun. */

import type { ClientOptions } from "./client.js";
import { ClosedError, MeupError } from "./errors.js";
import { type Participant, connect } from "./participant.js";
import { oneLine } from "./wording.js";

interface Process {
  exitCode?: number | string | null | undefined;
  once(event: string, f: () => void): unknown;
  off(event: string, f: () => void): unknown;
}

/**
 * Joins a space as a program: calls `setup`, which adds handlers, and resolves
 * when the participant has left the space. SIGINT (Ctrl-C) and SIGTERM end it as
 * `close` does: open contexts and proposals are closed; a second signal ends the
 * program at once. A gateway that is not reached, that rejects the connection or
 * ends it, is reported on one line. The exit status is then 1, and 130 after
 * SIGINT.
 *
 * `onWarning`, by default standard error, also gets one line for the connection,
 * for each question that begins and that ends, and for the signal. They have ids
 * and names, and no text of a question: it may be private, and logs are kept
 * elsewhere and read by others than the space.
 */
export async function run(options: ClientOptions, setup: (me: Participant) => unknown): Promise<void> {
  const { process } = globalThis as unknown as { readonly process?: Process };
  const stop = new AbortController();
  let me: Participant | null = null;
  const end = (status: number) => (): void => {
    ignore();
    const n = me?.openQuestions ?? 0;
    const message = `stopping${n === 0 ? "" : n === 1 ? ": 1 question stays open until the next start" : `: ${n} questions stay open until the next start`}`;
    if (options.onWarning !== undefined) options.onWarning(message);
    else console.warn(`meup: ${message}`);
    if (process !== undefined && status !== 0) process.exitCode = status;
    stop.abort(new ClosedError());
    void me?.close();
  };
  const signals = { SIGINT: end(130), SIGTERM: end(0) };
  const ignore = (): void => Object.entries(signals).forEach(([name, f]) => process?.off(name, f));
  for (const [name, f] of Object.entries(signals)) process?.once(name, f);
  try {
    me = await join(options, stop.signal);
    me.warn(`joined ${me.space} as ${me.you} at ${me.address}`);
    me.reports = true;
    await setup(me);
    const why = await me.closed;
    if (!(why instanceof ClosedError)) throw why;
  } catch (err) {
    if (stop.signal.aborted && err instanceof MeupError) return;
    if (process !== undefined) process.exitCode = 1;
    await me?.close();
    if (!(err instanceof MeupError)) throw err; // of setup
    console.error(`meup: ${oneLine(err.message)}`);
  } finally {
    ignore();
  }
}

/** Joins. An error about the options is one of the user of the program. */
async function join(options: ClientOptions, signal: AbortSignal): Promise<Participant> {
  try {
    return await connect({ ...options, signal: options.signal === undefined ? signal : AbortSignal.any([options.signal, signal]) });
  } catch (err) {
    if (!(err instanceof TypeError)) throw err;
    throw new MeupError(err.message, { cause: err });
  }
}
