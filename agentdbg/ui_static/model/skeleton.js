// @ts-check
/**
 * The whole run as columns: twenty bytes an event, so that a million events are ordered, filtered and drawn without
 * asking the server. What a row says in words is not here; rows are fetched by number when they come into sight.
 *
 * Columns are indexed by event number, which starts at 1; slot 0 is never used.
 */

/** @typedef {import("./types.js").Row} Row */

export const KINDS = ["other", "llm", "tool", "state", "span", "loop", "error", "start", "end", "call_start"];
export const KIND = Object.freeze({
  OTHER: 0,
  LLM: 1,
  TOOL: 2,
  STATE: 3,
  SPAN: 4,
  LOOP: 5,
  ERROR: 6,
  START: 7,
  END: 8,
  CALL_START: 9,
});
const STATUS = Object.freeze({ NONE: 0, OK: 1, ERROR: 2, HIDDEN: 3 });
const SEVERITIES = ["", "info", "warning", "critical"];
const UNKNOWN = 0xffffffff;
const MAGIC = "ADBGSKL1";
const HEADER_BYTES = 20;

export class Skeleton {
  constructor() {
    /** How many events are known: their numbers are 1 to count. */
    this.count = 0;
    /** Goes up whenever anything changes, so that what was derived knows it is stale. */
    this.version = 0;
    /** Whether the run goes on, so that a call without an end may still get one. */
    this.running = false;
    /** The event types seen, in the order of their index. @type {string[]} */
    this.types = [];
    this.#allocate(1024);
  }

