// @ts-check
/**
 * What an event needs to know of the others: the model call before it, the same error again, the rounds of its loop.
 * Everything is bounded, so that an event in a run of a million opens like one in a run of ten, and everything may
 * fail: an answer that cannot be had is null or shorter, never an exception.
 *
 * @typedef {import("./types.js").DetailsContext} DetailsContext
 * @typedef {import("./types.js").Row} Row
 * @typedef {import("./types.js").StoredEvent} StoredEvent
 */
import { sharedPart } from "./conversation.js";
import { promptMessages } from "./messages.js";

const STEP = 60;
const BACK = 480;
const CANDIDATES = 4;
const MOST_SAME = 12;
const AFTER_LOOP = 480;

/**
 * The rows of these numbers that exist, in order.
 * @param {DetailsContext} context
 * @param {number} from
 * @param {number} to
 * @returns {Promise<Row[]>}
 */
export async function rowsBetween(context, from, to) {
  /** @type {number[]} */
  const numbers = [];
  for (let n = Math.max(1, from); n <= Math.min(to, context.total); n += 1) numbers.push(n);
  if (numbers.length === 0) return [];
  try {
    const rows = context.getRows
      ? await context.getRows(numbers)
      : await Promise.all(numbers.map((n) => context.getRow(n)));
    return /** @type {Row[]} */ (rows.filter(Boolean));
  } catch {
    return [];
  }
}

/**
 * The earlier model call whose conversation this one continues. Agents that run side by side mix their calls in one
 * file, so the nearest call is only taken when its messages are really the beginning of these.
 *
 * @param {DetailsContext} context
 * @param {number} n
 * @param {import("./messages.js").Message[]} messages
 */
export async function previousModelCall(context, n, messages) {
  let best = null;
  let at = n;
  for (let tried = 0; tried < CANDIDATES; tried += 1) {
    const found = await previousOfKind(context, at, "llm");
    if (found === null) break;
    at = found;
    const event = await fetchEvent(context, found);
    if (!event) continue;
    const earlier = promptMessages(event.payload.prompt);
    const { count: shared, continues } = sharedPart(earlier, messages);
    if (!continues) continue;
    if (best === null || shared > best.shared) best = { n: found, event, messages: earlier, shared };
    if (shared >= earlier.length - 1 || shared >= messages.length / 2) break;
  }
  return best;
}

/**
 * The nearest earlier row of a kind, or null when it is not within reach.
 * @param {DetailsContext} context
 * @param {number} n
 * @param {string} kind
 * @returns {Promise<number | null>}
 */
export async function previousOfKind(context, n, kind) {
  if (context.previousOfKind) {
    try {
      return (await context.previousOfKind(n, kind)) ?? null;
    } catch {
      return null;
    }
  }
  for (let to = n - 1; to >= 1 && n - to < BACK; to -= STEP) {
    const rows = await rowsBetween(context, to - STEP + 1, to);
    const found = rows.findLast((row) => row.kind === kind);
    if (found) return found.n;
  }
  return null;
}

/**
 * The state that was recorded before this one under the same name, or undefined; a stored diff has only new values.
 * @param {DetailsContext} context
 * @param {Row} row
 * @returns {Promise<any>}
 */
export async function previousState(context, row) {
  let at = row.n;
  for (let tried = 0; tried < CANDIDATES; tried += 1) {
    const found = await previousOfKind(context, at, "state");
    if (found === null) return undefined;
    at = found;
    const event = await fetchEvent(context, found);
    if (event && event.name === row.name) return event.payload.state;
  }
  return undefined;
}

/**
 * Other calls of the same tool that failed with the same words.
 * @param {DetailsContext} context
 * @param {Row} row
 * @returns {Promise<{ before: number[], after: number[] }>}
 */
