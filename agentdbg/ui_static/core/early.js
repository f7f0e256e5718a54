// Runs before everything else, as a classic script: a reader who chose dark never sees a white flash, and the first
// rows and the verdict are on their way while the rest still loads.
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
    globalThis.earlyAnswers = new Map();
    for (const what of ["rows?offset=0&limit=80", "summary"]) {
      const path = `/api/runs/${runId}/${what}`;
      const answer = fetch(path, { cache: "no-store", redirect: "error" });
      answer.catch(() => {}); // whoever takes it hears of it
      globalThis.earlyAnswers.set(path, answer);
    }
  }
}
