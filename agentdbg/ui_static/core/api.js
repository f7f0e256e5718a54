// @ts-check
/**
 * The one way to the server. Says `gone` when nobody answers any more and `back` when somebody does again, so that
 * the page can tell the reader once instead of failing in every corner.
 */

/** What the server refused, with its own words. */
export class ApiError extends Error {
  /** @param {number} status @param {string} code @param {string} message */
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** Nobody answered. */
export class ServerGone extends Error {}

export class Api extends EventTarget {
  isGone = false;

  /** @param {string} path @param {RequestInit} [options] @returns {Promise<any>} */
  async json(path, options) {
    const response = await this.request(path, options);
    return response.status === 204 ? null : response.json();
  }

  /** @param {string} path @param {RequestInit} [options] */
  async text(path, options) {
    return (await this.request(path, options)).text();
  }

  /** @param {string} path @param {unknown} [body] */
  post(path, body) {
    const json =
      body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } };
    return this.json(path, { method: "POST", ...json });
  }

  /** @param {string} path */
  delete(path) {
    return this.json(path, { method: "DELETE" });
  }

  /** @param {string} path @param {RequestInit} [options] @returns {Promise<Response>} */
  async request(path, options = {}) {
    const ask = () => fetch(path, { ...options, cache: "no-store", redirect: "error" });
    // Browsers now and then take up a kept connection that the server has just let go of; asking again finds out.
    const again = (/** @type {Error} */ problem) => {
      if (problem.name === "AbortError" || (options.method ?? "GET") !== "GET") throw problem;
      return ask();
    };
    let response;
    try {
      response = await ask().catch(again);
    } catch (problem) {
      if (/** @type {Error} */ (problem).name === "AbortError") throw problem;
      this.#setGone(true);
      throw new ServerGone("the viewer does not answer");
    }
    this.#setGone(false);
    if (!response.ok) throw await refusal(response);
    return response;
  }

  /** The address of a WebSocket. @param {string} path */
  socketUrl(path) {
    const url = new URL(path, location.href);
    url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    return url.href;
  }

  /** @param {boolean} gone */
  #setGone(gone) {
    if (gone === this.isGone) return;
    this.isGone = gone;
    this.dispatchEvent(new Event(gone ? "gone" : "back"));
  }
}

/** @param {Response} response */
async function refusal(response) {
  try {
    const { error } = await response.json();
    return new ApiError(response.status, error.code, error.message);
  } catch {
    return new ApiError(response.status, "unreadable", `the viewer answered ${response.status}`);
  }
}