export async function sameErrors(context, row) {
  const error = row.preview?.error;
  if (!error) return { before: [], after: [] };
  /** @param {Row} other */
  const same = (other) =>
    other.n !== row.n && other.kind === row.kind && other.name === row.name && other.preview?.error === error;
  const [earlier, later] = await Promise.all([
    rowsBetween(context, row.n - BACK / 2, row.n - 1),
    rowsBetween(context, row.n + 1, row.n + BACK / 2),
  ]);
  return {
    before: earlier
      .filter(same)
      .map((other) => other.n)
      .slice(-MOST_SAME),
    after: later
      .filter(same)
      .map((other) => other.n)
      .slice(0, MOST_SAME),
  };
}

/**
 * The rows a loop's evidence consists of and what follows them.
 * @param {DetailsContext} context
 * @param {number} n of the warning
 * @param {string[]} evidence event ids
 * @returns {Promise<{ rows: Row[], reachesEnd: boolean }>} from the first evidence on; whether they reach the run's end
 */
export async function rowsAroundLoop(context, n, evidence) {
  const wanted = new Set(evidence);
  /** @type {Row[]} */
  let before = [];
  let first = null;
  for (let to = n - 1; to >= 1 && n - to < BACK && wanted.size > 0; to -= STEP) {
    const rows = await rowsBetween(context, to - STEP + 1, to);
    before = [...rows, ...before];
    for (const row of rows.toReversed()) if (wanted.delete(row.event_id)) first = row.n;
  }
  if (first === null) return { rows: [], reachesEnd: false };
  const after = await rowsBetween(context, n, n + AFTER_LOOP);
  return { rows: [...before.filter((row) => row.n >= first), ...after], reachesEnd: n + AFTER_LOOP >= context.total };
}

/**
 * Events by number; those that cannot be had are left out.
 * @param {DetailsContext} context
 * @param {number[]} numbers
 * @returns {Promise<Map<number, StoredEvent>>}
 */
export async function fetchEvents(context, numbers) {
  const events = await Promise.all(numbers.map((n) => fetchEvent(context, n)));
  /** @type {Map<number, StoredEvent>} */
  const found = new Map();
  events.forEach((event, index) => {
    if (event) found.set(numbers[index], event);
  });
  return found;
}

/**
 * The direct children of a span. They are written before it, so the search goes back until its beginning.
 * @param {DetailsContext} context
 * @param {Row} span
 * @returns {Promise<{ rows: Row[], whole: boolean }>}
 */
export async function childrenOf(context, span) {
  /** @type {Row[]} */
  let inside = [];
  for (let to = span.n - 1; to >= 1 && span.n - to < BACK; to -= STEP) {
    const rows = await rowsBetween(context, to - STEP + 1, to);
    if (rows.length === 0) break;
    inside = [...rows.filter((row) => row.parent_n === span.n && row.kind !== "call_start"), ...inside];
    if (rows.every((row) => row.start_ms < span.start_ms)) return { rows: inside, whole: true };
    if (to - STEP < 1) return { rows: inside, whole: true };
  }
  return { rows: inside, whole: false };
}

/** @type {Map<string, Promise<string | null>>} */
const folders = new Map();

/**
 * The folder the program ran in, from RUN_START; asked for once per run.
 * @param {DetailsContext} context
 * @returns {Promise<string | null>}
 */
export function startFolder(context) {
  let folder = folders.get(context.runId);
  if (!folder) {
    if (folders.size > 100) folders.clear();
    folder = fetchEvent(context, 1).then((event) =>
      typeof event?.payload?.cwd === "string" ? event.payload.cwd : null,
    );
    folders.set(context.runId, folder);
  }
  return folder;
}

/** @param {DetailsContext} context @param {number} n @returns {Promise<StoredEvent | null>} */
export async function fetchEvent(context, n) {
  try {
    const event = await context.fetchEvent(n);
    return event && typeof event.payload === "object" && event.payload !== null ? event : null;
  } catch {
    return null;
  }
}
