// @ts-check
/** The one way to the run inside a file: answers as the viewer's server would. Takes the place of core/api.js there. */

import { referencesOf, TextQuery, toJson } from "../model/embedded-text.js";
import { Api as ServedApi, ApiError, ServerGone } from "./api.js";
import { Blocks } from "./embedded-blocks.js";

/** @typedef {import("./embedded-blocks.js").Block} Block */

const MOST_FOUND = 10_000;
const SPLIT_KEPT = 24;
const ID = /^\{"spec_version":"0.1","event_id":("[^"]*")/;

export { ApiError, ServerGone };

export class Api extends ServedApi {
  #blocks = new Blocks();

  /** @param {string} path @param {RequestInit} [options] @returns {Promise<Response>} */
  async request(path, options = {}) {
    const { pathname, searchParams } = new URL(path, "file:///");
    const [, , , runId, what, which] = pathname.split("/");
    try {
      const answer = await this.#answer(
        what ?? (runId ? "run" : (pathname.split("/")[2] ?? "")),
        which,
        searchParams,
        options.signal ?? null,
      );
      options.signal?.throwIfAborted();
      return answer;
    } catch (problem) {
      if (problem instanceof ApiError || options.signal?.aborted) throw problem;
      throw new ApiError(500, "unreadable", whyUnreadable());
    }
  }

  /** @param {string} what @param {string | undefined} which @param {URLSearchParams} parameters @param {AbortSignal | null} signal */
  async #answer(what, which, parameters, signal) {
    if (what === "runs") return json({ runs: [(await this.#summary()).run], total: 1, counts_by_status: {} });
    if (what === "run") return json((await this.#summary()).run);
    if (what === "summary" || what === "report") return new Response(await this.#only(what));
    if (what === "skeleton") return this.#skeleton();
    if (what === "rows") return this.#rows(parameters);
    if (what === "search") return json(await this.#search(parameters.get("q") ?? "", signal));
    if (what === "events" && which === undefined) return this.#everyEvent(signal);
    if (what === "events") return this.#event(/** @type {string} */ (which));
    throw new ApiError(404, "not_found", "this file does not hold that");
  }

  async #summary() {
    return JSON.parse(await this.#only("summary"));
  }

  /** The text of a block of which there is one. @param {string} kind */
  async #only(kind) {
    return this.#blocks.text(await this.#block(kind, 0));
  }

  /** @param {string} kind @param {number} n @returns {Promise<Block>} */
  async #block(kind, n) {
    const block = await this.#blocks.at(kind, n);
    if (!block) throw new ApiError(404, "not_found", "the file ends before that; it may not have been copied whole");
    return block;
  }

  async #skeleton() {
    const columns = await this.#blocks.bytes(await this.#block("skeleton", 0));
    return new Response(columns, { headers: { "X-Types": escaped(await this.#only("types")) } });
  }

  /** @param {URLSearchParams} parameters */
  async #rows(parameters) {
    const total = (await this.#summary()).total_events;
    const first = Number(parameters.get("offset") ?? 0) + 1;
    const last = Math.min(total, first + Number(parameters.get("limit") ?? 200) - 1);
    const numbers = parameters.has("at")
      ? /** @type {string} */ (parameters.get("at")).split(",").map(Number)
      : range(first, last);
    /** @type {string[]} */
    const rows = [];
    let problem = null;
    // Of a file that was cut off, what is there is shown.
    for (const n of numbers)
      if (n >= 1 && n <= total)
        await this.#row(n).then(
          (row) => rows.push(row),
          (reason) => (problem ??= reason),
        );
    if (problem !== null && rows.length === 0) throw problem;
    return new Response(`{"rows":[${rows.join(",")}],"total":${total},"complete":true}`);
  }

  /** A row as JSON. Its event's id, which hardly can be packed, stands only in the event. @param {number} n */
  async #row(n) {
    const row = await this.#line("rows", n);
    const id = row.includes('"event_id":') ? null : ID.exec(await this.#line("events", n));
    return id ? `{"event_id":${id[1]},${row.slice(1)}` : row;
  }

  /** The lines of the blocks used last: they are asked for in stretches, by several at once. @type {Map<HTMLElement, string[]>} */
  #split = new Map();

  /** @param {string} kind @param {number} n */
  async #line(kind, n) {
    const block = await this.#block(kind, n);
    const lines = this.#split.get(block.element) ?? (await this.#blocks.text(block)).split("\n");
    this.#split.set(block.element, lines);
    if (this.#split.size > SPLIT_KEPT) this.#split.delete(/** @type {HTMLElement} */ (this.#split.keys().next().value));
    return lines[n - block.first];
  }

  /** @param {string} which the number or the id of an event */
  async #event(which) {
    const n = /^\d+$/.test(which) ? Number(which) : await this.#numberOf(decodeURIComponent(which));
    const line = await this.#line("events", n);
    return new Response(await this.#toJson(line), { headers: { "X-Event-Number": String(n) } });
  }

  /** @param {string} eventId */
  async #numberOf(eventId) {
    const member = `"event_id":${JSON.stringify(eventId)}`;
    for (const block of await this.#blocks.all("events")) {
      const text = await this.#blocks.text(block);
      if (!text.includes(member)) continue;
      return block.first + text.split("\n").findIndex((line) => line.includes(member));
    }
    throw new ApiError(404, "event_not_found", `no event ${eventId} is in this run`);
  }

  /** A packed line as the event's JSON. @param {string} line */
  async #toJson(line) {
    /** @type {Map<number, string>} */
    const strings = new Map();
    for (const number of referencesOf(line))
      if (!strings.has(number)) strings.set(number, await this.#line("strings", number));
    return toJson(line, (number) => strings.get(number) ?? "");
  }

  /** @param {string} q @param {AbortSignal | null} signal */
  async #search(q, signal) {
    const query = new TextQuery(q);
    /** @type {Set<number>} */
    const strings = new Set();
    for (const block of q ? await this.#blocks.all("strings") : []) {
      const text = await this.#blocks.text(block);
      signal?.throwIfAborted();
      if (!query.mayHold(text)) continue;
      text.split("\n").forEach((string, place) => query.mayHold(string) && strings.add(block.first + place));
    }
    /** @type {number[]} */
    const numbers = [];
    for (const block of q ? await this.#blocks.all("events") : []) {
      const text = await this.#blocks.text(block);
      signal?.throwIfAborted();
      if (strings.size === 0 && !query.mayHold(text)) continue;
      for (const [place, line] of text.split("\n").entries()) {
        const found = query.judge(line, strings) ?? query.matches(JSON.parse(await this.#toJson(line)));
        if (found) numbers.push(block.first + place);
      }
      if (numbers.length >= MOST_FOUND) break;
    }
    return { total: Math.min(numbers.length, MOST_FOUND), numbers: numbers.slice(0, MOST_FOUND), complete: true };
  }

  /** All events as one JSON array. @param {AbortSignal | null} signal */
  async #everyEvent(signal) {
    const parts = [];
    for (const block of await this.#blocks.all("events")) {
      for (const line of (await this.#blocks.text(block)).split("\n")) {
        parts.push(parts.length === 0 ? "[" : ",\n", await this.#toJson(line));
        signal?.throwIfAborted();
      }
    }
    return new Response(new Blob([...parts, parts.length === 0 ? "[]" : "]"], { type: "application/json" }));
  }
}

/** Why what the file holds could not be unpacked. */
function whyUnreadable() {
  if (typeof DecompressionStream === "undefined")
    return "this browser is too old to unpack what the file holds; any current one can";
  return "what this file holds cannot be read; it was changed or damaged on its way here";
}

/** @param {unknown} value */
function json(value) {
  return new Response(JSON.stringify(value));
}

/** JSON in the letters a header may hold. @param {string} text */
function escaped(text) {
  return text.replace(/[^\x20-\x7e]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** @param {number} first @param {number} last */
function range(first, last) {
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, place) => first + place);
}
