// @ts-check
/** Rows and columns made by hand, as small as a test can read. */

import { KINDS, Skeleton } from "../../agentdbg/ui_static/model/skeleton.js";

const TYPES = {
  llm: "LLM_CALL",
  tool: "TOOL_CALL",
  state: "STATE_UPDATE",
  span: "STATE_UPDATE",
  loop: "LOOP_WARNING",
  error: "ERROR",
  start: "RUN_START",
  end: "RUN_END",
  call_start: "CALL_START",
  other: "NOTE",
};

/** A row with everything a row has; what matters to the test is given. @param {Record<string, any>} given @returns {any} */
export function row(given) {
  const kind = given.kind ?? "llm";
  return {
    n: 1,
    event_id: `id-${given.n ?? 1}`,
    event_type: TYPES[/** @type {keyof typeof TYPES} */ (kind)],
    name: kind,
    parent_n: null,
    depth: 0,
    ts: "2026-01-01T00:00:00.000Z",
    start_ms: (given.n ?? 1) * 10,
    duration_ms: null,
    status: null,
    kind,
    severity: null,
    loop_kind: null,
    tokens: null,
    tokens_in: null,
    tokens_out: null,
    cost_usd: null,
    source: null,
    preview: { input: [], outcome: [], error: null, same_as: null, rest_as: null },
    label: "",
    ...given,
  };
}

/** A skeleton of rows numbered from 1. @param {Record<string, any>[]} given */
export function skeletonOf(...given) {
  const skeleton = new Skeleton();
  skeleton.applyRows(given.map((one, index) => row({ n: index + 1, ...one })));
  return skeleton;
}

/** Columns packed as the server packs them. @param {any[]} rows @param {{from?: number, complete?: boolean, types?: string[]}} [options] */
export function packed(
  rows,
  { from = 0, complete = true, types = [...new Set(rows.map((one) => one.event_type))] } = {},
) {
  const count = rows.length;
  const bytes = Math.ceil(count / 4) * 4;
  const buffer = new ArrayBuffer(20 + 4 * bytes + 16 * count);
  const view = new DataView(buffer);
  "ADBGSKL1".split("").forEach((letter, index) => view.setUint8(index, letter.charCodeAt(0)));
  view.setUint32(8, count, true);
  view.setUint32(12, from, true);
  view.setUint32(16, complete ? 1 : 0, true);
  const small = [
    (/** @type {any} */ one) => KINDS.indexOf(one.kind),
    (/** @type {any} */ one) => (one.ended ? 3 : one.status === "error" ? 2 : one.status === "ok" ? 1 : 0),
    (/** @type {any} */ one) => ["", "info", "warning", "critical"].indexOf(one.severity ?? ""),
    (/** @type {any} */ one) => types.indexOf(one.event_type),
  ];
  small.forEach((value, column) =>
    rows.forEach((one, index) => view.setUint8(20 + column * bytes + index, value(one))),
  );
  const wide = [
    (/** @type {any} */ one) => one.parent_n ?? 0,
    (/** @type {any} */ one) => one.start_ms,
    (/** @type {any} */ one) => one.duration_ms ?? 0xffffffff,
    (/** @type {any} */ one) => one.tokens ?? 0xffffffff,
  ];
  wide.forEach((value, column) =>
    rows.forEach((one, index) => view.setUint32(20 + 4 * bytes + 4 * (column * count + index), value(one), true)),
  );
  return { buffer, types };
}

/**
 * Whether work on eight times as much takes about eight times as long, not sixty-four times. Processor time, the best of
 * five: what else the machine does must not decide.
 * @template T @param {(size: number) => T} make @param {(input: T) => unknown} work @param {number} size
 */
export function growsLinearly(make, work, size) {
  const [small, large] = [make(size), make(8 * size)].map((input) => {
    const times = Array.from({ length: 5 }, () => {
      const began = process.cpuUsage();
      work(input);
      const { user, system } = process.cpuUsage(began);
      return user + system;
    });
    return Math.min(...times);
  });
  return large < 32 * Math.max(small, 50);
}
