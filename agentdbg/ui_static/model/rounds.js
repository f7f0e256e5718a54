// @ts-check
/**
 * The rounds of a loop, for the numbers in the list's gutter and the bracket over the strip.
 *
 * A LOOP_WARNING names the events it was seen in. Rounds that came after the warning are found here by the same
 * pattern in the rows that follow, so that a loop which was allowed to go on is shown to its end.
 */

/** @typedef {import("./types.js").Row} Row */
/** @typedef {import("./types.js").Finding} Finding */

/**
 * @param {{n: number, payload: Record<string, any>}} warning the LOOP_WARNING
 * @param {Row[]} rows the rows around it, in order of number: from before its evidence to well after it
 * @returns {Finding | null} null when the evidence is not among the rows
 */
export function findingOf(warning, rows) {
  const { payload } = warning;
  const ids = Array.isArray(payload.evidence_event_ids) ? payload.evidence_event_ids : [];
  const evidence = rows.filter((row) => ids.includes(row.event_id));
  if (evidence.length === 0) return null;
  const repetitions = Math.max(1, Number(payload.repetitions) || 1);
  const size = Math.max(1, Math.round(evidence.length / repetitions));
  const block = evidence.slice(-size);
  const rounds = evidence.filter((_, index) => index % size === 0).map((row) => row.n);
  const later = laterRounds(block, rows.filter((row) => row.n > (evidence.at(-1)?.n ?? 0)));
  return {
    n: warning.n,
    severity: payload.severity === "critical" ? "critical" : "warning",
    first_n: rounds[0],
    last_n: later.last ?? evidence[evidence.length - 1].n,
    rounds: [...rounds, ...later.rounds],
  };
}

/** @param {Row[]} block one round @param {Row[]} rows what follows @returns {{rounds: number[], last: number | null}} */
function laterRounds(block, rows) {
  const rounds = [];
  let last = null;
  let step = 0;
  let begin = 0;
  let strangers = 0;
  for (const row of rows) {
    if (row.kind !== "llm" && row.kind !== "tool") continue;
    if (signature(row) !== signature(block[step])) {
      // A retry loop names the failing call alone, with the model's steps between the failures.
      strangers += 1;
      if (strangers > 8 || row.name === block[step].name) break;
      continue;
    }
    strangers = 0;
    if (step === 0) begin = row.n;
    step += 1;
    if (step === block.length) {
      rounds.push(begin);
      last = row.n;
      step = 0;
    }
  }
  return { rounds, last };
}

/** @param {Row} row */
function signature(row) {
  return `${row.event_type} ${row.name} ${row.status}`;
}

/**
 * What the gutter shows at each event: nothing, the line, or a round's number on the line.
 * @param {Finding[]} findings @returns {(n: number) => {severity: string, round: number, edge: "" | "first" | "last"} | null}
 */
export function gutter(findings) {
  const numbered = new Map();
  for (const finding of findings) {
    finding.rounds.forEach((n, index) => {
      if (!numbered.has(n)) numbered.set(n, index + 1);
    });
  }
  return (n) => {
    const finding = findings.find((candidate) => n >= candidate.first_n && n <= candidate.last_n);
    if (!finding) return null;
    const edge = n === finding.first_n ? "first" : n === finding.last_n ? "last" : "";
    return { severity: finding.severity, round: numbered.get(n) ?? 0, edge };
  };
}
