// @ts-check
/**
 * What kind of thing a stored value is, so that the page can show it the way a person would write it down.
 *
 * @typedef {{ kind: "empty", text: string }
 *   | { kind: "redacted" }
 *   | { kind: "missing", text: string }
 *   | { kind: "cut", bytes: number | null }
 *   | { kind: "scalar", text: string, type: "number" | "boolean" }
 *   | { kind: "string", text: string, cut: number | null }
 *   | { kind: "prose", text: string, cut: number | null }
 *   | { kind: "image" | "audio", url: string, mediaType: string, bytes: number }
 *   | { kind: "table", columns: string[], rows: any[], cut: boolean }
 *   | { kind: "list", items: any[], cut: boolean }
 *   | { kind: "object", keys: string[], value: Record<string, any>, cut: boolean }} Shape
 */
import { isGap, markedPieces, notRecorded, REDACTED, TRUNCATED } from "./markers.js";
import { byteLength, keyText, oneLine, visibleText } from "./text.js";

const PROSE_FROM = 72;
const MAX_COLUMNS = 6;
const MAX_CELL = 40;
const IMAGE_TYPES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp"]);
const AUDIO_TYPES = new Set([
  "audio/wav",
  "audio/mp3",
  "audio/mpeg",
  "audio/ogg",
  "audio/webm",
  "audio/flac",
  "audio/aac",
]);
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;

/** @param {any} value @returns {Shape} */
export function classify(value) {
  if (value === null || value === undefined) return { kind: "empty", text: "null" };
  if (typeof value === "string") return classifyString(value);
  if (typeof value === "number" || typeof value === "bigint")
    return { kind: "scalar", text: String(value), type: "number" };
  if (typeof value === "boolean") return { kind: "scalar", text: String(value), type: "boolean" };
  if (isGap(value)) return { kind: "missing", text: notRecorded(value) };
  const media = imageOf(value) ?? audioOf(value);
  if (media) return media;
  const missing = missingMediaOf(value);
  if (missing !== null) return { kind: "missing", text: missing };
  return Array.isArray(value) ? classifyList(value) : classifyObject(value);
}

/**
 * The image that a value holds, or null: a data: URL, or a block of one of the providers' shapes. Only raster types,
 * only whole base64; nothing that would make the browser ask another server.
 * @param {any} value
 * @returns {{ kind: "image", url: string, mediaType: string, bytes: number } | null}
 */
export function imageOf(value) {
  const media = mediaOf(value, IMAGE_TYPES);
  return media && { kind: "image", ...media };
}

/**
 * The sound that a value holds, or null, in the same shapes.
 * @param {any} value
 * @returns {{ kind: "audio", url: string, mediaType: string, bytes: number } | null}
 */
export function audioOf(value) {
  const media = mediaOf(value, AUDIO_TYPES);
  return media && { kind: "audio", ...media };
}

/** What is said of an image or a sound that the log does not hold, or null. @param {any} value */
export function missingMediaOf(value) {
  if (typeof value !== "object" || value === null) return null;
  const { url, data } = mediaIn(value);
  const [piece, ...rest] = markedPieces(url ?? data ?? "");
  return piece?.kind === "media" && rest.length === 0 ? piece.text : null;
}

/** @param {any} value @param {ReadonlySet<string>} types */
function mediaOf(value, types) {
  if (value === null || (typeof value !== "string" && typeof value !== "object")) return null;
  const { url, type, data } = typeof value === "string" ? { url: value, type: null, data: null } : mediaIn(value);
  if (url === null) return base64Media(type ?? "", data ?? "", types);
  const found = /^data:((?:image|audio)\/[a-z0-9.+-]+);base64,/.exec(url.slice(0, 60));
  return found ? base64Media(found[1], url.slice(found[0].length), types) : null;
}

/**
 * Where a block of one of the providers' shapes holds its image or sound.
 * @param {any} value
 * @returns {{ url: string | null, type: string | null, data: string | null }}
 */
