// @ts-check
/** Every key and what it does. The list that `?` shows is made from this one. In a file there is one run, and it is over. */

import { embeddedRun } from "./embedded.js";

/** @typedef {import("./actions.js").Actions} Actions */

/** @type {Record<string, "passed" | "failed" | "">} */
const MARKS = { "+": "passed", "-": "failed", 0: "" };

/** @param {Actions} actions @returns {import("./keys.js").Binding[]} */
export function bindings(actions) {
  const wrong = "What went wrong";
  const rows = "Rows";
  const find = "Find";
  const view = "View";
  const runs = "Runs";
  const copy = "Copy";
  const { compare } = actions;
  /** `compared` is what a key does in a comparison; a key without it is silent there. @type {(import("./keys.js").Binding & {served?: boolean, compared?: (key: string) => void, tabled?: (key: string) => void})[]} */
  const all = [
    {
      group: wrong,
      label: "Next, previous error",
      keys: ["e", "E"],
      run: (key) => actions.stepError(key === "e" ? 1 : -1),
    },
    {
      group: wrong,
      label: "Next, previous loop",
      keys: ["l", "L"],
      run: (key) => actions.stepLoop(key === "l" ? 1 : -1),
    },
    {
      group: wrong,
      label: "Next, previous problem",
      keys: ["x", "X"],
      run: (key) => actions.stepProblem(key === "x" ? 1 : -1),
      compared: () => compare.swap(),
    },
    {
      group: wrong,
      label: "Next slowest, back",
      keys: ["s", "S"],
      run: (key) => actions.stepSlowest(key === "s" ? 1 : -1),
    },
    {
      group: wrong,
      label: "Collapse / expand summary",
      keys: ["v"],
      run: () => actions.toggleVerdict(),
      compared: () => actions.screen.compare.toggleSummary(),
    },
    { group: wrong, label: "Copy for AI assistant", keys: ["c"], run: () => actions.copying.report() },

    {
      group: rows,
      label: "Move",
      keys: ["ArrowDown", "ArrowUp", "j", "k"],
      shown: ["↓", "↑", "j", "k"],
      or: true,
      run: (key) => actions.move(key === "ArrowDown" || key === "j" ? 1 : -1),
      compared: (key) => compare.move(key === "ArrowDown" || key === "j" ? 1 : -1),
    },
    {
      group: rows,
      label: "",
      keys: ["PageDown", "PageUp"],
      run: (key) => actions.movePage(key === "PageDown" ? 1 : -1),
      compared: (key) => compare.movePage(key === "PageDown" ? 1 : -1),
    },
    {
      group: rows,
      label: "Open, close",
      keys: ["Enter", " "],
      shown: ["Enter"],
      run: () => actions.toggleSelected(),
      compared: () => compare.toggle(),
    },
    {
      group: rows,
      label: "Unfold, fold (tree); step (time travel)",
      keys: ["ArrowRight", "ArrowLeft"],
      shown: ["→", "←"],
      run: (key, event) =>
        event?.shiftKey && actions.state.view === "travel"
          ? actions.travelToState(key === "ArrowRight" ? 1 : -1)
          : actions.unfold(key === "ArrowRight"),
    },
    {
      group: rows,
      label: "First, last row",
      keys: ["Home", "End"],
      run: (key) => actions.moveTo(key === "Home" ? "first" : "last"),
      compared: (key) => compare.moveTo(key === "Home" ? "first" : "last"),
    },
    { group: rows, label: "Formatted or raw text", keys: ["m"], run: () => actions.toggleFormat() },
    { group: rows, label: "Open in side panel", keys: ["\\"], run: () => actions.toggleSide() },

    {
      group: find,
      label: "Search this run",
      keys: ["/"],
      run: () => actions.focusSearch(),
      compared: () => compare.focusSearch(),
    },
    {
      group: find,
      label: "Next, previous match or change",
      keys: ["n", "N"],
      run: (key) => actions.stepMatch(key === "n" ? 1 : -1),
      compared: (key) => compare.step(key === "n" ? 1 : -1),
    },
    { group: find, label: "All events", keys: ["a"], run: () => actions.filter("all") },
    { group: find, label: "Errors only", keys: ["!"], run: () => actions.filter("errors") },
    {
      group: find,
      label: "Close, then clear",
      keys: ["Escape"],
      shown: ["Esc"],
      run: () => actions.escape(),
      compared: () => actions.escape(),
      tabled: () => actions.escape(),
    },

    {
      group: view,
      label: "List, tree, waterfall, time travel",
      keys: ["1", "2", "3", "4"],
      run: (key) => actions.view(/** @type {const} */ (["list", "tree", "waterfall", "travel"])[Number(key) - 1]),
    },
    {
      group: view,
      served: true,
      label: "Follow a live run, fork a finished one from the selected step",
      keys: ["f"],
      run: () => actions.followOrFork(),
    },
    { group: view, served: true, label: "Replay this run", keys: ["R"], run: () => actions.replay() },
    {
      group: view,
      served: true,
      label: "Break before the next call like the selected one, in a live run",
      keys: ["B"],
      shown: ["Shift", "B"],
      run: () => actions.toggleBreak(),
    },
    {
      group: view,
      served: true,
      label: "Compare a fork or a replay with its parent",
      keys: ["p"],
      run: () => actions.compareParent(),
    },
    {
      group: view,
      label: "Light, dark, system",
      keys: ["t"],
      run: () => actions.cycleTheme(),
      compared: () => actions.cycleTheme(),
      tabled: () => actions.cycleTheme(),
    },
    {
      group: view,
      label: "This list",
      keys: ["?"],
      run: () => actions.help(),
      compared: () => actions.help(),
      tabled: () => actions.help(),
    },

    {
      group: runs,
      served: true,
      label: "Newer, older run",
      keys: ["[", "]"],
      run: (key) => actions.runActions.stepRun(key === "]" ? 1 : -1),
    },
    {
      group: runs,
      served: true,
      label: "Find a run",
      keys: ["r"],
      run: () => actions.runActions.findRun(),
      compared: () => actions.runActions.findRun(),
      tabled: () => actions.screen.table.focusField(),
    },
    {
      group: runs,
      served: true,
      label: "All runs as a table",
      keys: ["T"],
      run: () => actions.table.toggle(),
      compared: () => actions.table.toggle(),
      tabled: () => actions.table.toggle(),
    },
    {
      group: runs,
      served: true,
      label: "Show, hide the runs",
      keys: ["b"],
      run: () => actions.runActions.toggleRail(),
      compared: () => actions.runActions.toggleRail(),
    },
    {
      group: runs,
      served: true,
      label: "Compare with another run",
      keys: ["d"],
      run: () => compare.pick(),
      compared: () => compare.pick(),
    },
    { group: runs, served: true, label: "Swap the two runs, compared", keys: [], shown: ["x"], run: () => {} },
    { group: runs, served: true, label: "Rename this run", keys: ["F2"], run: () => actions.runActions.renameRun() },
    {
      group: runs,
      served: true,
      label: "Mark as passed, as failed; clear the mark",
      keys: ["+", "-", "0"],
      run: (key) => actions.runActions.mark(MARKS[key]),
      tabled: (key) => actions.runActions.mark(MARKS[key], actions.screen.table.meant),
    },
    {
      group: runs,
      served: true,
      label: "Delete this run, or the chosen ones",
      keys: ["Delete"],
      shown: ["Del"],
      run: () => actions.runActions.deleteRun(actions.state.runId),
    },
    { group: runs, served: true, label: "Share as HTML file", keys: ["h"], run: () => actions.runActions.savePage() },
    { group: runs, label: "Save all events as JSON", keys: ["w"], run: () => actions.runActions.saveRun() },

    { group: copy, label: "Link to this event", keys: ["y"], run: () => actions.copying.link() },
    { group: copy, label: "This event as JSON", keys: ["Y"], run: () => actions.copying.event() },
    { group: copy, label: "Run id", keys: ["i"], run: () => actions.copying.runId() },
  ];
  const here = embeddedRun === null ? all : all.filter((binding) => !binding.served);
  return here.map((binding) => ({
    ...binding,
    run: (key, event) =>
      actions.table.isOpen ? binding.tabled?.(key) : compare.isOpen ? binding.compared?.(key) : binding.run(key, event),
  }));
}
