// @ts-check
/** Search within a run: which matches are in sight, which are filtered away, which is next, and where text matches. */

/**
 * Text cut into matching and other stretches, letters compared without regard to case.
 * @param {string} text @param {string} query @returns {{text: string, hit: boolean}[]}
 */
export function splitMatches(text, query) {
  if (!query || !text) return text ? [{ text, hit: false }] : [];
  const pieces = [];
  let rest = 0;
  for (const [start, end] of matchRanges(text, query)) {
    if (start > rest) pieces.push({ text: text.slice(rest, start), hit: false });
    pieces.push({ text: text.slice(start, end), hit: true });
    rest = end;
  }
  if (rest < text.length) pieces.push({ text: text.slice(rest), hit: false });
  return pieces;
}

/** @param {string} text @param {string} query @returns {[number, number][]} */
export function matchRanges(text, query) {
  const needle = query.toLowerCase();
  const hay = text.toLowerCase();
  // Lower case can be longer than its capital (İ); then positions would not fit the text, and marking is left out.
  if (!needle || hay.length !== text.length) return [];
  /** @type {[number, number][]} */
  const ranges = [];
  for (let at = hay.indexOf(needle); at >= 0; at = hay.indexOf(needle, at + needle.length))
    ranges.push([at, at + needle.length]);
  return ranges;
}

/**
 * Text that starts late enough for its first match to be seen: `…sure the total payment matches $833`.
 * @param {string} text @param {string} query @param {number} [lead] how many letters may stand before the match
 */
export function shiftToMatch(text, query, lead = 24) {
  const first = matchRanges(text, query)[0];
  if (!first || first[0] <= lead) return text;
  return `…${text.slice(first[0] - Math.floor(lead / 2))}`;
}

/** Matches of one query, seen through the current order. */
export class Matches {
  /**
   * @param {ArrayLike<number>} numbers matching event numbers, ascending @param {number} total how many there are in all
   * @param {Uint32Array} order the rows in sight, top to bottom @param {Uint32Array} positions where each number stands (+1)
   */
  constructor(numbers, total, order, positions) {
    this.total = total;
    this.matching = new Set(/** @type {Iterable<number>} */ (Array.from(numbers)));
    /** Where the matches in sight stand, top to bottom. @type {number[]} */
    this.places = Array.from(numbers)
      .map((n) => (n < positions.length ? positions[n] : 0))
      .filter((place) => place > 0)
      .map((place) => place - 1)
      .sort((a, b) => a - b);
    this.order = order;
  }

  get shown() {
    return this.places.length;
  }

  get hidden() {
    return this.total - this.places.length;
  }

  /** @param {number} n */
  has(n) {
    return this.matching.has(n);
  }

  /** Which match this place is, from 1; 0 when it is none. @param {number} place */
  rankOf(place) {
    return this.places.indexOf(place) + 1;
  }

  /** The place of the next match after one, or before it, going round at the ends; -1 when there is none. @param {number} place @param {1 | -1} direction */
  step(place, direction) {
    if (this.places.length === 0) return -1;
    if (direction > 0) return this.places.find((candidate) => candidate > place) ?? this.places[0];
    return this.places.findLast((candidate) => candidate < place) ?? /** @type {number} */ (this.places.at(-1));
  }
}

/**
 * The next place after one where a test holds, going round at the end; -1 when it holds nowhere.
 * @param {Uint32Array} order @param {number} place -1 to begin at the top @param {1 | -1} direction @param {(n: number) => boolean} test
 */
export function nextWhere(order, place, direction, test) {
  const { length } = order;
  const begin = place < 0 && direction < 0 ? 0 : place;
  for (let step = 1; step <= length; step += 1) {
    const candidate = (((begin + direction * step) % length) + length) % length;
    if (test(order[candidate])) return candidate;
  }
  return -1;
}
