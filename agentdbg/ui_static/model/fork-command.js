// @ts-check
/** The command that forks a run at a step: what the page shows is what is run. */

/**
 * @typedef {object} ForkRequest
 * @property {string} runId
 * @property {string} eventId
 * @property {"result" | "response"} part what the step gives
 * @property {string} shown the value as it was shown
 * @property {string} text the value as it is in the editor
 * @property {"deny" | "allow" | "recorded"} writes
 */

/** The changes of a fork, as `--set` takes them. @param {ForkRequest} request @returns {string[]} */
export function forkEdits({ part, shown, text }) {
  return text.trim() === shown.trim() ? [] : [`${part}=${compact(text)}`];
}

/** JSON on one line, else the text as it is. @param {string} text */
function compact(text) {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text.trim();
  }
}

/** @param {ForkRequest} request */
export function forkCommand(request) {
  const edits = forkEdits(request);
  const at = `${edits.length > 0 ? "--at" : "--after"} ${request.eventId.slice(0, 13)}`;
  const writes = request.writes === "deny" ? [] : [`--writes ${request.writes}`];
  return [
    `agentdbg fork ${request.runId.slice(0, 8)} ${at}`,
    ...edits.map((one) => `--set ${quoted(one)}`),
    ...writes,
  ].join(" ");
}

/** A word as a shell takes it. @param {string} text */
export function quoted(text) {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`;
}
