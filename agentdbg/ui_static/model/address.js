// @ts-check
/** The page's state as an address: `/?run_id=…&view=tree&filter=TOOL_CALL,errors&q=833&event=49`, `/?run_id=A&compare=B`. */

/** @typedef {"list" | "tree" | "waterfall" | "travel"} View */
/** @typedef {{by: "time" | "tokens" | "cost" | "at", descending: boolean}} Sort */
/** @typedef {{runId: string | null, view: View, filter: string, q: string, event: string | null, side: boolean, compare?: string | null, sort?: Sort | null, table?: boolean}} Place `table`: all runs, and `q` is what is looked for among them */

const VIEWS = ["list", "tree", "waterfall", "travel"];

/** @param {string} search the part of the address from `?` @returns {Place} */
export function parseAddress(search) {
  const parameters = new URLSearchParams(search);
  const view = parameters.get("view") ?? "list";
  return {
    runId: parameters.get("run_id") || null,
    view: /** @type {View} */ (VIEWS.includes(view) ? view : "list"),
    filter: parameters.get("filter") ?? "",
    q: parameters.get("q") ?? "",
    event: parameters.get("event") || null,
    side: parameters.get("open") === "side",
    compare: parameters.get("compare") || null,
    sort: parseSort(parameters.get("sort")),
    table: parameters.get("view") === "runs",
  };
}

/** `time` is longest first, `-time` shortest first. @param {string | null} text @returns {Sort | null} */
function parseSort(text) {
  const by = (text ?? "").replace(/^-/, "");
  if (!["time", "tokens", "cost", "at"].includes(by)) return null;
  return { by: /** @type {Sort["by"]} */ (by), descending: !text?.startsWith("-") };
}

/** @param {Place} place @param {string} [current] the address now; what is not ours in it stays */
export function formatAddress(place, current = "") {
  const parameters = new URLSearchParams(current);
  /** @type {[string, string | null][]} */
  const values = [
    ["run_id", place.runId],
    ["view", place.table ? "runs" : place.view === "list" ? null : place.view],
    ["filter", place.filter || null],
    ["q", place.q || null],
    ["event", place.event],
    ["open", place.side && place.event ? "side" : null],
    ["compare", place.compare || null],
    ["sort", place.sort ? `${place.sort.descending ? "" : "-"}${place.sort.by}` : null],
  ];
  for (const [name, value] of values) {
    if (value === null) parameters.delete(name);
    else parameters.set(name, value);
  }
  const text = parameters.toString().replaceAll("%2C", ",");
  return text ? `/?${text}` : "/";
}

/** Does going from one place to another deserve an entry in the history? Typing and moving do not. @param {Place} before @param {Place} after */
export function deservesEntry(before, after) {
  return (
    before.runId !== after.runId ||
    (before.table ?? false) !== (after.table ?? false) ||
    (before.compare ?? null) !== (after.compare ?? null) ||
    before.view !== after.view ||
    (after.event !== null && before.event !== after.event)
  );
}
