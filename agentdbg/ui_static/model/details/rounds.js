// @ts-check
/**
 * The rounds of a loop, found again among the rows around its warning: which events each round consists of, and what
 * all of it cost. Only events that match the warning's own pattern are called a round.
 *
 * @typedef {import("./types.js").Row} Row
 * @typedef {{ kind: "llm" | "tool" | "state" | "other", name: string, anchor: boolean }} Step
 * @typedef {{ rows: (Row | null)[], from: number, to: number, tokens: number | null }} Round
 * @typedef {{ steps: Step[], rounds: Round[] }} Rounds
 */

const COUNTED = new Set(["llm", "tool", "state"]);
const MOST_BETWEEN = 2;

/**
 * @param {Row[]} rows the events from the first evidence on, past the warning as far as the page has looked, ascending
 * @param {{ n: number, pattern: string, kind: string | null, evidence: Set<string> }} warning
 * @returns {Rounds}
 */
export function findRounds(rows, warning) {
  const pattern = warning.pattern.split(" -> ").filter(Boolean);
  const counted = rows.filter((row) => COUNTED.has(row.kind));
  if (counted.length === 0 || pattern.length === 0) return { steps: [], rounds: [] };
  const single = pattern.length === 1 && warning.kind !== "cycle" && warning.kind !== "repetition";
  return single ? aroundOneCall(counted, pattern[0], warning) : blocksOf(counted, pattern);
}

/**
 * What the loop used up after its first round.
 * @param {Rounds} found
 * @param {Row[]} rows
 */
export function costOfRounds(found, rows) {
  const first = found.rounds[0];
  const last = found.rounds[found.rounds.length - 1];
  if (!first || first === last) return null;
  const since = rows.filter((row) => row.n > first.to && row.n <= last.to && COUNTED.has(row.kind));
  const began = endOf(rows.find((row) => row.n === first.to));
  const ended = endOf(rows.find((row) => row.n === last.to));
  return {
    tokens: sumOf(since, "tokens"),
    cost: sumOf(since, "cost_usd"),
    ms: began === null || ended === null ? null : Math.max(0, ended - began),
  };
}

/**
 * The sum of a column, null when no row has it.
 * @param {Row[]} rows
 * @param {"tokens" | "cost_usd"} column
 * @returns {number | null}
 */
export function sumOf(rows, column) {
  let sum = null;
  for (const row of rows) {
    const value = row[column];
    if (typeof value === "number") sum = (sum ?? 0) + value;
  }
  return sum;
}

/** The signature that loop patterns are written in. @param {Row} row */
function signatureOf(row) {
  return row.kind === "llm" || row.kind === "tool" ? `${row.event_type}:${row.name}` : row.event_type;
}

/**
 * A block of steps that repeats without a gap; it may start at any turn of the written pattern.
 * @param {Row[]} rows
 * @param {string[]} pattern
 * @returns {Rounds}
 */
function blocksOf(rows, pattern) {
  const turn = pattern.indexOf(signatureOf(rows[0]));
  if (turn === -1) return { steps: [], rounds: [] };
  const turned = [...pattern.slice(turn), ...pattern.slice(0, turn)];
  /** @type {Round[]} */
  const rounds = [];
  for (let at = 0; at + turned.length <= rows.length; at += turned.length) {
    const block = rows.slice(at, at + turned.length);
    if (!block.every((row, index) => signatureOf(row) === turned[index])) break;
    rounds.push({ rows: block, from: block[0].n, to: block[block.length - 1].n, tokens: sumOf(block, "tokens") });
  }
  return { steps: rows.slice(0, turned.length).map((row) => stepOf(row, true)), rounds };
}

/**
 * One call that comes again and again, perhaps with others between; those that come in every round get a column too.
 * @param {Row[]} rows
 * @param {string} signature
 * @param {{ n: number, kind: string | null, evidence: Set<string> }} warning
 * @returns {Rounds}
 */
function aroundOneCall(rows, signature, warning) {
  const anchors = anchorsOf(rows, signature, warning);
  if (anchors.length === 0) return { steps: [], rounds: [] };
  /** @type {Row[][]} */
  const between = anchors.map((anchor, index) =>
    index === 0 ? [] : rows.filter((row) => row.n > anchors[index - 1].n && row.n < anchor.n && row.kind !== "state"),
  );
  const companions = companionsOf(between.slice(1));
  const steps = [...companions, stepOf(anchors[0], true)];
  const rounds = anchors.map((anchor, index) => {
    const inside = [...between[index], anchor];
    return {
      rows: [
        ...companions.map(
          (step) => between[index].findLast((row) => row.kind === step.kind && row.name === step.name) ?? null,
        ),
        anchor,
      ],
      from: inside[0].n,
      to: anchor.n,
      tokens: sumOf(inside, "tokens"),
    };
  });
  return { steps, rounds };
}

/**
 * @param {Row[]} rows
 * @param {string} signature
 * @param {{ n: number, kind: string | null, evidence: Set<string> }} warning
 */
function anchorsOf(rows, signature, warning) {
  /** @type {Row[]} */
  const anchors = [];
  for (const row of rows) {
    if (signatureOf(row) !== signature) continue;
    const last = anchors[anchors.length - 1];
    if (row.n < warning.n) {
      if (warning.evidence.has(row.event_id)) anchors.push(row);
      continue;
    }
    const again =
      warning.kind === "error_retry"
        ? Boolean(last?.preview?.error) && row.preview?.error === last?.preview?.error
        : row.preview?.same_as != null;
    if (!again) break;
    anchors.push(row);
  }
  return anchors;
}

/**
 * The calls that stand in every gap between two rounds: tools first, a model only when no tool does.
 * @param {Row[][]} gaps
 * @returns {Step[]}
 */
function companionsOf(gaps) {
  if (gaps.length === 0) return [];
  /** @param {string} kind */
  const inAll = (kind) => {
    const names = [...new Set(gaps[0].filter((row) => row.kind === kind).map((row) => row.name))];
    return names.filter((name) => gaps.every((gap) => gap.some((row) => row.kind === kind && row.name === name)));
  };
  const tools = inAll("tool").slice(0, MOST_BETWEEN);
  const kind = tools.length > 0 ? "tool" : "llm";
  const names = tools.length > 0 ? tools : inAll("llm").slice(0, 1);
  return names.map((name) => ({ kind, name, anchor: false }));
}

/** @param {Row} row @param {boolean} anchor @returns {Step} */
function stepOf(row, anchor) {
  const kind = row.kind === "llm" || row.kind === "tool" || row.kind === "state" ? row.kind : "other";
  return { kind, name: row.name, anchor };
}

/** @param {Row | undefined} row */
function endOf(row) {
  return row ? row.start_ms + (row.duration_ms ?? 0) : null;
}
