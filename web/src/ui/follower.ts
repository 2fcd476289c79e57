/**
 * Keeps the scroll position of a box: at the end it stays at the end; elsewhere
 * the first visible row keeps its place when content above changes its size. While
 * the pointer is on a row to decide, that row keeps its place, and the end is followed
 * again when the pointer has left it. A ResizeObserver measures after layout and
 * before paint.
 */

/** Distance from the end that counts as the end, in pixels. */
const END_DISTANCE = 40;

export class Follower {
  following = true;
  private lastTop = 0;
  private anchor: Element | null = null;
  private offset = 0;
  private held = false;
  /** The row to decide under the pointer. */
  private pointed: Element | null = null;
  private readonly sizes: ResizeObserver;
  private readonly onScroll = (): void => this.scrolled();
  private readonly onPointer = (e: PointerEvent): void => this.point(e.type !== "pointerleave" && e.target instanceof Element ? e.target.closest(".row.decide") : null);

  /** `moved` is called when other rows may have to be rendered. */
  constructor(
    private readonly box: HTMLElement,
    private readonly content: HTMLElement,
    private readonly moved: () => void,
  ) {
    this.sizes = new ResizeObserver(() => this.resized());
    this.sizes.observe(box);
    this.sizes.observe(content);
    box.addEventListener("scroll", this.onScroll, { passive: true });
    box.addEventListener("pointerover", this.onPointer);
    box.addEventListener("pointerleave", this.onPointer);
  }

  stop(): void {
    this.sizes.disconnect();
    this.box.removeEventListener("scroll", this.onScroll);
    this.box.removeEventListener("pointerover", this.onPointer);
    this.box.removeEventListener("pointerleave", this.onPointer);
  }

  get atEnd(): boolean {
    return this.box.scrollHeight - this.box.scrollTop - this.box.clientHeight < END_DISTANCE;
  }

  /** Scrolls to the end and follows it. */
  toEnd(): void {
    this.following = true;
    this.box.scrollTop = this.box.scrollHeight;
  }

  /** Stops following the end. */
  release(): void {
    this.following = false;
    this.rememberAnchor();
  }

  /** Keeps the toggled element in place; following the end is suspended until the layout has settled. */
  hold(): void {
    this.lastTop = this.box.scrollTop;
    this.rememberAnchor();
    this.following = false;
    this.held = true;
    requestAnimationFrame(() => requestAnimationFrame(() => this.settle()));
  }

  private point(row: Element | null): void {
    if (row === this.pointed) return;
    this.pointed = row;
    if (row !== null) this.rememberAnchor();
    else if (this.following) this.box.scrollTop = this.box.scrollHeight;
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
    this.rememberAnchor();
    if (before !== this.following || !this.following) this.moved();
  }

  private resized(): void {
    // Apply a scroll whose event is still pending.
    if (this.following && this.box.scrollTop < this.lastTop - 1 && !this.atEnd) this.following = false;
    const kept = !this.following || this.pointed?.isConnected === true;
    if (kept) this.restore();
    else this.box.scrollTop = this.box.scrollHeight;
    this.lastTop = this.box.scrollTop;
    if (kept) this.rememberAnchor();
    if (this.held) {
      this.held = false;
      this.following = this.atEnd;
    }
    this.moved();
  }

  /** Records the row under the pointer that is to be decided, or the first visible one, and its offset. */
  private rememberAnchor(): void {
    const top = this.box.getBoundingClientRect().top;
    if (this.pointed?.isConnected === true) {
      this.anchor = this.pointed;
      this.offset = this.anchor.getBoundingClientRect().top - top;
      return;
    }
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
      this.rememberAnchor();
      return;
    }
    const scrolled = this.box.scrollTop - this.lastTop;
    const moved = this.anchor.getBoundingClientRect().top - this.box.getBoundingClientRect().top - (this.offset - scrolled);
    if (Math.abs(moved) >= 1) this.box.scrollTop += moved;
  }
}
