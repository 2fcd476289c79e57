// Replaces the WebSocket by one with the standard constructor, as in a browser.
const Native = globalThis.WebSocket;
globalThis.WebSocket = class extends Native {
  constructor(url, protocols) {
    if (!Array.isArray(protocols)) throw new TypeError("subprotocols are a list");
    super(url, protocols);
  }
};
globalThis.window = globalThis;
