// @ts-check
/**
 * Where each row of a long list stands, and which row stands at a height. Pure arithmetic for a virtual list.
 *
 * Heights are summed in blocks: building is one pass, asking is a step through the block sums and then at most one
 * block, and a row that opens changes the sums after it only.
 */

const BLOCK = 128;

export class RowHeights {
  /** @param {number} count @param {(index: number) => number} heightAt the height of one row; asked again when needed */
  constructor(count, heightAt) {
    this.count = count;
    this.heightAt = heightAt;
    const blocks = Math.ceil(count / BLOCK);
    this.#tops = new Float64Array(blocks + 1);
    for (let block = 0; block < blocks; block += 1) {
      let sum = 0;
      const end = Math.min(count, (block + 1) * BLOCK);
      for (let index = block * BLOCK; index < end; index += 1) sum += heightAt(index);
      this.#tops[block + 1] = this.#tops[block] + sum;
    }
  }

  /** The top of each block; the last is the height of everything. @type {Float64Array} */
  #tops;

  get total() {
    return this.#tops[this.#tops.length - 1];
  }

  /** The distance from the top of the list to the top of a row. @param {number} index */
  topOf(index) {
    const bounded = Math.max(0, Math.min(index, this.count));
    const block = Math.floor(bounded / BLOCK);
    let top = this.#tops[block];
    for (let i = block * BLOCK; i < bounded; i += 1) top += this.heightAt(i);
    return top;
  }

  /** The row that covers a height. @param {number} y */
  indexAt(y) {
    if (this.count === 0 || y <= 0) return 0;
    if (y >= this.total) return this.count - 1;
    let low = 0;
    let high = this.#tops.length - 2;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#tops[middle] <= y) low = middle;
      else high = middle - 1;
    }
    let top = this.#tops[low];
    const end = Math.min(this.count, (low + 1) * BLOCK);
    for (let index = low * BLOCK; index < end; index += 1) {
      top += this.heightAt(index);
      if (top > y) return index;
    }
    return end - 1;
  }

  /** A row's height changed by this much. @param {number} index @param {number} difference */
  changed(index, difference) {
    if (difference === 0) return;
    for (let block = Math.floor(index / BLOCK) + 1; block < this.#tops.length; block += 1)
      this.#tops[block] += difference;
  }
}

/**
 * The stretch of rows to draw: what is in sight and a little beyond.
 * @param {RowHeights} heights @param {number} scrollTop @param {number} viewport @param {number} overscan rows beyond each edge
 * @returns {{first: number, last: number, inSightFirst: number, inSightLast: number}} all inclusive; last is -1 when empty
 */
export function windowOf(heights, scrollTop, viewport, overscan) {
  if (heights.count === 0) return { first: 0, last: -1, inSightFirst: 0, inSightLast: -1 };
  const inSightFirst = heights.indexAt(scrollTop);
  const inSightLast = heights.indexAt(scrollTop + Math.max(0, viewport - 1));
  return {
    first: Math.max(0, inSightFirst - overscan),
    last: Math.min(heights.count - 1, inSightLast + overscan),
    inSightFirst,
    inSightLast,
  };
}

/**
 * Where to scroll so that a row can be seen, moving as little as possible; `null` when it is in sight already.
 * @param {RowHeights} heights @param {number} index @param {number} scrollTop @param {number} viewport
 * @param {number} [margin] room to leave above and below @param {number} [height] how much of the row must be in sight
 */
export function scrollToShow(heights, index, scrollTop, viewport, margin = 0, height = heights.heightAt(index)) {
  const top = heights.topOf(index);
  if (top - margin < scrollTop) return Math.max(0, top - margin);
  const bottom = top + Math.min(height, viewport - margin);
  if (bottom + margin > scrollTop + viewport) return Math.max(0, bottom + margin - viewport);
  return null;
}

/**
 * Browsers stop at some ten million pixels of height; a longer list is scrolled through a shorter track. Small steps
 * move the list by as much as the track, so reading feels the same; a drag of the scroll bar moves it in proportion.
 */
export class ScrollTrack {
  /** @param {number} limit the tallest track */
  constructor(limit = 12e6) {
    this.limit = limit;
    this.total = 0;
    this.viewport = 0;
    /** The list's own scroll position is the track's plus this. */
    this.shift = 0;
    this.lastTrack = 0;
  }

  /** @param {number} total @param {number} viewport */
  resize(total, viewport) {
    this.total = total;
    this.viewport = viewport;
    if (!this.isScaled) this.shift = 0;
  }

  get isScaled() {
    return this.total > this.limit;
  }

  get height() {
    return Math.min(this.total, this.limit);
  }

  get #ratio() {
    return (this.total - this.viewport) / Math.max(1, this.height - this.viewport);
  }

  /** The list position for a new track position. @param {number} track */
  moved(track) {
    if (!this.isScaled) {
      this.lastTrack = track;
      return track;
    }
    if (Math.abs(track - this.lastTrack) > this.viewport * 2) this.shift = track * this.#ratio - track;
    this.lastTrack = track;
    return this.#bounded(track + this.shift);
  }

  /** The track position that belongs to a list position; from now on the two are bound to each other there. @param {number} position */
  bind(position) {
    const bounded = this.#bounded(position);
    const track = this.isScaled ? Math.round(bounded / this.#ratio) : bounded;
    this.shift = this.isScaled ? bounded - track : 0;
    this.lastTrack = track;
    return track;
  }

  /** @param {number} position */
  #bounded(position) {
    return Math.max(0, Math.min(position, Math.max(0, this.total - this.viewport)));
  }
}
