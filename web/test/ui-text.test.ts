/** Rendering of untrusted text: it stays text. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { nothing } from "lit";
import { BoundedTokenizer, MAX_WORK, lex } from "../src/ui/lexer.js";
import { markdown } from "../src/ui/markdown.js";
import { author, authorText } from "../src/ui/author.js";
import { thought } from "../src/ui/prose.js";
import { anchor, brief, initials, plain, pretty, safeUrl } from "../src/ui/text.js";
import { longText } from "../src/ui/format.js";
import { reasonWords, unmarked, worded } from "../src/ui/panels/parts.js";

/** A template as text; values are between ‹ and ›. */
function read(v: unknown): string {
  if (v === nothing || v === undefined || v === null) return "";
  if (Array.isArray(v)) return v.map(read).join("");
  if (typeof v === "object" && "strings" in v && "values" in v) {
    const { strings, values } = v as { strings: readonly string[]; values: readonly unknown[] };
    return strings.map((s, i) => s.replace(/\s+/gu, " ") + (i < values.length ? read(values[i]) : "")).join("");
  }
  return `‹${String(v)}›`;
}

/** The tags of a template; values contribute none. */
function tags(v: unknown): readonly string[] {
  return [...read(v).replace(/‹[^›]*›/gu, "").matchAll(/<([a-z0-9]+)/gu)].map((m) => m[1] as string);
}

test("addresses in plain text become links without referrer and opener", () => {
  const rendered = read(plain("see https://example.org/(a)_b), and http://x.test/?q=1."));
  assert.match(rendered, /href=‹https:\/\/example\.org\/\(a\)_b›/);
  assert.match(rendered, /href=‹http:\/\/x\.test\/\?q=1›/);
  assert.match(rendered, /rel="noopener noreferrer nofollow"/);
  assert.equal(tags(plain("javascript:alert(1) and data:text/html,x")).length, 0);
  assert.equal(read(plain("<b>no</b>")), "‹<b>no</b>›");
});

test("unsafe addresses stay text", () => {
  for (const bad of ["javascript:alert(1)", "JAVASCRIPT:alert(1)", "data:text/html,x", "//x.test", "https://user:pw@x.test/", "https://", "file:///etc/passwd", " https://x.test", "/relative"]) {
    assert.equal(safeUrl(bad), null, bad);
    assert.equal(anchor(bad, "words"), "words", bad);
  }
  assert.equal(safeUrl("mailto:a@x.test")?.protocol, "mailto:");
});

test("a URL ends before the punctuation of its sentence", () => {
  const href = (text: string): string => /href=‹([^›]*)›/u.exec(read(plain(text)))?.[1] ?? "";
  for (const tail of [")", ".", ").", "...)))", ")".repeat(150_000), ".".repeat(150_000), ").".repeat(75_000), "**"]) {
    assert.equal(href(`https://x.test/a${tail}`), "https://x.test/a");
    assert.equal(read(plain(`https://x.test/a${tail} end`)).endsWith(`‹${tail} end›`), true);
  }
  assert.equal(href("(https://x.test/(a)(b))"), "https://x.test/(a)(b)");
  assert.equal(href("https://x.test/a.b.html"), "https://x.test/a.b.html");
});

test("an overlong address is text; the next one is a link", () => {
  const long = "https://x.test/" + "a".repeat(2048);
  assert.equal(read(plain(`${long} https://y.test/`)).match(/<a /gu)?.length, 1);
  assert.match(read(plain(`${long} https://y.test/`)), /href=‹https:\/\/y\.test\/›/);
  assert.equal(safeUrl(long), null);
  assert.equal(tags(markdown(long)).includes("a"), false);
});

test("bidirectional controls are not rendered", () => {
  assert.equal(read(plain("evil\u202Egnp.exe")), "‹evilgnp.exe›");
  assert.doesNotMatch(read(markdown("**a\u202Eb** `c\u202Ed`")), /\u202E/u);
});

test("Markdown becomes elements; HTML in it stays text", () => {
  const hostile = `# Title
<img src=x onerror=alert(1)> <script>alert(2)</script>

[click](javascript:alert(3)) [ok](https://x.test/) ![pixel](https://evil.test/p.png)

- [x] done
- one
  > nested

| a | b |
|---|--:|
| <b>1</b> | \`<i>\` |

\`\`\`js
"</code><script>"
\`\`\``;
  const got = tags(markdown(hostile));
  assert.deepEqual([...new Set(got)].sort(), ["a", "blockquote", "code", "div", "h3", "input", "li", "meup", "p", "table", "tbody", "td", "th", "thead", "tr", "ul"]);
  assert.doesNotMatch(read(markdown(hostile)), /href=‹javascript/i);
  assert.match(read(markdown(hostile)), /href=‹https:\/\/evil\.test\/p\.png›/); // a link, to be followed by who wants to
});

test("Markdown of any depth and length is rendered", () => {
  assert.doesNotThrow(() => read(markdown(">".repeat(4000) + "x")));
  assert.doesNotThrow(() => read(markdown("- ".repeat(500) + "x")));
  assert.doesNotThrow(() => read(markdown("*_".repeat(3000) + "x")));
  assert.doesNotThrow(() => read(markdown("# " + "x".repeat(150_000))));
});

test("headings skip no level", () => {
  const levels = (text: string): readonly string[] => tags(markdown(text)).filter((x) => /^h\d$/.test(x));
  assert.deepEqual(levels("## a\n\n#### b\n\n# c\n\n### d"), ["h3", "h4", "h3", "h4"]);
  assert.deepEqual(levels("###### a\n\n> ## b\n\n- ### c"), ["h3", "h3", "h4"]);
  assert.deepEqual(levels("# a\n\n## b\n\n### c\n\n#### d"), ["h3", "h4", "h5", "h5"]);
  assert.match(read(markdown("#### a")), /<h3 class=‹h3›>/);
});

