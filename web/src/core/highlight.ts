/**
 * Highlighting of code: keywords, texts, numbers and comments of common languages, by one
 * pass of one regular expression. It does not parse: what it does not recognize stays plain.
 */

/** A part of a code text. */
export interface CodePart {
  readonly type: "" | "word" | "text" | "number" | "note" | "added" | "removed";
  readonly text: string;
}

/** Longer code is not highlighted. */
const MAX = 30_000;

const C_WORDS =
  "abstract|any|as|async|await|bool|boolean|break|case|catch|chan|char|class|const|continue|default|defer|delete|do|double|else|enum|export|extends|extern|false|final|finally|float|fn|for|from|func|function|go|goto|if|impl|implements|import|in|instanceof|int|interface|let|long|loop|map|match|mod|module|move|mut|namespace|new|nil|null|number|of|override|package|private|protected|pub|public|range|readonly|return|select|self|static|string|struct|super|switch|this|throw|throws|trait|true|try|type|typeof|undefined|union|unsafe|use|using|var|void|where|while|yield";
const SCRIPT_WORDS =
  "and|as|assert|async|await|break|case|class|continue|def|del|do|done|elif|else|end|esac|except|export|false|False|fi|finally|for|from|function|global|if|import|in|is|lambda|local|module|nil|None|nonlocal|not|or|pass|raise|require|rescue|return|self|set|then|true|True|try|unless|until|while|with|yield|echo|cd|exit|sudo";
const SQL_WORDS =
  "add|all|alter|and|as|asc|between|by|case|create|default|delete|desc|distinct|drop|else|end|exists|false|foreign|from|group|having|in|index|inner|insert|into|is|join|key|left|like|limit|not|null|on|or|order|outer|primary|references|right|select|set|table|then|true|union|unique|update|values|view|when|where|with";

/** Notes, texts (with escapes, within a line), numbers and words, in this order. */
function rule(note: string, words: string, flags = ""): RegExp {
  const texts = String.raw`"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|${"`"}(?:[^${"`"}\\]|\\.)*${"`"}`;
  return new RegExp(String.raw`(${note})|(${texts})|\b(\d[\w.]*)\b|\b(${words})\b|[A-Za-z_$][\w$]*`, `g${flags}`);
}

const C = rule(String.raw`//[^\n]*|/\*[^]*?(?:\*/|$)`, C_WORDS);
const SCRIPT = rule(String.raw`#[^\n]*`, SCRIPT_WORDS);
const SQL = rule(String.raw`--[^\n]*|/\*[^]*?(?:\*/|$)`, SQL_WORDS, "i");
const DATA = rule(String.raw`#[^\n]*`, "true|false|null|yes|no");
const JSON_DATA = rule("(?!)", "true|false|null");

const RULES: Readonly<Record<string, RegExp>> = Object.fromEntries([
  ...["go", "js", "javascript", "jsx", "ts", "typescript", "tsx", "java", "c", "cpp", "c++", "h", "cs", "csharp", "rust", "rs", "swift", "kotlin", "kt", "scala", "php", "proto", "dart", "css", "scss"].map((x) => [x, C] as const),
  ...["py", "python", "sh", "bash", "zsh", "shell", "console", "rb", "ruby", "perl", "r", "make", "makefile", "dockerfile"].map((x) => [x, SCRIPT] as const),
  ...["yaml", "yml", "toml", "ini", "conf"].map((x) => [x, DATA] as const),
  ...["json", "jsonl", "json5"].map((x) => [x, JSON_DATA] as const),
  ["sql", SQL],
]);

/** Reports whether code of a language is highlighted. */
export function isLanguage(name: string): boolean {
  return Object.hasOwn(RULES, name.toLowerCase());
}

/** Splits code into parts; the texts of the parts are the code, unchanged. */
export function highlight(code: string, language: string): readonly CodePart[] {
  const name = language.toLowerCase();
  if (code.length > MAX) return [{ type: "", text: code }];
  if (name === "diff" || name === "patch") return diff(code);
  const rules = Object.hasOwn(RULES, name) ? RULES[name] : undefined;
  if (rules === undefined) return [{ type: "", text: code }];
  const out: CodePart[] = [];
  let at = 0;
  for (const m of code.matchAll(rules)) {
    const type = m[1] !== undefined ? "note" : m[2] !== undefined ? "text" : m[3] !== undefined ? "number" : m[4] !== undefined ? "word" : "";
    if (type === "") continue;
    if (m.index > at) out.push({ type: "", text: code.slice(at, m.index) });
    out.push({ type, text: m[0] });
    at = m.index + m[0].length;
  }
  if (at < code.length) out.push({ type: "", text: code.slice(at) });
  return out;
}

function diff(code: string): readonly CodePart[] {
  return code.split(/(?<=\n)/u).map((text) => ({ type: /^\+/.test(text) ? "added" : /^-/.test(text) ? "removed" : /^@@/.test(text) ? "note" : "", text }));
}
