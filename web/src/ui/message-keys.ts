/**
 * Keys of a message. Each message is one tab stop: up and down move between messages, left
 * and right between the controls of one, Escape back to it.
 */

/** Handles a key in a message. */
export function messageKey(e: KeyboardEvent): void {
  const message = e.currentTarget as HTMLElement;
  const target = e.target as HTMLElement;
  if (e.ctrlKey || e.metaKey || e.altKey || e.shiftKey || target.matches("pre, .table")) return;
  const next = nextStop(message, target, e.key);
  if (next === undefined) return;
  e.preventDefault();
  e.stopPropagation();
  next.focus();
}

function nextStop(message: HTMLElement, target: HTMLElement, key: string): HTMLElement | undefined {
  switch (key) {
    case "ArrowDown":
    case "ArrowUp": {
      if (target !== message) return undefined;
      const all = [...(message.closest(".rows")?.querySelectorAll<HTMLElement>(".message") ?? [])];
      return all[all.indexOf(message) + (key === "ArrowDown" ? 1 : -1)];
    }
    case "ArrowRight":
    case "ArrowLeft": {
      const controls = [...message.querySelectorAll<HTMLElement>("button, a[href]")];
      const at = controls.indexOf(target);
      return at < 0 ? controls.at(key === "ArrowRight" ? 0 : -1) : controls[at + (key === "ArrowRight" ? 1 : -1)];
    }
    case "Escape":
      return target === message ? undefined : message;
    default:
      return undefined;
  }
}
