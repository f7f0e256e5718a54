// @ts-check
/** The rail's contents: runs under the day they started, runs of one session together, and what each row says. */

import {
  formatAge,
  formatCost,
  formatCount,
  formatDay,
  formatDuration,
  formatElapsed,
  formatTokens,
} from "./format.js";

/** @typedef {import("./types.js").RunMeta} RunMeta */
/**
 * @typedef {{kind: "day", key: string, label: string}
 *   | {kind: "session", key: string, label: string, count: number}
 *   | {kind: "trials", key: string, label: string, outcome: string, runId: string, depth: number}
 *   | {kind: "run", key: string, run: RunMeta, session: "" | "member" | "last", depth: number, trial?: number}} RailItem
 */

/**
 * Headings and runs from top to bottom. Runs come newest first; the runs of a session stand together under it, at the
 * place of its newest run, when there are at least two of them on that day. Forks and replays stand under the run they
 * came from; forks of the same change are one line, and stand under it while one of them is selected.
 * @param {RunMeta[]} runs @param {number} now @param {string | null} [selectedId] @returns {RailItem[]}
 */
export function railItems(runs, now, selectedId = null) {
  /** @type {RailItem[]} */
  const items = [];
  const { roots, children } = families(runs);
  const add = (/** @type {RunMeta} */ run, /** @type {"" | "member" | "last"} */ session) => {
    items.push({ kind: "run", key: run.run_id, run, session, depth: 0 });
    addChildren(items, run, children, 1, selectedId);
  };
  for (const { label, runs: ofDay } of byDay(roots, now)) {
    items.push({ kind: "day", key: `day ${label}`, label });
    const sessions = bySession(ofDay);
    const placed = new Set();
    for (const run of ofDay) {
      const session = sessionOf(run);
      const companions = session === null ? [] : (sessions.get(session) ?? []);
      if (companions.length < 2) {
        add(run, "");
      } else if (!placed.has(session)) {
        placed.add(session);
        items.push({
          kind: "session",
          key: `session ${label} ${session}`,
          label: String(session),
          count: companions.length,
        });
        for (const companion of companions) add(companion, companion === companions.at(-1) ? "last" : "member");
      }
    }
  }
  return items;
}

/** The id of the run that this one is a fork or a replay of. @param {RunMeta} run @returns {string | null} */
function parentOf(run) {
  const parent = run.replay?.parent_run_id;
  return typeof parent === "string" && parent !== run.run_id ? parent : null;
}

/** Runs whose parent is not among them, and the children of each run. @param {RunMeta[]} runs newest first */
function families(runs) {
  const known = new Map(runs.map((run) => [run.run_id, run]));
  /** @type {Map<string, RunMeta[]>} */
  const children = new Map();
  const roots = [];
  for (const run of runs) {
    const parent = known.get(parentOf(run) ?? "");
    // A child is newer than its parent; files that name each other as parents stay where they are.
    if (parent && startOf(parent) <= startOf(run) && parentOf(parent) !== run.run_id)
      children.set(parent.run_id, [run, ...(children.get(parent.run_id) ?? [])]);
    else roots.push(run);
  }
  return { roots, children };
}

/**
 * @param {RailItem[]} items @param {RunMeta} parent @param {Map<string, RunMeta[]>} children
 * @param {number} depth @param {string | null} selectedId
 */
function addChildren(items, parent, children, depth, selectedId) {
  /** @type {Map<string, RunMeta[]>} */
  const alike = new Map();
  for (const run of children.get(parent.run_id) ?? []) {
    const key = relationOf(run);
    alike.set(key, [...(alike.get(key) ?? []), run]);
  }
  for (const [key, runs] of alike) {
    const isTrials = runs.length > 1 && key.startsWith("fork");
    if (isTrials) {
      const good = runs.filter((run) => standing(run).tone === "ok").length;
      const at = runs[0].replay?.at?.n;
      const label = `${runs.length} trials${at ? ` from #${at}` : ""}`;
      const outcome = `${good} of ${runs.length} finished`;
      items.push({ kind: "trials", key: `trials ${runs[0].run_id}`, label, outcome, runId: runs[0].run_id, depth });
      if (!runs.some((run) => run.run_id === selectedId)) continue;
    }
    for (const [at, run] of runs.entries()) {
      const own = isTrials ? depth + 1 : depth;
      items.push({
        kind: "run",
        key: run.run_id,
        run,
        session: "",
        depth: own,
        ...(isTrials ? { trial: at + 1 } : {}),
      });
      addChildren(items, run, children, own + 1, selectedId);
    }
  }
}

/** What a run is to its parent: equal for the trials of one fork. @param {RunMeta} run */
export function relationOf(run) {
  const { mode, at, edits, mocks } = run.replay ?? {};
  if (mode !== "fork") return "replay";
  const changed = (edits ?? []).map((/** @type {any} */ edit) => `${edit.path}=${JSON.stringify(edit.value)}`);
  return [`fork at #${at?.n ?? "?"}`, ...changed, ...(mocks ?? [])].join(", ");
}

