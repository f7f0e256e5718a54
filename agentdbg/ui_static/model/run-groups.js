// @ts-check
/** Runs as a table: grouped, sorted, each group summed up. */

import { nameOf, programOf, standing, startOf } from "./runs.js";

/** @typedef {import("./types.js").RunMeta} RunMeta */
/** @typedef {"name" | "version" | "session" | ""} GroupBy */
/** @typedef {{by: string, descending: boolean}} TableSort */
/** @typedef {{key: string, label: string, runs: RunMeta[], counts: Record<string, number>, passed: number | null}} Group */
/**
 * @typedef {{kind: "group", key: string, group: Group, isOpen: boolean}
 *   | {kind: "run", key: string, run: RunMeta, isGrouped: boolean} | {kind: "more", key: string, group: Group, rest: number}} TableItem
 */

const FIRST = 10;

/** The scores of a run, by their names. @param {RunMeta} run @returns {Record<string, number>} */
export function scoresOf(run) {
  const given = /** @type {any} */ (run).scores ?? run.metadata?.scores;
  if (typeof given !== "object" || given === null) return {};
  /** @type {Record<string, number>} */
  const scores = {};
  for (const [name, value] of Object.entries(given)) {
    const score = typeof value === "object" && value !== null ? /** @type {any} */ (value).value : value;
    if (typeof score === "number" && Number.isFinite(score)) scores[name] = score;
    else if (typeof score === "boolean") scores[name] = score ? 1 : 0;
  }
  return scores;
}

const LESS_IS_BETTER =
  /(?:^|[_ -])(?:toxicity|bias|harm(?:fulness)?|hallucinations?|errors?|failures?|loss|latency|cost|duration|tokens|distance|violations?|leaks?|leakage|refusals?|perplexity|risk|spam|penalty|wer|cer|mae|rmse)(?:[_ -](?:rate|count|ms|s|usd))?$/i;

/** Whether a score is below the pass mark; of what there should be little of, none is no failure. @param {string} name @param {number} score */
export function isLowScore(name, score) {
  return score <= 0.6 && !LESS_IS_BETTER.test(name);
}

/** The names of the scores that any run has, the most frequent first. @param {RunMeta[]} runs @param {number} most @returns {string[]} */
export function scoreNames(runs, most) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const run of runs) for (const name of Object.keys(scoresOf(run))) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts]
    .sort((a, b) => b[1] - a[1])
    .slice(0, most)
    .map(([name]) => name);
}

/** Not worth a column: what has a column or a place of its own, and what is no plain value. */
const SHOWN_ELSEWHERE = new Set(["scores", "session_id"]);

/** What a run says under a key of its metadata, as a column shows it; null where it says nothing plain. @param {RunMeta} run @param {string} key */
export function metadataText(run, key) {
  const value = run.metadata?.[key];
  if (Array.isArray(value)) return value.every((one) => typeof one !== "object") ? value.join(", ") : null;
  return value === undefined || value === null || typeof value === "object" ? null : String(value);
}

/**
 * The keys of runs' metadata that can be columns, those of most runs first.
 * @param {RunMeta[]} runs @returns {string[]}
 */
export function metadataKeys(runs) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const run of runs)
    for (const key of Object.keys(run.metadata ?? {}))
      if (!SHOWN_ELSEWHERE.has(key) && metadataText(run, key) !== null) counts.set(key, (counts.get(key) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([key]) => key);
}

