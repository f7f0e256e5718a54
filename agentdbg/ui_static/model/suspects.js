// @ts-check
/** Likely causes as the server names them, in one shape; what is not there is left out. */

/** @typedef {import("./types.js").VerdictLine["parts"]} Parts */
/** @typedef {{n: number, parts: Parts, evidence: {n: number | null, parts: Parts}[], hitRate: number | null}} ShownSuspect */

const MOST = 5;

/** @param {any} summary @returns {ShownSuspect[]} most likely first */
export function suspectsOf(summary) {
  // Where nothing went wrong there is nothing to suspect.
  const given = Array.isArray(summary?.suspects) && summary.verdict?.state !== "ok" ? summary.suspects : [];
  return given.slice(0, MOST).flatMap((/** @type {any} */ one) => {
    const n = numberOf(one);
    if (n === null) return [];
    const told = one.evidence?.numbers ?? one.evidence;
    const evidence = (Array.isArray(told) ? told : []).filter((/** @type {any} */ piece) => numberOf(piece) !== n);
    const rate = one.hit_rate ?? one.measured ?? null;
    return [
      {
        n,
        parts: partsOf(one),
        evidence: evidence
          .slice(0, 6)
          .map((/** @type {any} */ piece) => ({ n: numberOf(piece), parts: partsOf(piece) })),
        hitRate: typeof rate === "number" && rate > 0 && rate <= 1 ? rate : null,
      },
    ];
  });
}

/** Whether the run finished and something in it went wrong. @param {any} summary */
export function isProblem(summary) {
  return summary?.verdict?.state === "problems" || summary?.verdict?.tone === "problem";
}

/** @param {any} one @returns {number | null} */
function numberOf(one) {
  const n = typeof one === "number" ? one : (one?.n ?? one?.event ?? one?.number);
  return Number.isInteger(n) && n > 0 ? n : null;
}

/** @param {any} one @returns {Parts} */
function partsOf(one) {
  if (Array.isArray(one?.parts)) return one.parts;
  const text = one?.sentence ?? one?.text ?? one?.says ?? "";
  return typeof text === "string" && text ? [{ text, style: "plain" }] : [];
}
