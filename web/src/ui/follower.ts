/**
 * Keeps the scroll position of a box: at the end it stays at the end; elsewhere
 * the first visible row keeps its place when content above changes its size. A pinned
 * message is at the top of the view: empty room below it lets the end be there, and the
 * end is not followed any more once more follows than the view can show. While
 * the pointer is on a row to decide, that row keeps its place, and the end is followed
 * again when the pointer has left it. A ResizeObserver measures after layout and
 * before paint.
 */

/** Distance from the end that counts as the end, in pixels. */
const END_DISTANCE = 40;
/** Distance of a pinned message from the top, in pixels. */
const PIN_DISTANCE = 16;

export class Follower {
  following = true;
  /** The id of the pinned message; "" for none. */
  pinned = "";
  /** More follows the pinned message than the view can show. */
  private full = false;
  private lastTop = 0;
  private lastHeight = 0;
  private anchor: Element | null = null;
  private offset = 0;
  private held = false;
  /** The row to decide under the pointer. */
  private pointed: Element | null = null;
  private readonly sizes: ResizeObserver;
  private readonly onScroll = (): void => this.scrolled();
  private readonly onPointer = (e: PointerEvent): void => this.point(e.type !== "pointerleave" && e.target instanceof Element ? e.target.closest(".row.decide") : null);

  /** `room` is an empty element from the top of the box. `moved` is called when other rows may have to be rendered. */
  constructor(
    private readonly box: HTMLElement,
    private readonly content: HTMLElement,
    private readonly room: HTMLElement,
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

  /** Scrolls to the end and follows it. The message to pin may not be rendered yet. */
  toEnd(pinned = ""): void {
    this.pinned = pinned;
    this.full = false;
    this.following = true;
    this.room.style.height = "0";
    this.box.scrollTop = this.box.scrollHeight;
    this.rememberPlace();
  }

  /** Stops following the end. */
  release(): void {
    this.following = false;
    this.rememberPlace();
    this.rememberAnchor();
  }

  /** Keeps the toggled element in place; following the end is suspended until the layout has settled. */
  hold(): void {
    this.rememberPlace();
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
    this.following = this.restsAtEnd;
    this.moved();
  }

  private scrolled(): void {
    const before = this.following;
    if (this.full && this.atEnd && this.box.scrollTop > this.lastTop + 1) this.toEnd(); // the user has scrolled down
    else if (this.restsAtEnd) this.following = true;
    else if (this.isHigher) this.following = false;
    this.rememberPlace();
    this.rememberAnchor();
    if (before !== this.following || !this.following) this.moved();
  }

  private resized(): void {
    // Apply a scroll whose event is still pending.
    if (this.following && this.isHigher && !this.atEnd) this.following = false;
    this.makeRoom();
    const kept = !this.following || this.pointed?.isConnected === true;
    if (kept) this.restore();
    else this.box.scrollTop = this.box.scrollHeight;
    this.rememberPlace();
    if (kept) this.rememberAnchor();
    if (this.held) {
      this.held = false;
      this.following = this.restsAtEnd;
    }
    this.moved();
  }

  /** Reports whether the end is visible and may be followed. */
  private get restsAtEnd(): boolean {
    return this.atEnd && !this.full;
  }

  /** Reports whether the user has scrolled up. A box that grows at its end is scrolled up by that much too. */
  private get isHigher(): boolean {
    const grown = Math.max(0, this.box.clientHeight - this.lastHeight);
    return this.box.scrollTop < this.lastTop - grown - 1;
  }

  private rememberPlace(): void {
    this.lastTop = this.box.scrollTop;
    this.lastHeight = this.box.clientHeight;
  }

  /**
   * Sets the height that the room gives to the box, at whose end the pinned message is at
   * the top. Of a high message, the last part is, which fills half the view.
   */
  private makeRoom(): void {
    const message = this.pinned === "" ? null : this.content.querySelector(`[data-id="${CSS.escape(this.pinned)}"]`);
    if (message === null) return; // it is not rendered yet, or moves from the outbox to the log
    const { top, bottom } = message.getBoundingClientRect();
    const content = this.content.getBoundingClientRect();
    const view = this.box.clientHeight;
    const height = Math.max(top - PIN_DISTANCE, bottom - view / 2) + view - content.top;
    this.room.style.height = `${height}px`;
    this.full = content.height > height;
    if (!this.full || !this.following) return;
    this.box.scrollTop = height - view;
    this.release();
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
