// @ts-check
/** Two lists side by side: what both have, in order, and what only one has. */

/** @typedef {{ before: number | null, after: number | null }} Step positions in the two lists; both where they agree */

/** Beyond so many pairs to try, what lies between the common ends counts as all different. */
const MOST_PAIRS = 4_000_000;

/**
 * @param {number} before how many the first list has
 * @param {number} after how many the second has
 * @param {(before: number, after: number) => boolean} same
 * @returns {Step[]}
 */
export function alignLists(before, after, same) {
  /** @type {Step[]} */
  const steps = [];
  let start = 0;
  while (start < before && start < after && same(start, start)) start += 1;
  let tail = 0;
  while (tail < before - start && tail < after - start && same(before - 1 - tail, after - 1 - tail)) tail += 1;
  for (let at = 0; at < start; at += 1) steps.push({ before: at, after: at });
  steps.push(...middle(start, before - tail, after - tail, same));
  for (let at = tail; at > 0; at -= 1) steps.push({ before: before - at, after: after - at });
  return steps;
}

/** @param {number} start @param {number} endBefore @param {number} endAfter @param {(before: number, after: number) => boolean} same @returns {Step[]} */
function middle(start, endBefore, endAfter, same) {
  const [rows, columns] = [endBefore - start, endAfter - start];
  /** @type {Step[]} */
  const steps = [];
  const width = columns + 1;
  const usable = rows > 0 && columns > 0 && rows * columns <= MOST_PAIRS;
  const longest = usable ? lengths(rows, columns, (row, column) => same(start + row, start + column)) : null;
  let [row, column] = [0, 0];
  while (longest && row < rows && column < columns) {
    if (same(start + row, start + column)) steps.push({ before: start + row++, after: start + column++ });
    else if (longest[(row + 1) * width + column] >= longest[row * width + column + 1])
      steps.push({ before: start + row++, after: null });
    else steps.push({ before: null, after: start + column++ });
  }
  for (; row < rows; row += 1) steps.push({ before: start + row, after: null });
  for (; column < columns; column += 1) steps.push({ before: null, after: start + column });
  return steps;
}

/** The longest common list from each pair of places on. @param {number} rows @param {number} columns @param {(row: number, column: number) => boolean} same */
function lengths(rows, columns, same) {
  const width = columns + 1;
  const longest = new Uint16Array((rows + 1) * width);
  for (let row = rows - 1; row >= 0; row -= 1) {
    for (let column = columns - 1; column >= 0; column -= 1) {
      const at = row * width + column;
      longest[at] = same(row, column) ? longest[at + width + 1] + 1 : Math.max(longest[at + width], longest[at + 1]);
    }
  }
  return longest;
}
