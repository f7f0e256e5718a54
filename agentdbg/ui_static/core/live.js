// @ts-check
/**
 * A WebSocket that comes back by itself. While it is down, `poll` is called instead, so that a proxy which knows no
 * WebSockets makes the page slower, not silent.
 */

const FIRST_RETRY_MS = 400;
const LAST_RETRY_MS = 5000;
const POLL_MS = 1000;

export class LiveSocket {
  /**
   * @param {object} options
   * @param {() => string} options.url asked at each connection, so that it can say from where to go on
   * @param {(message: any) => void} options.onMessage
   * @param {() => void | Promise<void>} options.poll
   * @param {() => void} [options.onOpen]
   */
  constructor({ url, onMessage, poll, onOpen = () => {} }) {
    this.#url = url;
    this.#onMessage = onMessage;
    this.#poll = poll;
    this.#onOpen = onOpen;
    this.#connect();
  }

  #url;
  #onMessage;
  #poll;
  #onOpen;
  /** @type {WebSocket | null} */
  #socket = null;
  #retryMs = FIRST_RETRY_MS;
  #closed = false;
  #retryTimer = 0;
  #pollTimer = 0;

  close() {
    this.#closed = true;
    clearTimeout(this.#retryTimer);
    clearTimeout(this.#pollTimer);
    this.#socket?.close();
  }

  #connect() {
    if (this.#closed) return;
    const socket = new WebSocket(this.#url());
    this.#socket = socket;
    socket.addEventListener("open", () => {
      this.#retryMs = FIRST_RETRY_MS;
      clearTimeout(this.#pollTimer);
      this.#pollTimer = 0;
      this.#onOpen();
    });
    socket.addEventListener("message", (event) => {
      if (!this.#closed && typeof event.data === "string") this.#onMessage(JSON.parse(event.data));
    });
    socket.addEventListener("close", () => {
      if (this.#closed || this.#socket !== socket) return;
      this.#retryTimer = window.setTimeout(() => this.#connect(), this.#retryMs);
      this.#retryMs = Math.min(LAST_RETRY_MS, this.#retryMs * 2);
      if (!this.#pollTimer) this.#schedulePoll();
    });
  }

  #schedulePoll() {
    this.#pollTimer = window.setTimeout(async () => {
      if (this.#closed || this.#isOpen()) return;
      try {
        await this.#poll();
      } catch {
        // The api has told the page that the server is gone; the next poll finds out whether it is back.
      }
      if (!this.#closed && !this.#isOpen()) this.#schedulePoll();
    }, POLL_MS);
  }

  #isOpen() {
    return this.#socket?.readyState === WebSocket.OPEN;
  }
}
