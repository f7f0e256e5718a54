// Runs before everything else, as a classic script: a reader who chose dark never sees a white flash, and the first
// rows are on their way while the modules still load.
try {
  const theme = localStorage.getItem("agentdbg.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Private windows refuse storage; then the system decides.
}
{
  const parameters = new URLSearchParams(location.search);
  const runId = parameters.get("run_id") ?? "";
  if (/^[0-9a-f-]{36}$/i.test(runId) && !parameters.has("event")) {
    const path = `/api/runs/${runId}/rows?offset=0&limit=80`;
    const answer = fetch(path, { cache: "no-store", redirect: "error" });
    answer.catch(() => {}); // whoever takes it hears of it
    globalThis.earlyAnswers = new Map([[path, answer]]);
  }
}
