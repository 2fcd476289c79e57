/** One shared timer for elements that display elapsed seconds. */

const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

/** Calls f four times a second until the returned function is called. */
export function onTick(f: () => void): () => void {
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
