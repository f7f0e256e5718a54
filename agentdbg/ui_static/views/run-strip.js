// @ts-check
/**
 * The whole run on one line. Click jumps to what was going on then, drag zooms the waterfall, double click resets.
 * It says nothing that the rows do not say, so it is hidden from those who listen to the rows.
 */

import { emit, h, painted } from "../core/dom.js";
import { glyph } from "../core/glyphs.js";
import { hasTimes } from "../model/runs.js";
import { stripBars } from "../model/strip.js";
import { sideBySide, wordSides } from "../model/strip-marks.js";
import { suspectsOf } from "../model/suspects.js";
import { ticks } from "../model/time-axis.js";
import { elapsedOf } from "./row-facts.js";

/** @typedef {import("../core/run-data.js").RunData} RunData */

const MODEL_TOP = 10;
const SUSPECT_PX = 18;
const WORD_PX = 36;
const BRACKET_PX = 3;
const MODEL_HEIGHT = 20;
const TOOL_TOP = 33;
const TOOL_HEIGHT = 8;
const HEIGHT = 46;
const DRAG = 5;
const POINTER = 5;
const LETTER = 6;
const FORCED = matchMedia("(forced-colors: active)");
const TONES = {
  llm: "--llm-bar",
  tool: "--tool-bar",
  error: "--error-bar",
  span: "--sunken",
  running: "--lens-user",
  held: "--hold-bar",
};

export class RunStrip extends HTMLElement {
  /** @type {RunData | null} */
  data = null;
  selected = 0;
  /** What the list shows, in ms. */
  seen = { from: 0, to: 0 };
  /** @type {{from: number, to: number} | null} */
  zoom = null;
  /** Whether dragging moves the cursor instead of choosing a stretch. */
  scrubs = false;

  #canvas = h("canvas", null);
  #thumb = h("div", { class: "thumb" });
  #pointer = h("div", { class: "pointer" });
  #axis = h("div", { class: "axis digits" });
  #loops = h("div", { class: "loops" });
  #drag = h("div", { class: "drag", hidden: true });
  #room = h("div", { class: "room" }, this.#canvas, this.#loops, this.#axis, this.#thumb, this.#pointer, this.#drag);
  /** @type {{tick: HTMLElement, begin: number, end: number}[]} */
  #ticks = [];
  #width = 0;
  #drawn = "";
  #dragFrom = 0;

  connectedCallback() {
    if (this.firstChild) return;
    this.setAttribute("aria-hidden", "true");
    this.append(h("div", { class: "signs" }, glyph("llm", { size: 12 }), glyph("tool", { size: 12 })), this.#room);
    this.#room.addEventListener("pointerdown", (event) => this.#press(event));
    this.#room.addEventListener("dblclick", () => emit(this, "zoom", { zoom: null }));
    new ResizeObserver(() => this.#resize()).observe(this.#room);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.update(true));
  }

  #resize() {
    const isFirst = this.#width === 0;
    this.#width = this.#room.clientWidth;
    // A canvas costs more than all rows together, and they are what the reader waits for: it is drawn after them.
    if (isFirst) painted().then(() => this.update(true));
    else this.update(true);
  }

  get #extent() {
    const data = this.data;
    if (!data) return 1;
    const known = data.skeleton.extent();
    return Math.max(1, known, data.isRunning ? elapsedOf(data) : 0);
  }

