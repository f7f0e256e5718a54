// @ts-check
/** Where the values of an event came from, as the server tells it. */

/** @typedef {{number: number | null, who: string, name: string, path: string}} Origin */
/** @typedef {{value: string, path: string, from: Origin | null}} Value */

const WORD = /[\p{L}\p{N}_]/u;

/**
 * The value of an event that stands at a place of a text, the longest where several do.
 * @param {Value[]} values @param {string} text @param {number} at
 */
export function valueAt(values, text, at) {
  const found = values.filter(({ value }) => {
    for (let place = text.indexOf(value); place >= 0; place = text.indexOf(value, place + 1)) {
      const end = place + value.length;
      if (place > at) return false;
      const isWhole = !(WORD.test(text[place - 1] ?? "") && WORD.test(value[0])) && !WORD.test(text[end] ?? "");
      if (at <= end && isWhole) return true;
    }
    return false;
  });
  return found.reduce(
    (/** @type {Value | null} */ best, one) => (best && best.value.length >= one.value.length ? best : one),
    null,
  );
}

/** Where a value came from, in a few words. @param {Value} value */
export function originText({ value, from }) {
  const shown = value.length > 60 ? `${value.slice(0, 59)}…` : value;
  if (from === null) return `${shown}: from nowhere. Nothing before this step holds it.`;
  if (from.number === null) return `${shown}: given to the run.`;
  const whose = from.who === "heard" ? `a message from ${from.name}` : from.name;
  return `${shown}: from ${whose} #${from.number}${from.path === "message" ? "" : `, ${from.path}`}`;
}