/** The `key=value` terms and ages of a query, as they were typed. @param {string} query @returns {string[]} */
export function termsOf(query) {
  const pieces = query.match(/[^\s"=<>!~:]+(?:!=|>=|<=|=|<|>|~)(?:"[^"]*"|\S*)|"[^"]*"|\S+/g) ?? [];
  return pieces.filter((piece) => /^[^\s"=<>!~:]+(?:!=|>=|<=|=|<|>|~)|^is:.|^since:\d+[mhdw]$/.test(piece));
}

/** @param {RunMeta[]} runs @param {GroupBy} by @returns {Group[]} the group of the newest run first */
export function groupsOf(runs, by) {
  /** @type {Map<string, RunMeta[]>} */
  const groups = new Map();
  for (const run of runs) {
    const key = groupKey(run, by);
    const known = groups.get(key);
    if (known) known.push(run);
    else groups.set(key, [run]);
  }
  return [...groups].map(([key, members]) => {
    /** @type {Record<string, number>} */
    const counts = {};
    for (const run of members) counts[standing(run).tone] = (counts[standing(run).tone] ?? 0) + 1;
    const ended = members.length - (counts.running ?? 0) - (counts.hold ?? 0);
    return { key, label: key || "none", runs: members, counts, passed: ended > 0 ? (counts.ok ?? 0) / ended : null };
  });
}

/** @param {RunMeta} run @param {GroupBy} by */
function groupKey(run, by) {
  if (by === "version") return String(run.metadata?.version ?? "");
  if (by === "session") return String(run.metadata?.session_id ?? "");
  return by === "name" ? programOf(run) : "";
}

/**
 * The lines of the table from top to bottom.
 * @param {RunMeta[]} runs newest first @param {GroupBy} by @param {TableSort} sort
 * @param {ReadonlySet<string>} closed groups that are folded @param {ReadonlySet<string>} whole groups shown to their end
 * @returns {TableItem[]}
 */
export function tableItems(runs, by, sort, closed, whole) {
  if (by === "") return sorted(runs, sort).map((run) => ({ kind: "run", key: run.run_id, run, isGrouped: false }));
  /** @type {TableItem[]} */
  const items = [];
  for (const group of sortedGroups(groupsOf(runs, by), sort)) {
    if (group.runs.length === 1) {
      items.push({ kind: "run", key: group.runs[0].run_id, run: group.runs[0], isGrouped: false });
      continue;
    }
    const isOpen = !closed.has(group.key);
    items.push({ kind: "group", key: `group ${group.key}`, group, isOpen });
    if (!isOpen) continue;
    const ordered = sorted(group.runs, sort);
    const shown = whole.has(group.key) || ordered.length <= FIRST + 2 ? ordered : ordered.slice(0, FIRST);
    for (const run of shown) items.push({ kind: "run", key: run.run_id, run, isGrouped: true });
    if (shown.length < ordered.length)
      items.push({ kind: "more", key: `more ${group.key}`, group, rest: ordered.length - shown.length });
  }
  return items;
}

/** @param {RunMeta[]} runs @param {TableSort} sort @returns {RunMeta[]} */
function sorted(runs, { by, descending }) {
  return inOrder(runs, (run) => sortValue(run, by), descending);
}

/** Groups in the order of what their own line shows under the chosen head. @param {Group[]} groups @param {TableSort} sort @returns {Group[]} */
function sortedGroups(groups, { by, descending }) {
  return inOrder(groups, (group) => groupValue(group, by, descending), descending);
}

/** @param {Group} group @param {string} by @param {boolean} descending @returns {number | string | null} */
function groupValue({ runs, label, passed }, by, descending) {
  if (by === "run") return label;
  if (by === "outcome") return passed;
  const values = runs.map((run) => sortValue(run, by)).filter((value) => value !== null);
  const numbers = values.filter((value) => typeof value === "number");
  if (by === "time") return median(numbers);
  if (by === "tokens" || by === "cost")
    return numbers.length > 0 ? numbers.reduce((sum, value) => sum + value, 0) : null;
  if (values.length === 0) return null;
  if (by !== "started" && numbers.length === values.length)
    return numbers.reduce((sum, value) => sum + value, 0) / numbers.length;
  return values.reduce((best, value) => (value > best === descending ? value : best));
}

/**
 * @template T
 * @param {T[]} things @param {(thing: T) => number | string | null} value @param {boolean} descending @returns {T[]}
 */
function inOrder(things, value, descending) {
  const sign = descending ? -1 : 1;
  return [...things].sort((a, b) => {
    const [left, right] = [value(a), value(b)];
    // What is not known stands at the end, whichever way the rest goes.
    if (left === null || right === null) return left === right ? 0 : left === null ? 1 : -1;
    return left < right ? -sign : left > right ? sign : 0;
  });
}

/** @param {RunMeta} run @param {string} by @returns {number | string | null} */
function sortValue(run, by) {
  if (by === "started") return startOf(run);
  if (by === "time") return run.duration_ms;
  if (by === "tokens") return run.total_tokens ?? null;
  if (by === "cost") return run.cost_usd ?? null;
  if (by === "run") return nameOf(run);
  if (by === "outcome") return `${standing(run).word} ${run.headline ?? ""}`;
  if (by.startsWith("metadata ")) return metadataText(run, by.slice(9));
  return scoresOf(run)[by] ?? null;
}

/** The middle of some numbers; null when there are none. @param {number[]} numbers */
export function median(numbers) {
  if (numbers.length === 0) return null;
  const ordered = [...numbers].sort((a, b) => a - b);
  const half = Math.floor(ordered.length / 2);
  return ordered.length % 2 ? ordered[half] : (ordered[half - 1] + ordered[half]) / 2;
}
