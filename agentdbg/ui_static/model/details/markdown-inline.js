// @ts-check
/**
 * What stands inside a line of Markdown: emphasis, code, links. One pass over the letters and one over the signs, so
 * that a text made of nothing but signs takes no longer than any other.
 *
 * @typedef {import("./markdown.js").Inline} Inline
 * @typedef {{ sign: "*" | "_" | "~", count: number, opens: boolean, closes: boolean }} Sign
 * @typedef {{ bracket: true, image: boolean, active: boolean }} Bracket
 */
import { MARK_AT } from "./markers.js";

const SPECIAL = /[\\`*_~[\]!<h&]|__(?:REDACTED|TRUNCATED|MEDIA)__/g;
const TARGET = /\(\s*<?([^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*)>?(?:\s+(?:"[^"\n]*"|'[^'\n]*'))?\s*\)/y;
const ADDRESS = /https?:\/\/[^\s<>"'`]+/y;
const TICKS = /`+/y;
const ENTITY = /&(amp|lt|gt|quot|apos|#39|nbsp);/y;
/** @type {Record<string, string>} */
const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", "#39": "'", nbsp: "\u00a0" };
const WORD = /[\p{L}\p{N}]/u;

/** @param {string} text @returns {Inline[]} */
export function inlineParts(text) {
  return new InlineReader(text).read();
}

class InlineReader {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
    this.at = 0;
    /** @type {(Inline | Sign | Bracket)[]} */
    this.parts = [];
    /** Where in `parts` brackets stand open. @type {number[]} */
    this.brackets = [];
    /** Runs of backticks by length and where they start, so that a code span's end is found without looking for it. */
    this.ticks = tickRuns(text);
  }

  read() {
    while (this.at < this.text.length) {
      SPECIAL.lastIndex = this.at;
      const found = SPECIAL.exec(this.text);
      const end = found ? found.index : this.text.length;
      if (end > this.at) this.#words(this.text.slice(this.at, end));
      this.at = end;
      if (found) this.#sign(found[0]);
    }
    return paired(this.parts);
  }

  /** @param {string} text */
  #words(text) {
    const last = this.parts.at(-1);
    if (last && "type" in last && last.type === "text") last.text += text;
    else this.parts.push({ type: "text", text });
  }

  /** @param {string} sign */
  #sign(sign) {
    const { text, at } = this;
    if (sign.length > 1) this.#mark();
    else if (sign === "\\") this.#escape();
    else if (sign === "`") this.#code();
    else if (sign === "*" || sign === "_" || sign === "~") this.#emphasis(sign);
    else if (sign === "[" || (sign === "!" && text[at + 1] === "[")) this.#open(sign === "!");
    else if (sign === "]") this.#close();
    else if (sign === "h" || sign === "<") this.#address(sign);
    else if (sign === "&") this.#entity();
    else this.#take(1);
  }

  /** @param {number} length */
  #take(length) {
    this.#words(this.text.slice(this.at, this.at + length));
    this.at += length;
  }

  /** What was taken out or cut keeps its mark whole; the page draws it. */
  #mark() {
    MARK_AT.lastIndex = this.at;
    this.#take(MARK_AT.exec(this.text)?.[0].length ?? 2);
  }

  #escape() {
    if (/[\\`*_~[\]()#+.!|>{}-]/.test(this.text[this.at + 1] ?? "")) this.at += 1;
    this.#take(1);
  }

  /** `&lt;` is how a model writes a sign that Markdown would take for HTML. */
  #entity() {
    ENTITY.lastIndex = this.at;
    const found = ENTITY.exec(this.text);
    if (!found) return this.#take(1);
    this.#words(ENTITIES[found[1]]);
    this.at = ENTITY.lastIndex;
  }

  #code() {
    TICKS.lastIndex = this.at;
    const length = /** @type {RegExpExecArray} */ (TICKS.exec(this.text))[0].length;
    const from = this.at + length;
    const end = nextRun(this.ticks.get(length) ?? [], from);
    if (end < 0) return this.#take(length);
    const inside = this.text.slice(from, end);
    this.parts.push({ type: "code", text: /^ .*\S.* $/s.test(inside) ? inside.slice(1, -1) : inside });
    this.at = end + length;
  }

  /** @param {"*" | "_" | "~"} sign */
  #emphasis(sign) {
    let end = this.at;
    while (this.text[end] === sign) end += 1;
    const count = end - this.at;
    const before = this.text[this.at - 1] ?? " ";
    const after = this.text[end] ?? " ";
    const usable = sign === "~" ? count === 2 : sign === "_" ? count === 1 : count <= 3;
    if (!usable) return this.#take(count);
    this.parts.push({
      sign,
      count,
      opens: /\S/.test(after) && !WORD.test(before),
      closes: /\S/.test(before) && !WORD.test(after),
    });
    this.at = end;
  }

  /** @param {boolean} image */
  #open(image) {
    this.brackets.push(this.parts.length);
    this.parts.push({ bracket: true, image, active: true });
    this.at += image ? 2 : 1;
  }

  #close() {
    const place = this.brackets.pop();
    TARGET.lastIndex = this.at + 1;
    const target = place === undefined || this.text[this.at + 1] !== "(" ? null : TARGET.exec(this.text);
    const opening = /** @type {Bracket} */ (this.parts[place ?? 0]);
    if (place === undefined || target === null || !opening.active) return this.#take(1);
    const inside = paired(this.parts.splice(place + 1));
    this.parts.pop();
    this.parts.push(
      opening.image
        ? { type: "image", href: target[1], alt: plainText(inside) }
        : { type: "link", href: target[1], parts: inside },
    );
    // A link holds no links.
    if (!opening.image) for (const open of this.brackets) /** @type {Bracket} */ (this.parts[open]).active = false;
    this.at = TARGET.lastIndex;
  }

  /** A bare address, or one in pointed brackets. @param {string} sign */
  #address(sign) {
    const from = sign === "<" ? this.at + 1 : this.at;
    ADDRESS.lastIndex = from;
    const found = sign === "h" && WORD.test(this.text[this.at - 1] ?? " ") ? null : ADDRESS.exec(this.text);
    if (!found) return this.#take(1);
    const href = withoutPunctuation(found[0]);
    this.parts.push({ type: "link", href, parts: [{ type: "text", text: href }] });
    this.at = from + href.length;
    if (sign === "<" && this.text[this.at] === ">") this.at += 1;
  }
}

/** An address without the signs of the sentence around it; a bracket that it opened itself is its own. @param {string} address */
function withoutPunctuation(address) {
  const opened = address.split("(").length;
  let end = address.length;
  for (let closed = address.split(")").length; end > 8; end -= 1) {
    const last = address[end - 1];
    if (last === ")" && closed > opened) closed -= 1;
    else if (!/[.,;:!?*_~\]]/.test(last)) break;
  }
  return address.slice(0, end);
}

/** @param {string} text @returns {Map<number, number[]>} */
function tickRuns(text) {
  /** @type {Map<number, number[]>} */
  const runs = new Map();
  for (const { 0: run, index } of text.matchAll(/`+/g)) {
    const places = runs.get(run.length);
    if (places) places.push(index);
    else runs.set(run.length, [index]);
  }
  return runs;
}