function mediaIn(value) {
  const text = (/** @type {any} */ given) => (typeof given === "string" ? given : null);
  const url = text(value.image_url) ?? text(value.image_url?.url);
  if (url !== null) return { url, type: null, data: null };
  const inner = value.input_audio ?? value.audio ?? value.inline_data ?? value.inlineData ?? value.source;
  const given = typeof inner === "object" && inner !== null ? inner : value;
  const type = given.media_type ?? given.mime_type ?? given.mimeType ?? given.mediaType;
  return {
    url: null,
    type: text(type) ?? (text(given.format) && `audio/${given.format}`),
    data: text(given.data) ?? text(given.base64),
  };
}

/** @param {string} mediaType @param {string} data @param {ReadonlySet<string>} types */
function base64Media(mediaType, data, types) {
  if (!types.has(mediaType) || !BASE64.test(data)) return null;
  const standard = data.replaceAll("-", "+").replaceAll("_", "/");
  return { url: `data:${mediaType};base64,${standard}`, mediaType, bytes: Math.floor((data.length * 3) / 4) };
}

/**
 * A value in one line, as the rows write it: `{flight_number: "HAT023", date: "2024-05-26"}`.
 * @param {any} value
 * @param {number} [room] about how many characters there are
 */
export function inline(value, room = 120) {
  /** @type {string[]} */
  const out = [];
  writeInline(value, out, { room }, 0);
  return oneLine(out.join(""), room);
}

/**
 * The containers inside a value that start open: the outer levels first, until about so many lines are used. What
 * stands in lists opens together, level by level, or not at all, because it is read against its neighbours.
 * @param {any} root
 * @param {number} lines
 * @param {number} [most] how many members of one container are shown at first
 * @returns {Set<any>}
 */
export function openWithin(root, lines, most = Infinity) {
  const open = new Set([root]);
  let left = lines - Math.min(most, sizeOf(root));
  let parents = [{ value: root, listed: false }];
  while (parents.length > 0 && left > 0) {
    const level = parents.flatMap(({ value, listed }) =>
      containersIn(value).map((member) => ({ value: member, listed: listed || Array.isArray(value) })),
    );
    const together = level.filter((member) => member.listed);
    const groups = [...level.filter((member) => !member.listed).map((member) => [member]), together];
    parents = [];
    for (const group of groups) {
      const needed = group.reduce((sum, member) => sum + Math.min(most, sizeOf(member.value)), 0);
      if (needed > left) continue;
      left -= needed;
      for (const member of group) open.add(member.value);
      parents.push(...group);
    }
  }
  return open;
}

/** The objects and lists directly inside a value. @param {any} value @returns {any[]} */
function containersIn(value) {
  if (typeof value !== "object" || value === null) return [];
  return (Array.isArray(value) ? value : Object.values(value)).filter(
    (member) => typeof member === "object" && member !== null,
  );
}

/** How many lines a value takes when it is open. @param {any} value */
function sizeOf(value) {
  return typeof value === "object" && value !== null
    ? Array.isArray(value)
      ? value.length
      : Object.keys(value).length
    : 0;
}

/** Whether two stored values are the same, key order apart. @param {any} left @param {any} right */
export function sameValue(left, right) {
  /** @type {[any, any][]} */
  const open = [[left, right]];
  while (open.length > 0) {
    const [one, other] = /** @type {[any, any]} */ (open.pop());
    if (Object.is(one, other)) continue;
    if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
    if (Array.isArray(one) !== Array.isArray(other)) return false;
    const keys = Object.keys(one);
    if (keys.length !== Object.keys(other).length) return false;
    for (const key of keys) {
      if (!Object.hasOwn(other, key)) return false;
      open.push([one[key], other[key]]);
    }
  }
  return true;
}

/** Whether something of a value was not kept, at any depth. @param {any} value */
export function isCut(value) {
  return value !== undefined && JSON.stringify(value).includes(TRUNCATED);
}

/** @param {string} text @returns {Shape} */
function classifyString(text) {
  if (text === REDACTED) return { kind: "redacted" };
  if (text === TRUNCATED) return { kind: "cut", bytes: null };
  if (text === "") return { kind: "empty", text: "empty" };
  const media = text.startsWith("data:") ? (imageOf(text) ?? audioOf(text)) : null;
  if (media) return media;
  const cut = text.endsWith(TRUNCATED) ? cutAt(text) : null;
  const kept = cut === null ? text : text.slice(0, -TRUNCATED.length);
  return kept.length > PROSE_FROM || kept.includes("\n")
    ? { kind: "prose", text: kept, cut }
    : { kind: "string", text: kept, cut };
}

