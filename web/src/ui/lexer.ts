/**
 * The Markdown lexer with bounded work: some of its searches restart at every
 * character and scan to the end of the text.
 */

import { type Token, type Tokens, Lexer, Tokenizer } from "marked";
import { LONGEST_ADDRESS } from "./text.js";

/** Bound on the characters scanned for emphasis and addresses; the rest is plain text. */
export const MOST_WORK = 3_000_000;
/** Maximum nesting of lists and quotations; deeper ones are text. */
const DEEPEST = 16;
const TOO_LONG = new RegExp(`^\\S{${LONGEST_ADDRESS + 1}}`, "u");

/** The tokenizer of one text. */
export class Frugal extends Tokenizer {
  /** Characters scanned so far. */
  work = 0;
  private depth = 0;

  override list(src: string): Tokens.List | undefined {
    return this.within(() => super.list(src));
  }

  override blockquote(src: string): Tokens.Blockquote | undefined {
    return this.within(() => super.blockquote(src));
  }

  override emStrong(src: string, masked: string, before?: string): Tokens.Em | Tokens.Strong | undefined {
    if (!/^[*_]/u.test(src) || this.spent(src.length)) return undefined;
    return super.emStrong(src, masked, before);
  }

  override del(src: string, masked: string, before?: string): Tokens.Del | undefined {
    if (!src.startsWith("~") || this.spent(src.length)) return undefined;
    return super.del(src, masked, before);
  }

  override url(src: string): Tokens.Link | undefined {
    return TOO_LONG.test(src) ? undefined : super.url(src);
  }

  override inlineText(src: string): Tokens.Text | undefined {
    const word = /^\S*/u.exec(src)?.[0].length ?? 0; // a mail address can extend to the end of the word
    if (this.spent(word)) return { type: "text", raw: src, text: src, escaped: false };
    return super.inlineText(src);
  }

  /** Adds to the work; returns true if that would exceed the bound. */
  private spent(characters: number): boolean {
    if (this.work + characters > MOST_WORK) return true;
    this.work += characters;
    return false;
  }

  private within<T>(read: () => T | undefined): T | undefined {
    if (this.depth >= DEEPEST) return undefined;
    this.depth++;
    try {
      return read();
    } finally {
      this.depth--;
    }
  }
}

/** Returns the tokens of a text; with `breaks`, line breaks are kept. */
export function lex(text: string, tokenizer = new Frugal(), breaks = false): readonly Token[] {
  return new Lexer({ gfm: true, breaks, tokenizer }).lex(text);
}
