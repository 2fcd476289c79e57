/** Time and randomness of the core, which tests replace. */

export interface Clock {
  /** Monotonic milliseconds. */
  now(): number;
  /** Calls f once after ms milliseconds. The returned function cancels it. */
  after(ms: number, f: () => void): () => void;
  /** In [0, 1). */
  random(): number;
}

/** The browser's clock. */
export const realClock: Clock = {
  now: () => performance.now(),
  after: (ms, f) => {
    const timer = setTimeout(f, ms);
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};

/** Returns the delay before an attempt, counted from 1: uniform below a bound that doubles. */
export function backoff(attempt: number, random: number, least = 250, most = 15_000): number {
  return random * Math.min(most, least * 2 ** Math.min(attempt - 1, 20));
}
