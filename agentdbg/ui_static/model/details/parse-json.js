// @ts-check
/**
 * JSON as it was written: integers that a double cannot hold keep every digit, as BigInt.
 *
 * Text without such an integer goes straight through the browser's own parser and writer, so the usual event costs
 * nothing extra. Everything here walks with a list of its own instead of recursing: a file somebody else made may be
 * nested deeper than the call stack.
 */

/** @typedef {null | boolean | number | bigint | string | JsonValue[] | { [key: string]: JsonValue }} JsonValue */

const MAYBE_BIG = /\d{16}/;
const LONG_INTEGER = /(?<![\d.eE+-])-?[1-9]\d{15,}(?![\d.eE])/g;

/**
 * Parse JSON text. Throws SyntaxError exactly where JSON.parse would.
 * @param {string} text
 * @returns {any}
 */
export function parseJson(text) {
  if (!MAYBE_BIG.test(text)) return JSON.parse(text);
  // Nobody can foresee the marker, so no stored string can pass itself off as a number.
  const marker = `big-${Math.random().toString(36).slice(2)}-${Math.random().toString(36).slice(2)}:`;
  const marked = markBigIntegers(text, marker);
  const value = JSON.parse(marked);
  return marked === text ? value : reviveBigIntegers(value, marker);
}

/**
 * What JSON.stringify(value, null, indent) gives, with BigInt written as its digits and any depth of nesting.
 * @param {any} value
 * @param {number} [indent]
 * @returns {string}
 */
export function stringifyJson(value, indent = 0) {
  try {
    return JSON.stringify(value, null, indent) ?? "null";
  } catch {
    return writeJson(value, " ".repeat(indent));
  }
}

/**
 * Put each unsafe integer outside strings into a marked string.
 * @param {string} text
 * @param {string} marker
 */
function markBigIntegers(text, marker) {
  /** @type {string[]} */
  const pieces = [];
  let changed = false;
  let at = 0;
  while (at < text.length) {
    const quote = text.indexOf('"', at);
    const outside = text.slice(at, quote === -1 ? text.length : quote);
    if (outside.length < 16) pieces.push(outside);
    else {
      pieces.push(
        outside.replace(LONG_INTEGER, (digits) => {
          if (Number.isSafeInteger(Number(digits))) return digits;
          changed = true;
          return `"${marker}${digits}"`;
        }),
      );
    }
    if (quote === -1) break;
    const end = endOfString(text, quote);
    pieces.push(text.slice(quote, end));
    at = end;
  }
  return changed ? pieces.join("") : text;
}

/**
 * The position after the closing quote of the string that opens at `quote`.
 * @param {string} text
 * @param {number} quote
 */
function endOfString(text, quote) {
  let close = text.indexOf('"', quote + 1);
  while (close !== -1) {
    let backslashes = 0;
    while (text.charCodeAt(close - 1 - backslashes) === 92) backslashes += 1;
    if (backslashes % 2 === 0) return close + 1;
    close = text.indexOf('"', close + 1);
  }
  return text.length;
}

/**
 * @param {any} root
 * @param {string} marker
 */
function reviveBigIntegers(root, marker) {
  const holder = { root };
  /** @type {any[]} */
  const open = [holder];
  while (open.length > 0) {
    const container = open.pop();
    for (const key of Object.keys(container)) {
      const value = container[key];
      if (typeof value === "string") {
        // An own `__proto__` made by JSON.parse is an ordinary property; writing it with `=` would not be.
        if (value.startsWith(marker)) define(container, key, BigInt(value.slice(marker.length)));
      } else if (typeof value === "object" && value !== null) open.push(value);
    }
  }
  return holder.root;
}

/**
 * @param {object} container
 * @param {string} key
 * @param {unknown} value
 */
function define(container, key, value) {
  Object.defineProperty(container, key, { value, writable: true, enumerable: true, configurable: true });
}

/**
 * One container that is being written: its keys (null for a list) and how far it has come.
 * @typedef {{ value: any, keys: string[] | null, next: number, length: number, first: boolean }} Frame
 */

/**
 * @param {any} root
 * @param {string} step
 */
function writeJson(root, step) {
  /** @type {string[]} */
  const out = [];
  /** @type {Frame[]} */
  const frames = [];
  const colon = step ? ": " : ":";
  const lineBreak = () => (step ? `\n${step.repeat(frames.length)}` : "");

  /** @param {any} value */
  const write = (value) => {
    if (typeof value !== "object" || value === null) {
      out.push(writeScalar(value));
      return;
    }
    const keys = Array.isArray(value) ? null : Object.keys(value).filter((key) => value[key] !== undefined);
    const length = keys ? keys.length : value.length;
    if (length === 0) out.push(keys ? "{}" : "[]");
    else {
      out.push(keys ? "{" : "[");
      frames.push({ value, keys, next: 0, length, first: true });
    }
  };

  write(root);
  while (frames.length > 0) {
    const frame = frames[frames.length - 1];
    if (frame.next === frame.length) {
      frames.pop();
      out.push(lineBreak(), frame.keys ? "}" : "]");
      continue;
    }
    if (!frame.first) out.push(",");
    frame.first = false;
    out.push(lineBreak());
    const index = frame.next;
    frame.next += 1;
    if (frame.keys) {
      out.push(JSON.stringify(frame.keys[index]), colon);
      write(frame.value[frame.keys[index]]);
    } else write(frame.value[index]);
  }
  return out.join("");
}

/** A value that holds no others, as JSON. @param {any} value */
export function writeScalar(value) {
  return typeof value === "bigint" ? value.toString() : (JSON.stringify(value) ?? "null");
}
