/** The words of errors for the participants of a question and for the operator of a program. */

import { MeupError } from "./errors.js";

const sentences = new WeakMap<object, string>();

/** Sets the sentence about an error that the participants of a question get in place of its message. */
export function setPublicMessage<E>(err: E, sentence: string): E {
  if (typeof err === "object" && err !== null) sentences.set(err, sentence);
  return err;
}

/** Returns the sentence that `setPublicMessage` has set; "" without. */
export function publicMessage(err: unknown): string {
  return typeof err === "object" && err !== null ? (sentences.get(err) ?? "") : "";
}

/** Returns a sentence without its period, for use within another one. */
export function withoutPeriod(sentence: string): string {
  return sentence.replace(/[.\s]+$/, "");
}

/** Returns an error of this package as one line for the operator of a program; any other error as it is, with its stack. */
export function forLog(err: unknown): unknown {
  if (!(err instanceof MeupError)) return err;
  const sentence = publicMessage(err);
  return oneLine(sentence === "" || sentence.includes(withoutPeriod(err.message)) ? sentence || err.message : `${sentence} (${err.message})`);
}

/** Replaces control and invisible characters, which text of other participants may have. */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, " ");
}