  /** @param {number} capacity */
  #allocate(capacity) {
    this.kind = grown(this.kind, Uint8Array, capacity);
    this.status = grown(this.status, Uint8Array, capacity);
    this.severity = grown(this.severity, Uint8Array, capacity);
    this.type = grown(this.type, Uint8Array, capacity);
    this.parent = grown(this.parent, Uint32Array, capacity);
    this.start = grown(this.start, Uint32Array, capacity);
    this.duration = grown(this.duration, Uint32Array, capacity);
    this.tokens = grown(this.tokens, Uint32Array, capacity);
  }

  /** @param {number} count */
  #reserve(count) {
    if (count < this.kind.length) return;
    this.#allocate(Math.max(count + 1, this.kind.length * 2));
  }

  /** Does this event have a row of its own? The start of a call that ended has none. @param {number} n */
  isShown(n) {
    return this.status[n] !== STATUS.HIDDEN;
  }

  /** A failed call, one that never returned, or an exception. @param {number} n */
  isFailure(n) {
    const kind = this.kind[n];
    if (kind === KIND.LLM || kind === KIND.TOOL) return this.status[n] === STATUS.ERROR;
    return kind === KIND.ERROR || this.neverReturned(n);
  }

  /** A call that began and can no longer end. @param {number} n */
  neverReturned(n) {
    return this.kind[n] === KIND.CALL_START && this.status[n] !== STATUS.HIDDEN && !this.running;
  }

  /** A loop that needs someone: warning or critical. @param {number} n */
  isLoop(n) {
    return this.kind[n] === KIND.LOOP && this.severity[n] >= 2;
  }

  /** @param {number} n @returns {number | null} */
  durationOf(n) {
    return this.duration[n] === UNKNOWN ? null : this.duration[n];
  }

  /** @param {number} n @returns {number | null} */
  tokensOf(n) {
    return this.tokens[n] === UNKNOWN ? null : this.tokens[n];
  }

  /** When the step ended, in ms since the run started. The run's end is a moment; its duration is the run's. @param {number} n */
  endOf(n) {
    return this.kind[n] === KIND.END ? this.start[n] : this.start[n] + (this.durationOf(n) ?? 0);
  }

  /** @param {number} n */
  typeOf(n) {
    return this.types[this.type[n]];
  }

  /** The last moment the run is known to have reached, in ms since its start. */
  extent() {
    return this.#totals().extent;
  }

  /** How many failures there are. */
  failures() {
    return this.#totals().failures;
  }

  /** How many shown events there are of each type. @returns {Map<string, number>} */
  countsByType() {
    return this.#totals().counts;
  }

  /** Which figures any event has. */
  figures() {
    return this.#totals();
  }

  /** How many events have a row. */
  shownTotal() {
    return this.#totals().shown;
  }

  /** @type {{version: number, extent: number, failures: number, shown: number, hasDurations: boolean, hasTokens: boolean, counts: Map<string, number>} | null} */
  #counted = null;

  /** One pass over everything, whenever anything changed. */
  #totals() {
    if (this.#counted?.version !== this.version) {
      const counts = new Uint32Array(256);
      let [extent, failures, shown] = [0, 0, 0];
      let [hasDurations, hasTokens] = [false, false];
      for (let n = 1; n <= this.count; n += 1) {
        const end = this.endOf(n);
        if (end > extent) extent = end;
        if (this.status[n] === STATUS.HIDDEN) continue;
        shown += 1;
        counts[this.type[n]] += 1;
        if (this.isFailure(n)) failures += 1;
        if (this.kind[n] !== KIND.END && this.duration[n] !== UNKNOWN) hasDurations = true;
        if (this.tokens[n] !== UNKNOWN) hasTokens = true;
      }
      this.#counted = {
        version: this.version,
        extent,
        failures,
        shown,
        hasDurations,
        hasTokens,
        counts: new Map(this.types.map((name, index) => [name, counts[index]])),
      };
    }
    return this.#counted;
  }

  /** @param {boolean} running */
  setRunning(running) {
    if (this.running === running) return;
    this.running = running;
    this.version += 1;
  }

  /**
   * Take columns as the server packs them. They may overlap what is already known: the newer word wins.
   * @param {ArrayBuffer} buffer @param {string[]} types what the type column indexes
   * @returns {{complete: boolean, count: number}} how far the server's index reached
   */
  applyColumns(buffer, types) {
    const view = new DataView(buffer);
    const magic = String.fromCharCode(...new Uint8Array(buffer, 0, 8));
    if (magic !== MAGIC) throw new Error("this is not a skeleton of events");
    const count = view.getUint32(8, true);
    const from = view.getUint32(12, true);
    const complete = (view.getUint32(16, true) & 1) === 1;
    if (count > 0) {
      this.#reserve(from + count);
      let offset = HEADER_BYTES;
      const bytes = (/** @type {Uint8Array} */ target) => {
        target.set(new Uint8Array(buffer, offset, count), from + 1);
        offset = padded(offset + count);
      };
      const words = (/** @type {Uint32Array} */ target) => {
        target.set(new Uint32Array(buffer, offset, count), from + 1);
        offset += 4 * count;
      };
      bytes(this.kind);
      bytes(this.status);
      bytes(this.severity);
      bytes(this.type);
      words(this.parent);
      words(this.start);
      words(this.duration);
      words(this.tokens);
      this.#renumberTypes(from + 1, from + count, types);
      this.count = Math.max(this.count, from + count);
      this.version += 1;
    }
    return { complete, count: from + count };
  }

  /** The server's type indexes become ours. @param {number} first @param {number} last @param {string[]} types */
  #renumberTypes(first, last, types) {
    const ours = Uint8Array.from(types, (name) => this.#typeIndex(name));
    if (ours.every((index, position) => index === position)) return;
    for (let n = first; n <= last; n += 1) this.type[n] = ours[this.type[n]];
  }

  /** @param {string} name */
  #typeIndex(name) {
    const known = this.types.indexOf(name);
    if (known >= 0) return known;
    if (this.types.length < 255) this.types.push(name);
    return this.types.length - 1;
  }

  /**
   * Take rows that arrived before, or after, the columns that cover them. Rows beyond a gap are left for later.
   * @param {Row[]} rows @returns {boolean} whether anything changed
   */
  applyRows(rows) {
    let changed = false;
    for (const row of rows) {
      if (row.n > this.count + 1) continue;
      this.#reserve(row.n);
      this.count = Math.max(this.count, row.n);
      this.kind[row.n] = Math.max(0, KINDS.indexOf(row.kind));
      this.status[row.n] = statusCode(row);
      this.severity[row.n] = Math.max(0, SEVERITIES.indexOf(row.severity ?? ""));
      this.type[row.n] = this.#typeIndex(row.event_type);
      this.parent[row.n] = row.parent_n ?? 0;
      this.start[row.n] = Math.max(0, row.start_ms);
      this.duration[row.n] = row.duration_ms ?? UNKNOWN;
      this.tokens[row.n] = row.tokens ?? UNKNOWN;
      changed = true;
    }
    if (changed) this.version += 1;
    return changed;
  }

  /** Take what became known about earlier events. @param {{n: number, parent_n: number | null, status: number}[]} changes */
  applyChanges(changes) {
    for (const { n, parent_n: parent, status } of changes) {
      if (n > this.count) continue;
      this.parent[n] = parent ?? 0;
      this.status[n] = status;
    }
    if (changes.length > 0) this.version += 1;
  }
}

/** @param {Row} row */
function statusCode(row) {
  if (row.kind === "call_start" && row.ended) return STATUS.HIDDEN;
  if (row.status === "error" || row.status === "never_returned") return STATUS.ERROR;
  return row.status === "ok" ? STATUS.OK : STATUS.NONE;
}

/** @param {number} offset */
function padded(offset) {
  return (offset + 3) & ~3;
}

/**
 * @template {Uint8Array | Uint32Array} Column
 * @param {Column | undefined} old @param {new (length: number) => Column} Kind @param {number} capacity
 * @returns {Column}
 */
function grown(old, Kind, capacity) {
  const column = new Kind(capacity);
  if (old) column.set(/** @type {any} */ (old));
  return column;
}
