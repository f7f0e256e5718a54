// Runs before the first paint, as a classic script, so that a reader who chose dark never sees a white flash.
try {
  const theme = localStorage.getItem("agentdbg.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Private windows refuse storage; then the system decides.
}
