/** Time and chance as the core is given them, so that tests can give it their own. */

export interface Clock {
  /** Milliseconds that never go back. */
  now(): number;
  /** Calls back once, after so many milliseconds. The answer takes that back. */
  after(ms: number, f: () => void): () => void;
  /** From 0 to 1, without 1. */
  random(): number;
}

/** The browser's own. */
export const realClock: Clock = {
  now: () => performance.now(),
  after: (ms, f) => {
    const timer = setTimeout(f, ms);
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};

/** How long to wait before an attempt, counted from 1: evenly drawn below a bound that doubles. */
export function backoff(attempt: number, random: number, least = 250, most = 15_000): number {
  return random * Math.min(most, least * 2 ** Math.min(attempt - 1, 20));
}
