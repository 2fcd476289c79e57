/**
 * The Markdown lexer with bounded work: some of its searches restart at every
 * character and scan to the end of the text.
 */

import { type Token, type Tokens, Lexer, Tokenizer } from "marked";
import { MAX_ADDRESS } from "./text.js";

/** Bound on the characters scanned for emphasis and addresses; the rest is plain text. */
export const MAX_WORK = 3_000_000;
/** Maximum nesting of lists and quotations; deeper ones are text. */
const MAX_DEPTH = 16;
const TOO_LONG = new RegExp(`^\\S{${MAX_ADDRESS + 1}}`, "u");

/** The tokenizer of one text. */
export class BoundedTokenizer extends Tokenizer {
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
    if (!/^[*_]/u.test(src) || this.exceeds(src.length)) return undefined;
    return super.emStrong(src, masked, before);
  }

  override del(src: string, masked: string, before?: string): Tokens.Del | undefined {
    if (!src.startsWith("~") || this.exceeds(src.length)) return undefined;
    return super.del(src, masked, before);
  }

  override url(src: string): Tokens.Link | undefined {
    return TOO_LONG.test(src) ? undefined : super.url(src);
  }

  override inlineText(src: string): Tokens.Text | undefined {
    const word = /^\S*/u.exec(src)?.[0].length ?? 0; // a mail address can extend to the end of the word
    if (this.exceeds(word)) return { type: "text", raw: src, text: src, escaped: false };
    return super.inlineText(src);
  }

  /** Adds to the work; returns true if that would exceed the bound. */
  private exceeds(characters: number): boolean {
    if (this.work + characters > MAX_WORK) return true;
    this.work += characters;
    return false;
  }

  private within<T>(read: () => T | undefined): T | undefined {
    if (this.depth >= MAX_DEPTH) return undefined;
    this.depth++;
    try {
      return read();
    } finally {
      this.depth--;
    }
  }
}

/** Returns the tokens of a text; with `breaks`, line breaks are kept. */
export function lex(text: string, tokenizer = new BoundedTokenizer(), breaks = false): readonly Token[] {
  return new Lexer({ gfm: true, breaks, tokenizer }).lex(text);
}
