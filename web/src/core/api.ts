/** The HTTP API of the gateway, with errors in the words of the page. */

import { type ApiOptions, Api as Client } from "@sdk/api.js";
import { refusal } from "./sentences.js";

export { ApiError, type SearchQuery, envelopesOf } from "@sdk/api.js";

export class Api extends Client {
  constructor(options: ApiOptions = {}) {
    super({ words: refusal, ...options });
  }
}
