// @ts-check
/**
 * Events as a file holds them: JSON whose long strings are numbers of strings stored once, with backslashes and quotes
 * inside strings as one control character each. Made by agentdbg/interop/html_file/contents.py.
 */

// None of these stands in JSON as it is: control characters in strings are always escaped.
const REFERENCE = /\x01([\x10-\x1f]+)/g;
const QUOTE = "\x03";
const BACKSLASH = "\x02";
const STRUCTURE = /[{}[\],:]/;
/** From inside a string to its end; a colon after it says that the string was a field's name. */
const REST_OF_KEY = /[^"]*"\s*:/y;

/** The numbers of the strings that a line refers to. @param {string} line @returns {number[]} */
export function referencesOf(line) {
  return Array.from(line.matchAll(REFERENCE), (match) => numberOf(match[1]));
}

/** The line as JSON. @param {string} line @param {(number: number) => string} stringOf */
export function toJson(line, stringOf) {
  return line
    .replace(REFERENCE, (_, digits) => stringOf(numberOf(digits)))
    .replaceAll(QUOTE, '\\"')
    .replaceAll(BACKSLASH, "\\\\");
}

/** @param {string} digits */
function numberOf(digits) {
  let number = 0;
  for (let place = 0; place < digits.length; place += 1) number = number * 16 + digits.charCodeAt(place) - 0x10;
  return number;
}

/** One query: finds the events that hold some text in a recorded value, whatever its case, as the viewer's server does. */
export class TextQuery {
  /** @param {string} query */
  constructor(query) {
    this.query = query.toLowerCase();
    this.needle = JSON.stringify(query)
      .slice(1, -1)
      .replaceAll("\\\\", BACKSLASH)
      .replaceAll('\\"', QUOTE)
      .toLowerCase();
    this.isAscii = /^[\x00-\x7f]*$/.test(query);
    /** Whether only the event itself can tell: what looks like a match may lie across several values. */
    this.isSubtle = !this.isAscii || STRUCTURE.test(query);
  }

  /** Whether packed text may hold the query. Letters beyond ASCII may be stored as escapes. @param {string} text */
  mayHold(text) {
    return text.toLowerCase().includes(this.needle) || (!this.isAscii && text.includes("\\u"));
  }

  /**
   * Whether a packed line matches: true, false, or null when the event itself has to be looked at.
   * @param {string} line @param {Set<number>} strings the numbers of strings that may hold the query
   * @returns {boolean | null}
   */
  judge(line, strings) {
    const held = this.mayHold(line);
    if (!held && (strings.size === 0 || !referencesOf(line).some((number) => strings.has(number)))) return false;
    if (this.isSubtle) return null;
    if (held) {
      const lower = line.toLowerCase();
      for (let at = lower.indexOf(this.needle); at >= 0; at = lower.indexOf(this.needle, at + 1))
        if (!endsName(lower, at + this.needle.length)) return true;
    }
    for (const match of line.matchAll(REFERENCE))
      if (strings.has(numberOf(match[1])) && !endsName(line, match.index + match[0].length)) return true;
    return false;
  }

  /** Whether some value of an event holds the query. @param {any} value @returns {boolean} */
  matches(value) {
    if (typeof value === "string") return value.toLowerCase().includes(this.query);
    if (value !== null && typeof value === "object") return Object.values(value).some((item) => this.matches(item));
    return JSON.stringify(value).includes(this.query);
  }
}

/** @param {string} text @param {number} at a place inside a string */
function endsName(text, at) {
  REST_OF_KEY.lastIndex = at;
  return REST_OF_KEY.test(text);
}