test("very long Markdown is rendered in part; a notice precedes the plain rest", () => {
  const rendered = read(markdown("**start**\n\n" + "some words\n".repeat(3000) + "**end**"));
  assert.match(rendered, /<strong>‹start›<\/strong>/);
  assert.match(rendered, /shown as plain text\..*‹[^›]*\*\*end\*\*›/su);
  assert.doesNotMatch(read(markdown("some words\n".repeat(1000))), /shown as plain text/);
});

test("the work for Markdown is bounded, and the text stays readable", () => {
  for (const text of ["a".repeat(20_000) + "@", "**a_*".repeat(4000), "~a".repeat(10_000), "a@ ".repeat(6000), "*a ".repeat(6000)]) {
    const tokenizer = new BoundedTokenizer();
    const tokens = lex(text, tokenizer);
    assert.ok(tokenizer.work <= MAX_WORK);
    assert.equal(tokens.map((t) => t.raw).join(""), text);
  }
  for (const text of ["- ".repeat(9000) + "x", "> ".repeat(9000) + "x", "> - 1. ".repeat(2500) + "x"]) assert.doesNotThrow(() => lex(text));
  const tokenizer = new BoundedTokenizer();
  assert.match(read(markdown("**b** a@x.test\n".repeat(1000))), /<strong>[^]*mailto:a@x\.test[^]*<strong>/u);
  lex("Some **bold** words, a_b and *more*.\n\n".repeat(500), tokenizer);
  assert.ok(tokenizer.work < MAX_WORK / 10);
});

test("entities become characters and create no elements", () => {
  assert.match(read(markdown("a &lt;b&gt; &amp;amp; &#x202E;c")), /a <b> &amp; c/);
});

test("the line of a thought keeps code and emphasis, without list and heading marks", () => {
  assert.match(read(brief("run `rm -rf` now")), /<code>‹rm -rf›<\/code>/);
  assert.match(read(brief("**Plan**: look at `a_b*`")), /<strong>‹Plan›<\/strong>‹: look at ›<code>‹a_b\*›<\/code>/);
  assert.equal(read(brief("## Plan")), "‹Plan›");
  assert.equal(read(brief("- read_file and write_file")), "‹read_file and write_file›");
  assert.equal(read(brief("2 * 3 ** 4 ** 5")), "‹2 * 3 ** 4 ** 5›");
  assert.deepEqual(tags(brief("<b>**<i>**`<u>`")), ["strong", "code"]);
});

test("words about rules have code, and nothing else of Markdown", () => {
  assert.equal(read(worded("Write for paths below /repo, except **/.git/**")), "‹Write for paths below /repo, except **/.git/**›");
  assert.match(read(worded("`git diff **` with *any* arguments, in <b>_x_")), /^‹›<code>‹git diff \*\*›<\/code>‹ with \*any\* arguments, in <b>_x_›$/u);
  assert.equal(read(worded("a ` alone")), "‹a ` alone›");
  assert.match(read(worded("`a\u202eb`")), /⟨U\+202E⟩/u);
  assert.deepEqual(["no_longer_needed", "policy", "Use read_file.", "read_File"].map(reasonWords), ["no longer needed", "policy", "Use read_file.", "read_File"]);
  assert.equal(unmarked("`git diff` with `a`, except **/.git/** and \u202e"), "git diff with a, except **/.git/** and ⟨U+202E⟩");
});

test("thoughts are Markdown; without markup they are text", () => {
  for (const text of ["**bold**", "`code`", "a\n- b", "1. first", "# Title", "| a |\n|---|", "~~no~~", "_so_", "[x](https://x.test)", "a\n---", "a &amp; b", "> q"]) {
    assert.match(read(thought(text)), /<meup-prose/, text);
  }
  for (const text of ["plain", "a-b and 1.5", "one\ntwo", "see https://x.test/", "A & B", "50% (or so)!"]) assert.doesNotMatch(read(thought(text)), /<meup-prose/, text);
});

test("line breaks of a thought are kept", () => {
  assert.match(read(markdown("one\ntwo", true)), /‹one›<br \/>‹two›/);
  assert.doesNotMatch(read(markdown("one\ntwo")), /<br/);
});

test("pretty keeps the digits of long numbers", async () => {
  const { parse } = await import("@sdk/json.js");
  assert.equal(pretty(parse('{"id":12345678901234567890,"a":[],"b":{"c":null}}')), '{\n  "id": 12345678901234567890,\n  "a": [],\n  "b": {\n    "c": null\n  }\n}');
});

test("initials of names", () => {
  assert.deepEqual(["guide", "ada-lovelace", "x", "日本"].map(initials), ["GU", "AL", "X", "日本"]);
});

test("long texts are shortened and can be expanded", () => {
  assert.equal(read(longText("short")), "‹short›");
  const rendered = read(longText("x".repeat(20_000)));
  assert.match(rendered, /<meup-rest \.text=‹x{14000}›/u);
  assert.ok(customElements.get("meup-rest") !== undefined);
});

test("a name that imitates the page is marked; the gateway is not", () => {
  for (const id of ["You", "system.gateway", "уou"]) {
    assert.match(read(author(id)), /class="chip wait"[^]*a participant/u, id);
    assert.match(authorText(id), / \(a participant\)$/u, id);
  }
  for (const id of ["alice", "system:gateway"]) {
    assert.deepEqual(tags(author(id)), ["b"], id);
    assert.equal(authorText(id), id);
  }
});
