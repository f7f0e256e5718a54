// @ts-check
/** The command that forks a run at a step: what the page shows is what is run. */

import { changedPaths, readEditor } from "./pauses.js";

/**
 * @typedef {object} ForkRequest
 * @property {string} runId
 * @property {string} eventId
 * @property {number} n the step's number, as the page and `agentdbg show` have it
 * @property {string} part what is edited: `result`, `response`, `args` or `prompt`; nothing for no edit
 * @property {any} shown the value as it was recorded
 * @property {string} text the value as it is in the editor
 * @property {string} mocks mocks and faults, one a line
 * @property {"ask" | "deny" | "allow" | "recorded"} writes
 * @property {number} trials
 * @property {number} jobs
 */

const FAULT = /^(timeout|500|429|empty|garbage|cut|slow:\d+(\.\d+)?)$/;
const PLAIN = /^([\w-]+|\[\d+\])(\.[\w-]+|\[\d+\])*$/;

/** What stands in the editor: a text stays text where a text was recorded. @param {any} shown */
export function editedText(shown) {
  return typeof shown === "string" ? shown : JSON.stringify(shown ?? null, null, 2);
}

/** The changes of a fork as `--set` takes them, or what is wrong. @param {ForkRequest} request @returns {{edits: string[]} | {problem: string}} */
export function forkEdits({ part, shown, text }) {
  if (part === "") return { edits: [] };
  if (typeof shown === "string") return { edits: text === shown ? [] : [`${part}=${JSON.stringify(text)}`] };
  const read = readEditor(text);
  if ("problem" in read) return read;
  const paths = changedPaths(shown ?? null, read.value);
  if (paths.length === 0) return { edits: [] };
  const fields = paths.map((path) => [path, at(read.value, path)]);
  const isPlain = fields.every(([path, value]) => path !== "all of it" && PLAIN.test(path) && value !== undefined);
  if (!isPlain || fields.length > 6) return { edits: [`${part}=${JSON.stringify(read.value)}`] };
  return {
    edits: fields.map(([path, value]) => `${part}${path.startsWith("[") ? "" : "."}${path}=${JSON.stringify(value)}`),
  };
}

/** @param {any} value @param {string} path */
function at(value, path) {
  for (const step of path.split(/[.[\]]+/).filter(Boolean)) value = value?.[step];
  return value;
}

/** Mocks and faults, or the first line that is neither. @param {string} text @returns {{mocks: string[], faults: string[]} | {problem: string}} */
export function readMocks(text) {
  /** @type {string[]} */
  const mocks = [];
  /** @type {string[]} */
  const faults = [];
  for (const line of text.split("\n").map((one) => one.trim())) {
    if (line === "") continue;
    const [, name, what] = /^([^=]+)=(.*)$/.exec(line) ?? [];
    if (!name) return { problem: `${line}: a mock looks like refund={"ok": true}, a fault like search=timeout` };
    if (FAULT.test(what)) faults.push(line);
    else if (/^(raise|seq):/.test(what) || !("problem" in readEditor(what))) mocks.push(line);
    else return { problem: `${line}: that is neither JSON nor a fault; a text needs quotes` };
  }
  return { mocks, faults };
}

/** The request for the server, or what is wrong. @param {ForkRequest} request @returns {Record<string, any> | {problem: string}} */
export function forkBody(request) {
  const edited = forkEdits(request);
  if ("problem" in edited) return edited;
  const mocked = readMocks(request.mocks);
  if ("problem" in mocked) return mocked;
  const { trials, jobs } = request;
  return {
    what: "fork",
    at: request.eventId,
    set: edited.edits,
    mocks: mocked.mocks,
    faults: mocked.faults,
    writes: request.writes,
    ...(trials > 1 ? { trials, jobs } : {}),
  };
}

/** The command, as one types it; what is wrong where there is none. @param {ForkRequest} request @returns {string} */
export function forkCommand(request) {
  const body = forkBody(request);
  if ("problem" in body) return "";
  const { set, mocks, faults } = /** @type {{set: string[], mocks: string[], faults: string[]}} */ (body);
  const isChanged = set.length + mocks.length + faults.length > 0;
  return [
    `agentdbg fork ${request.runId.slice(0, 8)} ${isChanged ? "--at" : "--after"} ${request.n}`,
    ...set.map((one) => `--set ${quoted(one)}`),
    ...mocks.map((one) => `--mock ${quoted(one)}`),
    ...faults.map((one) => `--fault ${quoted(one)}`),
    ...(request.writes === "ask" ? [] : [`--writes ${request.writes}`]),
    ...(request.trials > 1 ? [`--trials ${request.trials}`] : []),
    ...(request.trials > 1 && request.jobs > 1 ? [`--jobs ${request.jobs}`] : []),
  ].join(" ");
}

/** A word as a shell takes it. @param {string} text */
export function quoted(text) {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`;
}
