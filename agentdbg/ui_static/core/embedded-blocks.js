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
  #isAll = false;
  /** @type {Map<HTMLElement, Promise<string>>} */
  #kept = new Map();
  #letters = 0;

  /** The block of a kind that holds a number; null when there is none. @param {string} kind @param {number} [n] @returns {Promise<Block | null>} */
  async at(kind, n = 0) {
    for (;;) {
      const isAll = this.#look();
      const block = (this.#found.get(kind) ?? []).find(({ first, last }) => first <= n && n <= last);
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
      text.then(({ length }) => this.#keep(length));
    }
    this.#kept.set(element, text);
    return text;
  }

  /** What a block holds, as bytes. @param {Block} block */
  bytes({ element }) {
    return unpack(element).arrayBuffer();
  }

  /** Find what the browser has read so far; whether that is everything. */
  #look() {
    if (this.#isAll) return true;
    this.#isAll = document.readyState !== "loading";
    this.#found.clear();
    for (const element of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("script[data-block]"))) {
      // The element is there before its text is; something after it says that it is whole.
      if (!element.nextSibling && !this.#isAll) continue;
      const { block = "", first, last } = element.dataset;
      const list = this.#found.get(block);
      const found = { first: Number(first), last: Number(last), element };
      if (list) list.push(found);
      else this.#found.set(block, [found]);
    }
    return this.#isAll;
  }

  /** @param {number} letters how many just came */
  async #keep(letters) {
    this.#letters += letters;
    for (const [element, text] of this.#kept) {
      if (this.#letters <= KEPT_LETTERS) break;
      this.#kept.delete(element);
      this.#letters -= (await text).length;
    }
  }
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