  /** @param {boolean} [anew] also when the columns are the same, because colours or sizes changed */
  update(anew = false) {
    const { data } = this;
    this.hidden = !data || (data.run !== null && !hasTimes(data.run));
    if (!data || this.hidden || this.#width === 0) return;
    const extent = this.#extent;
    const key = `${data.skeleton.version} ${this.#width} ${data.isRunning ? Math.round(extent / 250) : extent} ${data.pause?.pause_id}`;
    if (anew || key !== this.#drawn) {
      this.#drawn = key;
      this.#paint(extent);
      this.#drawAxis(extent);
    }
    this.#drawLoops(extent);
    place(this.#thumb, this.seen.from / extent, this.seen.to / extent);
    this.#pointer.hidden = this.selected === 0 || this.selected > data.skeleton.count;
    const pointed = this.#pointer.hidden ? -1 : data.skeleton.start[this.selected] / extent;
    if (pointed >= 0) place(this.#pointer, pointed, 0);
    this.#hideUnder(pointed);
    this.toggleAttribute("data-zoomed", this.zoom !== null);
    if (this.zoom) place(this.#drag, this.zoom.from / extent, this.zoom.to / extent);
    this.#drag.hidden = this.zoom === null && this.#dragFrom === 0;
  }

  /** @param {number} extent */
  #paint(extent) {
    const data = /** @type {RunData} */ (this.data);
    const ratio = devicePixelRatio || 1;
    this.#canvas.width = Math.round(this.#width * ratio);
    this.#canvas.height = Math.round(HEIGHT * ratio);
    const context = /** @type {CanvasRenderingContext2D} */ (this.#canvas.getContext("2d"));
    context.scale(ratio, ratio);
    const colours = coloursFor(this);
    const bars = stripBars(data.skeleton, this.#width, extent);
    // Where one colour has to do for all, spans and what failed are outlines.
    const isForced = FORCED.matches;
    context.strokeStyle = colours.error;
    const fill = (
      /** @type {string} */ tone,
      /** @type {number} */ x,
      /** @type {number} */ y,
      /** @type {number} */ width,
      /** @type {number} */ height,
    ) => {
      context.fillStyle = colours[tone];
      if (isForced && (tone === "span" || tone === "error"))
        context.strokeRect(x + 0.5, y + 0.5, Math.max(1, width - 1), height - 1);
      else context.fillRect(x, y, width, height);
    };
    for (const bar of bars.spans)
      fill("span", bar.x, MODEL_TOP - 4, bar.width, TOOL_TOP + TOOL_HEIGHT + 2 - MODEL_TOP + 4);
    for (const bar of bars.models) {
      const height = Math.max(2, bar.height * MODEL_HEIGHT);
      const tone = bar.tone === "running" && data.pause ? "held" : bar.tone;
      // A hairline between neighbours, where there is room for one.
      const width = bar.width > 4 ? bar.width - 1 : bar.width;
      fill(tone, bar.x, MODEL_TOP + MODEL_HEIGHT - height, width, height);
    }
    for (const bar of bars.tools)
      fill(bar.tone, bar.x, TOOL_TOP, bar.width > 4 ? bar.width - 1 : bar.width, TOOL_HEIGHT);
  }

  /** @param {number} extent */
  #drawAxis(extent) {
    this.#ticks = ticks(0, extent, this.#width, 96).map(({ at, label }, index) => {
      const isLast = at / extent > 0.97;
      const tick = h("span", { class: isLast ? "tick last" : "tick" }, label);
      place(tick, at / extent, 0);
      // About where the word begins: asking the browser would make it lay the page out at every movement.
      const width = label.length * LETTER;
      const begin = (at / extent) * this.#width - (isLast ? width : index === 0 ? 0 : width / 2);
      return { tick, begin: begin - POINTER, end: begin + width + POINTER };
    });
    this.#axis.replaceChildren(...this.#ticks.map(({ tick }) => tick));
  }

  /** A word under the pointer cannot be read, and neither can the pointer over it be seen. @param {number} pointed */
  #hideUnder(pointed) {
    const at = pointed * this.#width;
    for (const { tick, begin, end } of this.#ticks)
      tick.toggleAttribute("data-under", pointed >= 0 && begin < at && at < end);
  }

  /** @param {number} extent */
  #drawLoops(extent) {
    const { skeleton, findings } = /** @type {RunData} */ (this.data);
    const scale = this.#width / extent;
    const suspects = suspectsOf(this.data?.summary)
      .map(({ n }, at) => ({ at: skeleton.start[n] * scale, mark: h("b", { class: "suspect" }, at + 1) }))
      .sort((one, other) => one.at - other.at);
    const wanted = suspects.map(({ at }) => at);
    sideBySide(wanted, SUSPECT_PX, this.#width).forEach((at, index) =>
      place(suspects[index].mark, at / this.#width, 0),
    );
    this.toggleAttribute("data-ranked", suspects.length > 0 && findings.length > 0);
    const brackets = findings.slice(0, 4).map(({ first_n: first, last_n: last }) => {
      const begin = skeleton.start[first] * scale;
      return { begin, end: Math.max(begin + BRACKET_PX, skeleton.endOf(last) * scale) };
    });
    const sides = wordSides(brackets, WORD_PX, this.#width);
    this.#loops.replaceChildren(
      ...suspects.map(({ mark }) => mark),
      ...brackets.map(({ begin, end }, at) => {
        const facts = { class: "loop", "data-severity": findings[at].severity, "data-word": sides[at] };
        const bracket = h("div", facts, h("span", null, "loop"));
        place(bracket, begin / this.#width, end / this.#width);
        return bracket;
      }),
    );
  }

  /** @param {PointerEvent} event */
  #press(event) {
    if (event.button !== 0 || !this.data) return;
    const box = this.#room.getBoundingClientRect();
    const extent = this.#extent;
    const share = (/** @type {PointerEvent} */ at) => Math.max(0, Math.min(1, (at.clientX - box.left) / box.width));
    const begin = share(event);
    this.#room.setPointerCapture(event.pointerId);
    const move = (/** @type {PointerEvent} */ at) => {
      if (Math.abs(share(at) - begin) * box.width < DRAG) return;
      if (this.scrubs) {
        emit(this, "jump-to-time", { at: share(at) * extent });
        return;
      }
      this.#dragFrom = 1;
      this.#drag.hidden = false;
      place(this.#drag, Math.min(begin, share(at)), Math.max(begin, share(at)));
    };
    const release = (/** @type {PointerEvent} */ at) => {
      this.#room.removeEventListener("pointermove", move);
      this.#dragFrom = 0;
      if (Math.abs(share(at) - begin) * box.width < DRAG) {
        if (event.detail < 2) emit(this, "jump-to-time", { at: begin * extent });
      } else if (!this.scrubs)
        emit(this, "zoom", {
          zoom: { from: Math.min(begin, share(at)) * extent, to: Math.max(begin, share(at)) * extent },
        });
    };
    this.#room.addEventListener("pointermove", move);
    this.#room.addEventListener("pointerup", release, { once: true });
  }
}

/** @type {{theme: string, colours: Record<string, string>}} */
let known = { theme: "", colours: {} };

/** The colours of bars, asked for once per theme: each question makes the browser work out styles. @param {HTMLElement} element */
function coloursFor(element) {
  const theme = `${document.documentElement.dataset.theme} ${matchMedia("(prefers-color-scheme: dark)").matches} ${FORCED.matches}`;
  if (known.theme !== theme) {
    const style = getComputedStyle(element);
    known = {
      theme,
      colours: Object.fromEntries(
        // Forced colours have one for all that is drawn, that of the text.
        Object.entries(TONES).map(([tone, token]) => [
          tone,
          FORCED.matches ? style.color : resolved(element, style, token),
        ]),
      ),
    };
  }
  return known.colours;
}

/** A token's colour as the canvas needs it: `light-dark()` already decided. @param {HTMLElement} element @param {CSSStyleDeclaration} style @param {string} token */
function resolved(element, style, token) {
  element.style.setProperty("accent-color", `var(${token})`);
  const colour = style.accentColor;
  element.style.removeProperty("accent-color");
  return colour;
}

/** @param {HTMLElement} element @param {number} from @param {number} to shares of the width */
function place(element, from, to) {
  element.style.setProperty("--from", String(Math.max(0, Math.min(1, from))));
  element.style.setProperty("--to", String(Math.max(0, Math.min(1, to))));
}

customElements.define("run-strip", RunStrip);
