/**
 * Untrusted text in the page. Characters that change the writing direction or
 * are invisible can make a text look like another one; a name can look like
 * another participant's or like a word of the page.
 */

/** Directional overrides, embeddings and isolates. */
const BIDI = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu;

/** Invisible characters. Joiners between letters are kept, since scripts and emoji need them. */
const UNSEEN = /[\u00AD\u034F\u115F\u1160\u17B4\u17B5\u180B-\u180F\u200B\u2060-\u2065\u206A-\u206F\u3164\uFEFF\uFFA0\uFFF9-\uFFFB]|[\u{1BCA0}-\u{1BCA3}\u{E0000}-\u{E0FFF}]/gu;

/** Control characters except tab and line feed. */
const CONTROL = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u2028\u2029]/gu;

/** Joiners without letters on both sides. */
const LOOSE_JOINER = /(?<![\p{L}\p{M}\p{Extended_Pictographic}\u{1F3FB}-\u{1F3FF}\uFE0F])[\u200C\u200D]|[\u200C\u200D](?![\p{L}\p{M}\p{Extended_Pictographic}\u2640\u2642\u2695])/gu;

/** More combining marks on one letter than any script has. */
const HEAP = /(\p{M}{8})\p{M}+/gu;

/** Reports whether a text contains invisible characters or ones that change the direction. */
export function suspicious(text: string): boolean {
  return [BIDI, UNSEEN, CONTROL, LOOSE_JOINER, HEAP].some((r) => text.search(r) >= 0);
}

/** Returns the text with such characters as code points: ⟨U+202E⟩. For code, arguments and all text that the user decides on. */
export function visible(text: string): string {
  return fold(text.replace(/\r\n/gu, "\n"), (c) => `⟨U+${(c.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

/** Returns the text without them. For prose and names; right-to-left scripts do not need them. */
export function neutral(text: string): string {
  return fold(text.replace(/\r\n?/gu, "\n"), () => "");
}

function fold(text: string, mark: (c: string) => string): string {
  if (!suspicious(text)) return text;
  return [BIDI, UNSEEN, CONTROL, LOOSE_JOINER]
    .reduce((t, r) => t.replace(r, mark), text)
    .replace(HEAP, "$1")
    .replace(/\p{Surrogate}/gu, "\uFFFD");
}

/** Returns a name on one line, with a maximum number of characters. */
export function name(text: string, most = 64): string {
  const clean = Array.from(neutral(text).replace(/\s+/gu, " ").trim());
  if (clean.length === 0) return "(no name)";
  return clean.length <= most ? clean.join("") : clean.slice(0, most - 1).join("") + "…";
}

/** Words that the page uses for itself, which no participant may imitate. */
const OWN_WORDS = ["you", "me", "system", "gateway", "meup", "meupgateway", "systemgateway", "admin", "administrator", "everybody", "everyone", "all", "space", "nobody"];

/** Letters of other scripts, and digits, that look like Latin letters. */
const TWINS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries({
    a: "аɑα@4", b: "Ьƅ6", c: "сϲⅽ", d: "ԁⅾ", e: "еєεℯ3", g: "ɡց9", h: "һհ", i: "іι1ǀ|!ıl", j: "ј", k: "κк", m: "ⅿм", n: "ոη", o: "оοσօ0",
    p: "рρ", q: "ԛ", r: "гᴦ", s: "ѕꜱ5$", t: "тτ7", u: "υսц", v: "νѵⅴ", w: "ԝѡω", x: "хχⅹ", y: "уүγ", z: "ᴢ2",
  }).flatMap(([latin, twins]) => Array.from(twins, (t) => [t, latin])),
);

/** Returns the skeleton of a name: equal for names that look alike. */
export function skeleton(text: string): string {
  const plain = neutral(text).normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  return Array.from(plain, (c) => (Object.hasOwn(TWINS, c) ? TWINS[c] : c))
    .join("")
    .replace(/[^\p{L}\p{N}]/gu, "")
    .replace(/rn/gu, "m")
    .replace(/vv/gu, "w");
}

const RESERVED: ReadonlySet<string> = new Set(OWN_WORDS.map(skeleton));

/** Reports whether a name looks like a word of the page. The gateway itself is checked elsewhere. */
export function imitatesPage(text: string): boolean {
  return RESERVED.has(skeleton(text));
}

/** Returns the other names that look like a name. */
export function lookalikes(text: string, others: Iterable<string>): readonly string[] {
  const mine = skeleton(text);
  return [...others].filter((x) => x !== text && skeleton(x) === mine);
}
