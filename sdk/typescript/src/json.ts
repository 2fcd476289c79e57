/**
 * JSON with exact numbers.
 *
 * A proposal may contain an id of twenty digits, and its approval must contain
 * the same number, not a neighboring double. So numbers that a double cannot
 * represent are parsed as ExactNumber and serialized unchanged. Texts without
 * such numbers, nearly all, use the engine's JSON.
 */

/** A number that a double cannot represent, as text. */
export class ExactNumber {
  constructor(readonly text: string) {}

  toString(): string {
    return this.text;
  }

  /** For JSON.stringify: approximately the same number. */
  toJSON(): number {
    return Number(this.text);
  }
}

const MAX_DEPTH = 128;

/** Matches texts that may contain a long number or one with an exponent. */
const SUSPICIOUS = /[:[,\s]-?(?:[0-9.]{16,}|[0-9]+(?:\.[0-9]+)?[eE])/;

/** Parses a JSON text. Throws SyntaxError like JSON.parse. */
export function parse(text: string): unknown {
  const value: unknown = JSON.parse(text); // reports syntax errors, too
  return SUSPICIOUS.test(text) || /^\s*-?[0-9]/.test(text) ? new Reader(text).read() : value;
}

/** Serializes a value as JSON; "null" for values without JSON. */
export function stringify(value: unknown): string {
  return write(value, 0);
}

/** Serializes a value for display: never throws, and returns "…" for deep nesting. */
export function look(value: unknown): string {
  try {
    return stringify(value);
  } catch {
    return "…";
  }
}

function write(v: unknown, depth: number): string {
  if (depth > MAX_DEPTH) throw new RangeError("nested too deeply to be written as JSON");
  if (v instanceof ExactNumber) return v.text;
  if (typeof v !== "object" || v === null) return JSON.stringify(v) ?? "null";
  if (Array.isArray(v)) return "[" + v.map((x) => write(x, depth + 1)).join(",") + "]";
  const parts: string[] = [];
  for (const [key, x] of Object.entries(v)) {
    if (x !== undefined) parts.push(JSON.stringify(key) + ":" + write(x, depth + 1));
  }
  return "{" + parts.join(",") + "}";
}

/** Returns a text that is equal for equal values: sorted members, normalized numbers. Throws for deep nesting. */
export function canonical(v: unknown, depth = 0): string {
  if (depth > MAX_DEPTH) throw new RangeError("nested too deeply to be compared");
  if (v instanceof ExactNumber || typeof v === "number") return digits(String(v));
  if (typeof v !== "object" || v === null) return JSON.stringify(v) ?? "null";
  if (Array.isArray(v)) return "[" + v.map((x) => canonical(x, depth + 1)).join(",") + "]";
  const members = Object.entries(v).map(([key, x]) => JSON.stringify(key) + ":" + canonical(x, depth + 1));
  return "{" + members.sort().join(",") + "}";
}

/** Reports whether a double equals the number in the text. */
function holds(text: string, n: number): boolean {
  return Number.isFinite(n) && digits(text) === digits(String(n));
}

/** Returns the significant digits and the exponent, equal for all spellings of a number. */
function digits(text: string): string {
  const m = /^(-?)([0-9]*)\.?([0-9]*)(?:[eE]([+-]?[0-9]+))?$/.exec(text);
  if (m === null) return text;
  const whole = m[2] ?? "";
  const all = (whole + (m[3] ?? "")).replace(/^0+/, "");
  const significant = all.replace(/0+$/, "");
  if (significant === "") return "0";
  const exponent = BigInt(m[4] ?? "0") - BigInt((m[3] ?? "").length) + BigInt(all.length - significant.length);
  return `${m[1] ?? ""}${significant}e${exponent}`;
}

/** Parses a text that JSON.parse has accepted. */
class Reader {
  private at = 0;

  constructor(private readonly text: string) {}

  read(): unknown {
    return this.value(0);
  }

  private value(depth: number): unknown {
    if (depth > MAX_DEPTH) throw new SyntaxError("nested too deeply");
    this.space();
    switch (this.text[this.at]) {
      case "{":
        return this.object(depth);
      case "[":
        return this.array(depth);
      case '"':
        return this.string();
      case "t":
        return this.word(4, true);
      case "f":
        return this.word(5, false);
      case "n":
        return this.word(4, null);
      default:
        return this.number();
    }
  }

  private space(): void {
    while (" \n\r\t".includes(this.text[this.at] ?? "x")) this.at++;
  }

  private word(length: number, value: unknown): unknown {
    this.at += length;
    return value;
  }

  private number(): unknown {
    const start = this.at;
    while (/[-+.0-9eE]/.test(this.text[this.at] ?? " ")) this.at++;
    if (this.at === start) throw new SyntaxError("no JSON");
    const token = this.text.slice(start, this.at);
    const n = Number(token);
    return holds(token, n) ? n : new ExactNumber(token);
  }

  private string(): string {
    const start = this.at++;
    while (this.at < this.text.length && this.text[this.at] !== '"') this.at += this.text[this.at] === "\\" ? 2 : 1;
    return JSON.parse(this.text.slice(start, ++this.at)) as string;
  }

  private array(depth: number): unknown[] {
    const out: unknown[] = [];
    for (this.at++, this.space(); this.text[this.at] !== "]"; this.space()) {
      out.push(this.value(depth + 1));
      this.comma("]");
    }
    this.at++;
    return out;
  }

  private object(depth: number): object {
    const out = {};
    for (this.at++, this.space(); this.text[this.at] !== "}"; this.space()) {
      const key = this.string();
      this.space();
      this.at++; // the colon
      const value = this.value(depth + 1);
      Object.defineProperty(out, key, { value, writable: true, enumerable: true, configurable: true });
      this.comma("}");
    }
    this.at++;
    return out;
  }

  private comma(end: string): void {
    this.space();
    if (this.text[this.at] === ",") {
      this.at++;
      this.space();
    } else if (this.text[this.at] !== end) {
      throw new SyntaxError("no JSON");
    }
  }
}
