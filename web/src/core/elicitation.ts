/**
 * Questions that tool servers ask during a call (elicitation/create of MCP): their
 * flat forms, and the answers. The Go package internal/mcp/elicit has the same rules.
 */

import { arr, field, isObject, obj, str } from "@sdk/read.js";
import type { Elicitation } from "./state.js";
import type { Draft } from "@sdk/types.js";

export interface Option {
  readonly value: string;
  readonly title: string;
}

/** A value of a form. `choice` is one of the options, `choices` any of them. */
export interface Field {
  readonly name: string;
  readonly label: string;
  readonly description: string;
  readonly type: "string" | "number" | "integer" | "boolean" | "choice" | "choices";
  readonly required: boolean;
  readonly format: string;
  readonly options: readonly Option[];
  readonly least: number;
  /** 0: no bound. */
  readonly most: number;
  readonly minimum: number | null;
  readonly maximum: number | null;
  readonly initial: unknown;
}

/** A question as it is rendered. */
export interface Form {
  readonly message: string;
  /** A page to open; "": the question is a form. */
  readonly url: string;
  /** The name that the server claims; "": none. */
  readonly server: string;
  /** Null: the form cannot be rendered. */
  readonly fields: readonly Field[] | null;
}

/** Reads the parameters of a question. */
export function formOf(params: unknown): Form {
  const p = obj(params);
  const server = obj(field(obj(field(p, "_meta")), "meup/server"));
  const schema = obj(field(p, "requestedSchema"));
  const required = arr(field(schema, "required"));
  const url = str(field(p, "url"));
  const fields = url !== "" ? [] : Object.entries(obj(field(schema, "properties"))).map(([name, x]) => fieldOf(name, obj(x), required.includes(name)));
  return {
    message: str(field(p, "message")),
    url,
    server: str(field(server, "title")) || str(field(server, "name")),
    fields: fields.includes(null) ? null : (fields as Field[]),
  };
}

function fieldOf(name: string, schema: Readonly<Record<string, unknown>>, required: boolean): Field | null {
  let type = str(schema["type"]);
  let options = optionsOf(schema["enum"], schema["enumNames"], schema["oneOf"]);
  if (type === "array") {
    const items = obj(schema["items"]);
    type = "choices";
    options = optionsOf(items["enum"], items["enumNames"], items["anyOf"]);
  } else if (type === "string" && options.length > 0) {
    type = "choice";
  }
  if (!["string", "number", "integer", "boolean", "choice", "choices"].includes(type)) return null;
  const least = type === "choices" ? schema["minItems"] : schema["minLength"];
  const most = type === "choices" ? schema["maxItems"] : schema["maxLength"];
  return {
    name,
    label: str(schema["title"]) || name,
    description: str(schema["description"]),
    type: type as Field["type"],
    required,
    format: str(schema["format"]),
    options,
    least: Number(least ?? 0) || 0,
    most: Number(most ?? 0) || 0,
    minimum: schema["minimum"] === undefined ? null : Number(schema["minimum"]),
    maximum: schema["maximum"] === undefined ? null : Number(schema["maximum"]),
    initial: schema["default"],
  };
}

function optionsOf(values: unknown, names: unknown, titled: unknown): readonly Option[] {
  const titles = arr(names);
  const plain = arr(values).map((x, i) => ({ value: str(x), title: str(titles[i]) || str(x) }));
  return [...plain, ...arr(titled).flatMap((x) => (isObject(x) ? [{ value: str(x["const"]), title: str(x["title"]) || str(x["const"]) }] : []))];
}

/** The value of a field, or an error. Undefined: left out. */
export type Value = { readonly value: unknown } | { readonly wrong: string };

/** Reads the inputs of a field: the texts that are filled in or chosen. */
export function valueOf(f: Field, inputs: readonly string[]): Value {
  const text = inputs[0]?.trim() ?? "";
  if (f.type === "boolean") return { value: inputs.length > 0 };
  if (f.type === "choices") {
    if (inputs.length === 0 && !f.required) return { value: undefined };
    if (inputs.length < f.least || (f.most > 0 && inputs.length > f.most)) return { wrong: `Choose ${bounds(f)}.` };
    return { value: inputs };
  }
  if (text === "") return f.required ? { wrong: "Enter a value." } : { value: undefined };
  if (f.type === "choice") return { value: text };
  if (f.type === "number" || f.type === "integer") {
    const n = Number(text);
    if (!Number.isFinite(n) || (f.type === "integer" && !Number.isSafeInteger(n))) return { wrong: f.type === "integer" ? "Enter a whole number." : "Enter a number." };
    if (f.minimum !== null && n < f.minimum) return { wrong: `Enter at least ${f.minimum}.` };
    if (f.maximum !== null && n > f.maximum) return { wrong: `Enter at most ${f.maximum}.` };
    return { value: n };
  }
  const length = [...text].length;
  if (length < f.least || (f.most > 0 && length > f.most)) return { wrong: `Enter ${bounds(f)} characters.` };
  return { value: text };
}

function bounds(f: Field): string {
  return f.most === 0 ? `at least ${f.least}` : `${f.least} to ${f.most}`;
}

/** Reports whether a form asks for something that should not be written into a log. */
export function asksSecret(form: Form): boolean {
  const words = [form.message, ...(form.fields ?? []).flatMap((f) => [f.name, f.label, f.description])].join("\n");
  return /pass(?:word|phrase|code|wd)|secret|token|api[ _-]?key|private[ _-]?key|credential|\bpin\b|\bcvv\b|credit[ _-]?card|kennwort|passwort|contraseña|mot de passe/iu.test(words);
}

/** The answer to a question. `content` belongs to an accepted form. */
export function answer(q: Elicitation, action: "accept" | "decline" | "cancel", content?: Readonly<Record<string, unknown>>): Draft {
  return {
    kind: "mcp.response",
    to: [q.from],
    correlationId: q.id,
    ...(q.context !== "" && { context: q.context }),
    payload: { jsonrpc: "2.0", id: q.rpc, result: { action, ...(content !== undefined && { content }) } },
  };
}
