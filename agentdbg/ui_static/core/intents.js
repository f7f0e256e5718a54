// @ts-check
/** The intents that come up from the views, each connected to what it does. */

/** @param {import("./actions.js").Actions} actions */
export function listen(actions) {
  const { runActions, copying } = actions;
  const on = (/** @type {string} */ type, /** @type {(detail: any, event: CustomEvent) => void} */ act) =>
    document.addEventListener(type, (event) =>
      act(/** @type {CustomEvent} */ (event).detail, /** @type {CustomEvent} */ (event)),
    );
  const { compare } = actions;
  on("open-run", ({ runId, keepFocus }) =>
    compare.isPicking ? compare.choose(runId, { keepFocus }) : runActions.openRun(runId, { keepFocus }),
  );
  on("compare-with", () => compare.pick());
  on("compare-parent", () => actions.compareParent());
  on("cancel-pick", () => compare.cancelPick());
  on("compare-close", () => compare.close());
  on("compare-swap", () => compare.swap());
  on("compare-step", ({ direction }) => compare.stepChange(direction));
  on("compare-show", ({ shown }) => compare.show(shown));
  on("compare-jump", ({ side, n }) => compare.jump(side, n));
  on("toggle-pair", ({ row }) => compare.toggle(row));
  on("unfold", ({ first }) => compare.unfold(first));
  on("open-compared", ({ runId, event }) => compare.openEvent(runId, event));
  on("find-runs", ({ q, status }) => actions.runs.find(q, status).catch(() => {}));
  on("more-runs", () => actions.runs.more().catch(() => {}));
  on("theme", () => actions.cycleTheme());
  on("help", () => actions.help());
  on("rail", () => runActions.toggleRail());
  on("back", () => runActions.closeRun());
  on("navigate", ({ n }) => actions.jump(n));
  on("open-changes", ({ n }) => actions.openTab(n, "changes"));
  on("toggle-event", ({ n }) => actions.toggle(n));
  on("fold", ({ n }) => actions.fold(n));
  on("filter", ({ chip }) => actions.filter(chip));
  on("show-hidden", () => actions.showHidden());
  const { table } = actions;
  on("table", (detail) => table.toggle(detail?.on));
  on("find-table", ({ q }) => table.find(q));
  on("open-from-table", ({ runId, event }) => table.open(runId, event));
  on("compare-runs", ({ a, b }) => table.compare(a, b));
  on("export-runs", ({ ids }) => table.share(ids));
  on("delete-runs", ({ ids }) => table.remove(ids));
  on("mark-passed", (detail) => runActions.mark("passed", detail?.ids));
  on("mark-failed", (detail) => runActions.mark("failed", detail?.ids));
  on("mark-cleared", (detail) => runActions.mark("", detail?.ids));
  on("travel", (where) => actions.travel(where));
  on("sort", ({ by }) => actions.sort(by));
  on("fold-time", ({ folds }) => actions.foldTime(folds));
  on("slowest", () => actions.stepSlowest(1));
  on("view", ({ view }) => actions.view(view));
  on("search-run", ({ q, step }) => (compare.isOpen ? compare : actions).search(q, { step }));
  on("step-match", ({ direction }) => (compare.isOpen ? compare : actions).stepMatch(direction));
  on("leave-field", () => (compare.isOpen ? compare.leaveField() : actions.screen.rows.focusRows()));
  on("focus-search", () => (compare.isOpen ? compare : actions).focusSearch());
  on("follow", ({ on: wanted }) => actions.follow(wanted));
  on("to-end", () => actions.moveTo("last"));
  on("zoom", ({ zoom }) => actions.zoom(zoom));
  on("jump-to-time", ({ at }) => actions.jumpToTime(at));
  on("rows-moved", (detail) => actions.rowsMoved(detail));
  on("move", ({ to }, event) => actions.moveDetails(to, /** @type {Element} */ (event.target)));
  on("close-side", () => actions.store.set({ sideOpen: 0 }));
  on("paused", ({ pause }) => {
    actions.store.touch("clock");
    actions.store.touch("breaks");
    if (pause) actions.screen.announce(`Paused at ${pause.call.name}.`);
  });
  on("breaks-changed", () => actions.store.touch("breaks"));
  on("toggle-break", ({ place }) => void actions.screen.holdBar.toggle(place));
  on("fork-started", () => actions.screen.toasts.say("The fork has started; it comes up among the runs."));
  on("replay-run", () => actions.replay());
  on("replay-started", ({ runId }) =>
    runId
      ? runActions.openRun(runId)
      : actions.screen.toasts.say("The replay has started; it comes up among the runs."),
  );
  on("answered-elsewhere", ({ message }) => actions.screen.toasts.say(message));
  on("copy-report", () => copying.report());
  on("copy-id", () => copying.runId());
  on("verdict", () => actions.toggleVerdict());
  on("rename-run", () => runActions.renameRun());
  on("delete-run", (detail) => runActions.deleteRun(detail?.runId ?? actions.state.runId));
  on("save-run", () => runActions.saveRun());
  on("save-page", () => runActions.savePage());
  on("retry", () => runActions.retry());
  document.querySelector(".veil")?.addEventListener("click", () => runActions.toggleRail());
}