/** The first of ascending places that is not before `from`; those passed are dropped. @param {number[]} places @param {number} from */
function nextRun(places, from) {
  while (places.length > 0 && places[0] < from) places.shift();
  return places[0] ?? -1;
}

const KINDS = /** @type {const} */ ({ "*": ["em", "strong"], _: ["em", "em"], "~": ["strike", "strike"] });

/**
 * Parts in which each closing sign has found its opening one; signs that found none are letters.
 * @param {(Inline | Sign | Bracket)[]} parts
 * @returns {Inline[]}
 */
function paired(parts) {
  /** @type {(Inline | Sign)[]} */
  const done = [];
  /** Where in `done` signs stand open, by what they are. @type {Map<string, number[]>} */
  const open = new Map();
  for (const part of parts) {
    if ("bracket" in part) done.push({ type: "text", text: part.image ? "![" : "[" });
    else if (!("sign" in part)) done.push(part);
    else {
      const key = `${part.sign}${part.count}`;
      const places = open.get(key) ?? [];
      open.set(key, places);
      while (places.length > 0 && places[places.length - 1] >= done.length) places.pop();
      const from = part.closes ? places.pop() : undefined;
      if (from !== undefined && from < done.length - 1) {
        const inside = done.splice(from + 1);
        done.pop();
        done.push(wrapped(part, inside.map(asInline)));
      } else {
        if (part.opens) places.push(done.length);
        done.push(part);
      }
    }
  }
  return joined(done.map(asInline));
}

/** @param {Sign} sign @param {Inline[]} parts @returns {Inline} */
function wrapped({ sign, count }, parts) {
  const [one, two] = KINDS[sign];
  const inside = joined(parts);
  if (count === 3) return { type: "strong", parts: [{ type: "em", parts: inside }] };
  return { type: count === 1 ? one : two, parts: inside };
}

/** @param {Inline | Sign} part @returns {Inline} */
function asInline(part) {
  return "sign" in part ? { type: "text", text: part.sign.repeat(part.count) } : part;
}

/** @param {Inline[]} parts @returns {Inline[]} */
function joined(parts) {
  /** @type {Inline[]} */
  const whole = [];
  for (const part of parts) {
    const last = whole.at(-1);
    if (part.type === "text" && last?.type === "text")
      whole[whole.length - 1] = { type: "text", text: last.text + part.text };
    else whole.push(part);
  }
  return whole;
}

/** @param {Inline[]} parts @returns {string} */
function plainText(parts) {
  return parts
    .map((part) => ("parts" in part ? plainText(part.parts) : part.type === "image" ? part.alt : part.text))
    .join("");
}