/**
 * The limit a cut text ran into. What is kept falls a little short of it: no character is split, and the field around
 * the text has brackets and keys that count too. Limits are round numbers; where none is near, the size itself is told.
 * @param {string} text
 */
function cutAt(text) {
  const bytes = byteLength(text);
  for (const [step, near] of [
    [1000, 100],
    [100, 8],
  ]) {
    const round = Math.ceil(bytes / step) * step;
    if (round - bytes <= near) return round;
  }
  return bytes;
}

/** @param {any[]} list @returns {Shape} */
function classifyList(list) {
  if (list.length === 0) return { kind: "empty", text: "empty list" };
  const cut = list[list.length - 1] === TRUNCATED;
  const items = cut ? list.slice(0, -1) : list;
  const columns = alikeColumns(items.filter((item) => !isGap(item)));
  return columns ? { kind: "table", columns, rows: items, cut } : { kind: "list", items, cut };
}

/**
 * The columns of a list of flat objects that share their keys, or null.
 * @param {any[]} items
 * @returns {string[] | null}
 */
function alikeColumns(items) {
  if (items.length < 2 || !isPlainObject(items[0])) return null;
  const columns = Object.keys(items[0]);
  if (columns.length === 0 || columns.length > MAX_COLUMNS) return null;
  for (const item of items) {
    if (!isPlainObject(item)) return null;
    const keys = Object.keys(item);
    if (keys.length !== columns.length) return null;
    for (const key of columns) if (!Object.hasOwn(item, key) || !fitsCell(item[key])) return null;
  }
  return columns;
}

/** @param {any} value */
function fitsCell(value) {
  if (typeof value === "string") return value.length <= MAX_CELL && !value.includes("\n");
  return typeof value !== "object" || value === null;
}

/** @param {Record<string, any>} value @returns {Shape} */
function classifyObject(value) {
  const all = Object.keys(value);
  if (all.length === 0) return { kind: "empty", text: "empty" };
  const keys = all.filter((key) => key !== TRUNCATED);
  return { kind: "object", keys, value, cut: keys.length < all.length };
}

/** @param {any} value */
function isPlainObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** @param {any} value @param {string[]} out @param {{ room: number }} budget @param {number} depth */
function writeInline(value, out, budget, depth) {
  if (budget.room <= 0) return;
  /** @param {string} text */
  const put = (text) => {
    out.push(text);
    budget.room -= text.length;
  };
  if (typeof value === "string") {
    if (value === REDACTED) put("redacted");
    else if (value === TRUNCATED) put("\u2026");
    else put(`"${visibleText(inWords(value).slice(0, budget.room + 1))}"`);
  } else if (typeof value !== "object" || value === null) put(String(value));
  else if (depth > 4) put("\u2026");
  else if (Array.isArray(value)) {
    put("[");
    for (let index = 0; index < value.length && budget.room > 0; index += 1) {
      if (index > 0) put(", ");
      writeInline(value[index], out, budget, depth + 1);
    }
    put("]");
  } else {
    if (isGap(value)) {
      put(`\u2026 ${notRecorded(value)} \u2026`);
      return;
    }
    put("{");
    let first = true;
    for (const key in value) {
      if (key === TRUNCATED) continue;
      if (budget.room <= 0) break;
      if (!first) put(", ");
      first = false;
      put(`${keyText(key.slice(0, 60))}: `);
      writeInline(value[key], out, budget, depth + 1);
    }
    put(Object.hasOwn(value, TRUNCATED) ? ", \u2026}" : "}");
  }
}

/** A text with an ellipsis where it was cut, and media by what they were. @param {string} text */
function inWords(text) {
  if (!text.includes(TRUNCATED) && !text.includes("__MEDIA__")) return text;
  return markedPieces(text)
    .map((piece) => (piece.kind === "cut" ? "\u2026" : piece.kind === "media" ? `[${piece.text}]` : piece.text))
    .join("");
}
