/** One timer for everything on the page that shows seconds passing. */

const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

/** Calls back four times a second. The answer ends that. */
export function pulse(f: () => void): () => void {
  listeners.add(f);
  timer ??= setInterval(() => {
    for (const each of listeners) each();
  }, 250);
  return () => {
    listeners.delete(f);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}
