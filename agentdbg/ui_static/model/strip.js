// @ts-check
/**
 * The whole run on one line, as rectangles to paint: model calls as wide as they took and as high as their tokens,
 * tools below, failures red, top-level spans as ground. A run with more bars than pixels is summed up by pixel.
 */

import { KIND } from "./skeleton.js";

/** @typedef {import("./skeleton.js").Skeleton} Skeleton */
/** @typedef {{x: number, width: number, height: number, tone: "llm" | "tool" | "error" | "span" | "running"}} Bar height from 0 to 1 */

const FEW = 4000; // beyond this, bars are thinner than a pixel anyway

/**
 * @param {Skeleton} skeleton @param {number} width pixels @param {number} extent ms the whole width stands for
 * @returns {{models: Bar[], tools: Bar[], spans: Bar[]}}
 */
export function stripBars(skeleton, width, extent) {
  const scale = width / Math.max(1, extent);
  const most = mostTokens(skeleton);
  const bars = {
    models: /** @type {Bar[]} */ ([]),
    tools: /** @type {Bar[]} */ ([]),
    spans: /** @type {Bar[]} */ ([]),
  };
  const columns = skeleton.count > FEW ? { models: new Columns(width), tools: new Columns(width) } : null;
  for (let n = 1; n <= skeleton.count; n += 1) {
    const kind = skeleton.kind[n];
    if (kind !== KIND.LLM && kind !== KIND.TOOL && kind !== KIND.SPAN && kind !== KIND.CALL_START) continue;
    if (!skeleton.isShown(n)) continue;
    const x = skeleton.start[n] * scale;
    const failed = skeleton.isFailure(n);
    const end = kind === KIND.CALL_START && !failed ? width : skeleton.endOf(n) * scale;
    if (kind === KIND.SPAN) {
      const above = skeleton.parent[n];
      if (!columns && (above === 0 || skeleton.kind[above] === KIND.START))
        bars.spans.push({ x, width: Math.max(1, end - x), height: 1, tone: "span" });
      continue;
    }
    const isTool = kind === KIND.TOOL;
    const height = kind === KIND.LLM ? heightOf(skeleton.tokensOf(n), most) : 1;
    const tone = kind === KIND.CALL_START ? (failed ? "error" : "running") : failed ? "error" : isTool ? "tool" : "llm";
    if (columns && tone !== "running") (isTool ? columns.tools : columns.models).add(x, end, height, failed);
    else (isTool ? bars.tools : bars.models).push({ x, width: Math.max(isTool ? 2 : 1.5, end - x), height, tone });
  }
  if (columns) {
    bars.models.unshift(...columns.models.bars("llm"));
    bars.tools.unshift(...columns.tools.bars("tool"));
  }
  return bars;
}

/** @param {Skeleton} skeleton */
function mostTokens(skeleton) {
  let most = 0;
  for (let n = 1; n <= skeleton.count; n += 1) {
    if (skeleton.kind[n] !== KIND.LLM) continue;
    const tokens = skeleton.tokensOf(n);
    if (tokens !== null && tokens > most) most = tokens;
  }
  return most;
}

/** A call with no token count is drawn at a third, so that it is neither hidden nor loud. @param {number | null} tokens @param {number} most */
function heightOf(tokens, most) {
  if (tokens === null || most === 0) return 1 / 3;
  return Math.max(0.12, tokens / most);
}

/** Bars summed up by pixel: the highest counts, and a failure is never painted over. */
class Columns {
  /** @param {number} width */
  constructor(width) {
    this.heights = new Float32Array(Math.ceil(width) + 1);
    this.failed = new Uint8Array(this.heights.length);
  }

  /** @param {number} x @param {number} end @param {number} height @param {boolean} failed */
  add(x, end, height, failed) {
    const last = Math.min(this.heights.length - 1, Math.max(Math.floor(x), Math.ceil(end) - 1));
    for (let column = Math.max(0, Math.floor(x)); column <= last; column += 1) {
      if (height > this.heights[column]) this.heights[column] = height;
      if (failed) this.failed[column] = 1;
    }
  }

  /** @param {"llm" | "tool"} tone @returns {Bar[]} */
  bars(tone) {
    /** @type {Bar[]} */
    const bars = [];
    for (let column = 0; column < this.heights.length; column += 1) {
      if (this.heights[column] === 0) continue;
      const last = bars.at(-1);
      const own = this.failed[column] ? "error" : tone;
      if (last && last.x + last.width === column && last.height === this.heights[column] && last.tone === own)
        last.width += 1;
      else bars.push({ x: column, width: 1, height: this.heights[column], tone: own });
    }
    return bars;
  }
}
