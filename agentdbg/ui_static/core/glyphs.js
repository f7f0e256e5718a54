// @ts-check
/**
 * The page's signs: 16 px, stroke 1.5, one shape per meaning, so colour is never the only sign.
 *
 * `glyph(name)` makes an SVG node that takes its colour from the text around it. A glyph is hidden from screen readers
 * unless it is given a title, because beside nearly every one stands the word it draws.
 */

const SVG = "http://www.w3.org/2000/svg";

/** Path data by name; a path that starts with `!` is filled instead of stroked. @type {Record<string, string[]>} */
const SHAPES = {
  // kinds of events
  llm: ["M2.5 3.5h11v7.5H7.5L4.75 13.5V11H2.5z"],
  tool: [
    "M13.3 5.2a3.4 3.4 0 0 1-4.5 4.1L5 13.1a1.55 1.55 0 0 1-2.2-2.2l3.8-3.8a3.4 3.4 0 0 1 4.1-4.5L8.7 4.6l.4 2.2 2.2.4z",
  ],
  state: ["M8 2.5v7M4.5 6h7M4.5 13h7"],
  span: ["M5.5 3h-2v10h2M10.5 3h2v10h-2"],
  loop: ["M13 6.5A5.2 5.2 0 0 0 3.6 5.3M3 9.5a5.2 5.2 0 0 0 9.4 1.2", "M3.2 2.6v3h3M12.8 13.4v-3h-3"],
  error: ["M8 2.25a5.75 5.75 0 1 1 0 11.5a5.75 5.75 0 1 1 0-11.5z", "M5.9 5.9l4.2 4.2M10.1 5.9l-4.2 4.2"],
  start: ["M4.5 3.2v9.6L12.5 8z"],
  end: ["M4 4h8v8H4z"],
  call_start: ["M8 2.25a5.75 5.75 0 1 1 0 11.5a5.75 5.75 0 1 1 0-11.5z", "M8 4.8V8l2.2 1.6"],
  other: [
    "!M2.6 8a1.1 1.1 0 1 1 2.2 0a1.1 1.1 0 1 1-2.2 0M6.9 8a1.1 1.1 0 1 1 2.2 0a1.1 1.1 0 1 1-2.2 0M11.2 8a1.1 1.1 0 1 1 2.2 0a1.1 1.1 0 1 1-2.2 0",
  ],
  // how a run ended
  ok: ["M2.8 8.6l3.4 3.4 7-7.6"],
  failed: ["M3.5 3.5l9 9M12.5 3.5l-9 9"],
  died: ["M8 2.25a5.75 5.75 0 1 1 0 11.5a5.75 5.75 0 1 1 0-11.5z", "M4 12L12 4"],
  running: ["!M8 4a4 4 0 1 1 0 8a4 4 0 1 1 0-8z"],
  // what a person can do
  search: ["M7 2.75a4.25 4.25 0 1 1 0 8.5a4.25 4.25 0 1 1 0-8.5z", "M10.2 10.2l3.3 3.3"],
  "chevron-right": ["M6 3.8L10.2 8 6 12.2"],
  "chevron-down": ["M3.8 6L8 10.2 12.2 6"],
  "chevron-up": ["M3.8 10L8 5.8 12.2 10"],
  back: ["M9.8 3.2L5 8l4.8 4.8"],
  close: ["M4 4l8 8M12 4l-8 8"],
  more: [
    "!M2.4 8a1.2 1.2 0 1 1 2.4 0a1.2 1.2 0 1 1-2.4 0M6.8 8a1.2 1.2 0 1 1 2.4 0a1.2 1.2 0 1 1-2.4 0M11.2 8a1.2 1.2 0 1 1 2.4 0a1.2 1.2 0 1 1-2.4 0",
  ],
  "arrow-down": ["M8 3v10M4 9.2L8 13.2l4-4"],
  copy: ["M5.5 5.5h8v8h-8z", "M10.5 5.5v-3h-8v8h3"],
  external: ["M9 2.5h4.5V7M13.2 2.8L7.5 8.5M11.5 9.5v4h-9v-9h4"],
  moon: ["M13.2 9.6A5.6 5.6 0 0 1 6.4 2.8a5.6 5.6 0 1 0 6.8 6.8z"],
  sun: [
    "M8 5.2a2.8 2.8 0 1 1 0 5.6a2.8 2.8 0 1 1 0-5.6z",
    "M8 1.2v1.6M8 13.2v1.6M1.2 8h1.6M13.2 8h1.6M3.2 3.2l1.1 1.1M11.7 11.7l1.1 1.1M12.8 3.2l-1.1 1.1M4.3 11.7l-1.1 1.1",
  ],
  system: ["M8 2.25a5.75 5.75 0 1 1 0 11.5a5.75 5.75 0 1 1 0-11.5z", "!M8 2.25a5.75 5.75 0 0 1 0 11.5z"],
  help: [
    "M8 2.25a5.75 5.75 0 1 1 0 11.5a5.75 5.75 0 1 1 0-11.5z",
    "M6.3 6.4a1.75 1.75 0 1 1 2.6 1.5c-.6.35-.9.7-.9 1.3",
    "!M7.2 11.1a.8.8 0 1 1 1.6 0a.8.8 0 1 1-1.6 0",
  ],
  problem: ["M8 2.4L14 13H2z", "M8 6.4v3", "!M7.2 11.3a.8.8 0 1 1 1.6 0a.8.8 0 1 1-1.6 0"],
  paused: ["!M4.5 3h2.4v10H4.5zM9.1 3h2.4v10H9.1z"],
  fork: [
    "M5 4.2v7.6M5 8h3.2A2.8 2.8 0 0 0 11 5.2V4.6",
    "M5 1.9a1.2 1.2 0 1 1 0 2.4a1.2 1.2 0 1 1 0-2.4zM5 11.7a1.2 1.2 0 1 1 0 2.4a1.2 1.2 0 1 1 0-2.4zM11 2.2a1.2 1.2 0 1 1 0 2.4a1.2 1.2 0 1 1 0-2.4z",
  ],
  table: ["M2.5 3.25h11v9.5h-11z", "M2.5 6.4h11M2.5 9.6h11M6 6.4v6.3"],
  share: ["M8 9.5V2.2M5.2 4.8L8 2l2.8 2.8", "M4.5 7.2h-1.6v6.3h10.2V7.2h-1.6"],
  panel: ["M2.5 3.25h11v9.5h-11z", "M6 3.25v9.5"],
};