/** @param {RunMeta[]} runs @param {number} now */
function byDay(runs, now) {
  /** @type {{label: string, runs: RunMeta[]}[]} */
  const days = [];
  for (const run of runs) {
    const label = formatDay(startOf(run), now);
    const last = days.at(-1);
    if (last?.label === label) last.runs.push(run);
    else days.push({ label, runs: [run] });
  }
  return days;
}

/** @param {RunMeta[]} runs */
function bySession(runs) {
  /** @type {Map<string, RunMeta[]>} */
  const sessions = new Map();
  for (const run of runs) {
    const session = sessionOf(run);
    if (session !== null) sessions.set(session, [...(sessions.get(session) ?? []), run]);
  }
  return sessions;
}

/** @param {RunMeta} run @returns {string | null} */
function sessionOf(run) {
  const session = run.metadata?.session_id;
  return typeof session === "string" || typeof session === "number" ? String(session) : null;
}

/** @param {RunMeta} run */
export function startOf(run) {
  const start = Date.parse(run.started_at);
  return Number.isNaN(start) ? 0 : start;
}

/** Whether a run finished and something in it went wrong. @param {RunMeta} run */
function hasProblems(run) {
  return run.status === "ok" && run.state === "problems";
}

/** How a run stands, in the words and signs of the page. @param {RunMeta} run */
export function standing(run) {
  const reason = run.status_reason ?? "";
  if (run.status === "running" && run.state === "paused") return { glyph: "paused", tone: "hold", word: "Paused" };
  if (run.status === "running") return { glyph: "running", tone: "running", word: "Running" };
  if (hasProblems(run)) return { glyph: "problem", tone: "problem", word: "Finished with problems" };
  if (run.status === "ok") return { glyph: "ok", tone: "ok", word: "Finished" };
  if (/process|died|killed|without closing/i.test(reason)) return { glyph: "died", tone: "error", word: "Died" };
  return { glyph: "failed", tone: "error", word: "Failed" };
}

/** Whether it is known when things happened; some tools' traces do not say. @param {RunMeta} run */
export function hasTimes(run) {
  return !run.metadata?.imported_from?.times;
}

/** Whether a run was made from another tool's trace, so that there is no program to run again. @param {RunMeta} run */
export function isImported(run) {
  return Boolean(run.metadata?.imported_from);
}

/** A name to show. @param {RunMeta} run */
export function nameOf(run) {
  return run.run_name?.trim() || "unnamed run";
}

/** What runs of one program share: a run that nobody named is called after it and the minute in which it began. @param {RunMeta} run */
export function programOf(run) {
  return nameOf(run).replace(/ - \d{4}-\d\d-\d\d \d\d:\d\d$/, "");
}

/** Line three of a run: how long, how many calls, how many tokens. @param {RunMeta} run @param {number | null} now */
export function runFigures(run, now) {
  return figuresOf(run, now).join(" · ");
}

/** The same, one by one; `now` is null where a run's clock stands. @param {RunMeta} run @param {number | null} now */
export function figuresOf(run, now) {
  const isRunning = run.status === "running";
  const going = now === null ? null : Math.max(0, now - startOf(run));
  const duration = isRunning ? going : run.duration_ms;
  const calls = (run.counts?.llm_calls ?? 0) + (run.counts?.tool_calls ?? 0);
  const figures = [];
  if (duration !== null && duration !== undefined && hasTimes(run))
    figures.push(isRunning ? formatElapsed(duration) : formatDuration(duration));
  // While a run goes on, what is stored of it may be older than its first call.
  if (calls > 0 || !isRunning) figures.push(calls === 1 ? "1 call" : `${formatCount(calls)} calls`);
  if (run.total_tokens) figures.push(`${formatTokens(run.total_tokens)} tok`);
  if (run.cost_usd)
    figures.push(
      run.loop_cost_usd
        ? `${formatCost(run.cost_usd)}, ${formatCost(run.loop_cost_usd)} in loops`
        : formatCost(run.cost_usd),
    );
  return figures;
}

/** The run as one sentence, for those who hear the page. @param {RunMeta} run @param {number} now */
export function runLabel(run, now) {
  const { word, tone } = standing(run);
  const headline = run.headline ? `: ${run.headline}` : "";
  const age = formatAge(startOf(run), now);
  const ago = age === "now" ? "just now" : /\d (min|h)$/.test(age) ? `${age} ago` : age;
  return `${nameOf(run)}, ${word.toLowerCase()}${headline}, ${runFigures(run, tone === "hold" ? null : now)}, ${ago}`;
}

/**
 * The list after some runs changed: known ones in their place, new ones where their start puts them, removed ones gone.
 * @param {RunMeta[]} runs newest first @param {RunMeta[]} changed @param {string[]} removed @returns {RunMeta[]}
 */
export function mergeRuns(runs, changed, removed = []) {
  const byId = new Map(runs.map((run) => [run.run_id, run]));
  for (const run of changed) byId.set(run.run_id, { ...byId.get(run.run_id), ...run });
  for (const id of removed) byId.delete(id);
  return [...byId.values()].sort((a, b) => startOf(b) - startOf(a) || (a.run_id < b.run_id ? 1 : -1));
}
