// @ts-check
/** Which events are wanted: by type (several add up), and whether only failures among them. */

/** @typedef {import("./skeleton.js").Skeleton} Skeleton */
/** @typedef {{types: ReadonlySet<string>, errors: boolean}} Filter */

/** @type {Filter} */
export const EVERYTHING = Object.freeze({ types: new Set(), errors: false });

/** @param {Filter} filter */
export function isEverything(filter) {
  return filter.types.size === 0 && !filter.errors;
}

/** From the address: `TOOL_CALL,errors`. @param {string | null | undefined} text @returns {Filter} */
export function parseFilter(text) {
  const words = (text ?? "").split(",").filter((word) => word && word !== "all");
  return { types: new Set(words.filter((word) => word !== "errors")), errors: words.includes("errors") };
}

/** Which events of a run an address asks for; of a comparison it says which rows are shown. @param {import("./address.js").Place} place @returns {Filter} */
export function filterOf(place) {
  const filter = parseFilter(place.compare ? "" : place.filter);
  return isEverything(filter) ? EVERYTHING : filter;
}

/** For the address. @param {Filter} filter */
export function formatFilter(filter) {
  return [...filter.types, ...(filter.errors ? ["errors"] : [])].join(",");
}

/** What a click on a chip leads to. @param {Filter} filter @param {string} chip a type, `all` or `errors` @returns {Filter} */
export function toggleChip(filter, chip) {
  if (chip === "all") return EVERYTHING;
  if (chip === "errors") return { types: filter.types, errors: !filter.errors };
  const types = new Set(filter.types);
  if (!types.delete(chip)) types.add(chip);
  return { types, errors: filter.errors };
}

/**
 * A test for one event number, made once per filter so that a million calls of it are cheap.
 * @param {Skeleton} skeleton @param {Filter} filter @returns {(n: number) => boolean}
 */
export function matcher(skeleton, filter) {
  const wanted = new Uint8Array(256).fill(filter.types.size === 0 ? 1 : 0);
  skeleton.types.forEach((name, index) => {
    if (filter.types.has(name)) wanted[index] = 1;
  });
  if (filter.errors) return (n) => skeleton.isShown(n) && wanted[skeleton.type[n]] === 1 && skeleton.isFailure(n);
  return (n) => skeleton.isShown(n) && wanted[skeleton.type[n]] === 1;
}

/** The short names of the chips. Types a user made up say their own name. */
const CHIP_NAMES = new Map([
  ["LLM_CALL", "LLM"],
  ["TOOL_CALL", "Tools"],
  ["STATE_UPDATE", "State"],
  ["LOOP_WARNING", "Loops"],
  ["ERROR", "Exceptions"],
  ["RUN_START", "Start"],
  ["RUN_END", "End"],
  ["CALL_START", "Not returned"],
]);
const CHIP_GLYPHS = new Map([
  ["LLM_CALL", "llm"],
  ["TOOL_CALL", "tool"],
  ["STATE_UPDATE", "state"],
  ["LOOP_WARNING", "loop"],
  ["ERROR", "error"],
  ["RUN_START", "start"],
  ["RUN_END", "end"],
  ["CALL_START", "call_start"],
]);
const LAST = ["CALL_START", "RUN_START", "RUN_END"];

/**
 * One chip per type in the run, the familiar ones first, a user's own after them, start and end last.
 * @param {Map<string, number>} counts
 * @returns {{type: string, name: string, glyph: string, count: number}[]}
 */
export function chips(counts) {
  const rank = (/** @type {string} */ type) => {
    if (LAST.includes(type)) return 200 + LAST.indexOf(type);
    const known = [...CHIP_NAMES.keys()].indexOf(type);
    return known >= 0 ? known : 100;
  };
  return [...counts]
    .filter(([, count]) => count > 0)
    .sort(([a], [b]) => rank(a) - rank(b) || a.localeCompare(b))
    .map(([type, count]) => ({
      type,
      count,
      name: CHIP_NAMES.get(type) ?? type,
      glyph: CHIP_GLYPHS.get(type) ?? "other",
    }));
}

/** The filter in words, for "24 of 69 events: tools". @param {Filter} filter */
export function describeFilter(filter) {
  const names = [...filter.types].map((type) =>
    (CHIP_NAMES.get(type) ?? type).replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase()),
  );
  const kinds = names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names.at(-1)}` : (names[0] ?? "");
  if (!filter.errors) return kinds;
  return kinds ? `${kinds}, errors only` : "errors only";
}