/**
 * A sign as an SVG node.
 *
 * @param {string} name one of the shapes; an unknown name draws `other`
 * @param {{size?: number, title?: string}} [options]
 * @returns {SVGSVGElement}
 */
export function glyph(name, { size = 16, title = "" } = {}) {
  const svg = /** @type {SVGSVGElement} */ (drawing(name).cloneNode(true));
  svg.setAttribute("width", String(size));
  svg.setAttribute("height", String(size));
  if (title) {
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", title);
    svg.removeAttribute("aria-hidden");
  }
  return svg;
}

/** Every row has a sign or two, so each is drawn once and copied. @type {Map<string, SVGSVGElement>} */
const drawings = new Map();

/** @param {string} name */
function drawing(name) {
  let svg = drawings.get(name);
  if (!svg) {
    svg = /** @type {SVGSVGElement} */ (document.createElementNS(SVG, "svg"));
    svg.setAttribute("viewBox", "0 0 16 16");
    svg.setAttribute("class", `glyph glyph-${name}`);
    svg.setAttribute("aria-hidden", "true");
    svg.append(...(SHAPES[name] ?? SHAPES.other).map(drawnPath));
    drawings.set(name, svg);
  }
  return svg;
}

/** @param {string} shape */
function drawnPath(shape) {
  const path = document.createElementNS(SVG, "path");
  const filled = shape.startsWith("!");
  path.setAttribute("d", filled ? shape.slice(1) : shape);
  path.setAttribute("fill", filled ? "currentColor" : "none");
  if (!filled) {
    path.setAttribute("stroke", "currentColor");
    path.setAttribute("stroke-width", "1.5");
    path.setAttribute("stroke-linecap", "round");
    path.setAttribute("stroke-linejoin", "round");
  }
  return path;
}
