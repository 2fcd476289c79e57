/**
 * Keeps a scrolled box where it is to be. At its end, it stays at the end. Away
 * from it, the first row that is to be seen stays where it is, whatever changes
 * its size above it. Sizes are looked at when the browser has just computed
 * them and has painted nothing yet.
 */

/** So near to the end is at the end, in pixels. */
const NEAR = 40;

export class Follower {
  following = true;
  private lastTop = 0;
  private anchor: Element | null = null;
  private offset = 0;
  private held = false;
  private readonly sizes: ResizeObserver;
  private readonly onScroll = (): void => this.scrolled();

  /** `moved` is called when there may be more to be drawn. */
  constructor(
    private readonly box: HTMLElement,
    private readonly content: HTMLElement,
    private readonly moved: () => void,
  ) {
    this.sizes = new ResizeObserver(() => this.resized());
    this.sizes.observe(box);
    this.sizes.observe(content);
    box.addEventListener("scroll", this.onScroll, { passive: true });
  }

  stop(): void {
    this.sizes.disconnect();
    this.box.removeEventListener("scroll", this.onScroll);
  }

  get atEnd(): boolean {
    return this.box.scrollHeight - this.box.scrollTop - this.box.clientHeight < NEAR;
  }

  /** Goes to the end and stays there. */
  toEnd(): void {
    this.following = true;
    this.box.scrollTop = this.box.scrollHeight;
  }

  /** Leaves the end: somebody wants to read something. */
  release(): void {
    this.following = false;
    this.note();
  }

  /** Somebody has opened or closed something: it stays under the pointer, the end does not matter for the moment. */
  hold(): void {
    this.lastTop = this.box.scrollTop;
    this.note();
    this.following = false;
    this.held = true;
    requestAnimationFrame(() => requestAnimationFrame(() => this.settle()));
  }

  private settle(): void {
    if (!this.held) return;
    this.held = false;
    this.following = this.atEnd;
    this.moved();
  }

  private scrolled(): void {
    const top = this.box.scrollTop;
    const before = this.following;
    if (this.atEnd) this.following = true;
    else if (top < this.lastTop - 1) this.following = false;
    this.lastTop = top;
    this.note();
    if (before !== this.following || !this.following) this.moved();
  }

  private resized(): void {
    // A scrolling whose event is still to come counts already.
    if (this.following && this.box.scrollTop < this.lastTop - 1 && !this.atEnd) this.following = false;
    if (this.following) this.box.scrollTop = this.box.scrollHeight;
    else this.restore();
    this.lastTop = this.box.scrollTop;
    if (!this.following) this.note();
    if (this.held) {
      this.held = false;
      this.following = this.atEnd;
    }
    this.moved();
  }

  /** Remembers the first row that is to be seen. */
  private note(): void {
    const top = this.box.getBoundingClientRect().top;
    const rows = this.content.querySelector(".rows")?.children;
    let low = 0;
    let high = rows?.length ?? 0;
    while (low < high) {
      const mid = (low + high) >> 1;
      if ((rows?.[mid]?.getBoundingClientRect().bottom ?? 0) <= top) low = mid + 1;
      else high = mid;
    }
    this.anchor = rows?.[low] ?? null;
    this.offset = (this.anchor?.getBoundingClientRect().top ?? 0) - top;
  }

  private restore(): void {
    if (this.anchor?.isConnected !== true) {
      this.note();
      return;
    }
    const scrolled = this.box.scrollTop - this.lastTop;
    const moved = this.anchor.getBoundingClientRect().top - this.box.getBoundingClientRect().top - (this.offset - scrolled);
    if (Math.abs(moved) >= 1) this.box.scrollTop += moved;
  }
}
