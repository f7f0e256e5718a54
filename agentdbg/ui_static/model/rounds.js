// @ts-check
/**
 * The rounds of a loop as the gutter numbers them and the strip brackets them: the same rounds that the open finding
 * shows in its table.
 */

import { findRounds } from "./details/rounds.js";

/** @typedef {import("./types.js").Row} Row */
/** @typedef {import("./types.js").Finding} Finding */

/**
 * @param {{n: number, payload: Record<string, any>}} warning the LOOP_WARNING
 * @param {Row[]} rows the rows around it in order of number: from before its evidence to well after it
 * @returns {Finding | null} null when the evidence is not among the rows
 */
export function findingOf({ n, payload }, rows) {
  const listed = payload.evidence_event_ids ?? payload.evidence;
  const evidence = new Set(Array.isArray(listed) ? listed : []);
  const begin = rows.findIndex((row) => evidence.has(row.event_id));
  if (begin < 0) return null;
  const found = findRounds(rows.slice(begin), {
    n,
    pattern: String(payload.pattern ?? ""),
    kind: payload.kind ?? null,
    evidence,
  });
  if (found.rounds.length === 0) return null;
  const isBlock = found.steps.every((step) => step.anchor);
  return {
    n,
    severity: payload.severity === "critical" ? "critical" : "warning",
    // In a loop round one call, the number stands at that call, not at what led to it.
    rounds: found.rounds.map((round) => (isBlock ? round.from : round.to)),
    first_n: isBlock ? found.rounds[0].from : found.rounds[0].to,
    last_n: Math.max(n, found.rounds[found.rounds.length - 1].to),
  };
}

/**
 * What the gutter shows at each event: nothing, the line, or a round's number on the line.
 * @param {Finding[]} findings
 * @returns {(n: number) => {severity: string, round: number, edge: "" | "first" | "last"} | null}
 */
export function gutterOf(findings) {
  const numbered = new Map();
  for (const { rounds } of findings) {
    rounds.forEach((n, index) => {
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
