// @ts-check
/**
 * The data inside a file: compressed blocks in elements that nobody runs. A block is found as soon as the browser has
 * read that far, and unpacked when somebody wants it; those used last are kept.
 */

/** @typedef {{first: number, last: number, element: HTMLElement}} Block */

const AGAIN_MS = 10;
const KEPT_LETTERS = 40_000_000;

export class Blocks {
  /** @type {Map<string, Block[]>} */
  #found = new Map();
  /** @type {Element | null} */
  #last = null;
  #isAll = false;
  /** @type {Map<HTMLElement, Promise<string>>} */
  #kept = new Map();
  #letters = 0;

  /** The block of a kind that holds a number; null when there is none. @param {string} kind @param {number} [n] @returns {Promise<Block | null>} */
  async at(kind, n = 0) {
    for (;;) {
      const isAll = this.#look();
      const block = holding(this.#found.get(kind) ?? [], n);
      if (block || isAll) return block ?? null;
      await pause();
    }
  }

  /** Every block of a kind, once the whole file is read. @param {string} kind @returns {Promise<Block[]>} */
  async all(kind) {
    while (!this.#look()) await pause();
    return this.#found.get(kind) ?? [];
  }

  /** What a block holds, as text. @param {Block} block @returns {Promise<string>} */
  text({ element }) {
    let text = this.#kept.get(element);
    if (text) this.#kept.delete(element);
    else {
      text = unpack(element).text();
      text.then(
        ({ length }) => this.#keep(length),
        () => this.#kept.delete(element),
      );
    }
    this.#kept.set(element, text);
    return text;
  }

  /** What a block holds, as bytes. @param {Block} block */
  bytes({ element }) {
    return unpack(element).arrayBuffer();
  }

  /** Take note of what the browser has read since the last time; whether that is everything. */
  #look() {
    if (this.#isAll) return true;
    this.#isAll = document.readyState !== "loading";
    let element = this.#last ? this.#last.nextElementSibling : document.querySelector("script[data-block]");
    // The element is there before its text is; something after it says that it is whole.
    while (element && (element.nextSibling || this.#isAll)) {
      this.#last = element;
      this.#note(/** @type {HTMLElement} */ (element));
      element = element.nextElementSibling;
    }
    return this.#isAll;
  }

  /** @param {HTMLElement} element */
  #note(element) {
    const { block, first, last } = element.dataset;
    if (block === undefined) return;
    const list = this.#found.get(block) ?? [];
    list.push({ first: Number(first), last: Number(last), element });
    this.#found.set(block, list);
  }

  /** @param {number} letters how many just came */
  async #keep(letters) {
    this.#letters += letters;
    for (const [element, text] of this.#kept) {
      if (this.#letters <= KEPT_LETTERS) break;
      this.#kept.delete(element);
      this.#letters -= (await text.catch(() => "")).length;
    }
  }
}

/** @param {Block[]} blocks in the order of what they hold @param {number} n */
function holding(blocks, n) {
  let low = 0;
  let high = blocks.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (blocks[middle].last < n) low = middle + 1;
    else high = middle;
  }
  const block = blocks[low];
  return block && block.first <= n && n <= block.last ? block : null;
}

/** @param {HTMLElement} element */
function unpack(element) {
  const bytes = new Blob([fromBase64(element.textContent ?? "")]);
  return new Response(bytes.stream().pipeThrough(new DecompressionStream("deflate-raw")));
}

/** @param {string} text */
function fromBase64(text) {
  const decode = /** @type {any} */ (Uint8Array).fromBase64;
  if (decode) return decode.call(Uint8Array, text);
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let place = 0; place < letters.length; place += 1) bytes[place] = letters.charCodeAt(place);
  return bytes;
}

function pause() {
  return new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
}
