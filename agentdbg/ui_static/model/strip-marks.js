// @ts-check
/** Where the marks above the strip go: the numbers of the suspects, and the words of the brackets that show loops. */

/**
 * Left edges of marks of one size, in their order: each as near to its place as it can be, none on another, all within
 * the width as far as they fit.
 * @param {number[]} wanted ascending pixels @param {number} size @param {number} width @returns {number[]}
 */
export function sideBySide(wanted, size, width) {
  /** @type {number[]} */
  const lefts = [];
  for (const at of wanted) lefts.push(Math.max(at, (lefts.at(-1) ?? -size) + size));
  let end = width;
  for (let place = lefts.length - 1; place >= 0; place -= 1) end = lefts[place] = Math.min(lefts[place], end - size);
  return lefts;
}

/**
 * On which side of each bracket its word has room: on none of the other brackets, on none of the other words. Of
 * brackets that lie on each other one word is enough.
 * @param {{begin: number, end: number}[]} brackets pixels @param {number} word its width @param {number} width
 * @returns {("before" | "after" | "none")[]}
 */
export function wordSides(brackets, word, width) {
  /** @type {{begin: number, end: number}[]} */
  const said = []; // words, and the brackets that have one
  return brackets.map((bracket) => {
    const others = brackets.filter((other) => other !== bracket);
    const before = { begin: bracket.begin - word, end: bracket.begin };
    const after = { begin: bracket.end, end: bracket.end + word };
    if (said.some((other) => meet(other, bracket))) return "none";
    for (const [side, place] of /** @type {const} */ ([
      ["before", before],
      ["after", after],
    ])) {
      if (place.begin < 0 || place.end > width || [...others, ...said].some((other) => meet(other, place))) continue;
      said.push(bracket, place);
      return side;
    }
    return "none";
  });
}

/** @param {{begin: number, end: number}} one @param {{begin: number, end: number}} other */
function meet(one, other) {
  return one.begin < other.end && other.begin < one.end;
}
