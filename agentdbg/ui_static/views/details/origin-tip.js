// @ts-check
/** While the pointer rests on a number, a date, an id or a name of an open event: where that came from. */

import { h } from "../../core/dom.js";
import { originText, valueAt } from "../../model/details/origins.js";

/** @typedef {import("../../model/details/origins.js").Value} Value */

const tip = h("div", { class: "origin-tip", role: "tooltip", hidden: "" });

/** @param {HTMLElement} details @param {() => (() => Promise<Value[]>) | null} source how to ask for the values, if they can be */
export function showOrigins(details, source) {
  /** @type {Promise<Value[]> | null} */
  let asked = null;
  details.addEventListener("pointermove", async ({ clientX, clientY, pointerType, buttons }) => {
    const fetch = source();
    if (!fetch || pointerType === "touch" || buttons) return hide();
    asked ??= fetch().catch(() => []);
    const place = textAt(clientX, clientY);
    const value = place && details.contains(place.node) ? valueAt(await asked, place.text, place.at) : null;
    if (!value) return hide();
    tip.textContent = originText(value);
    tip.classList.toggle("nowhere", value.from === null);
    tip.style.left = `${Math.max(0, Math.min(clientX, innerWidth - 360))}px`;
    tip.style.top = `${clientY + 18}px`;
    tip.hidden = false;
    if (!tip.isConnected) document.body.append(tip);
  });
  details.addEventListener("pointerleave", hide);
  return () => {
    asked = null;
    hide();
  };
}

function hide() {
  tip.hidden = true;
}

/** The text under the pointer, and where in it. @param {number} x @param {number} y */
function textAt(x, y) {
  const page = /** @type {any} */ (document);
  const found = page.caretPositionFromPoint?.(x, y) ?? page.caretRangeFromPoint?.(x, y) ?? null;
  const node = found?.offsetNode ?? found?.startContainer;
  if (!(node instanceof Text)) return null;
  const range = document.createRange();
  range.selectNodeContents(node);
  // Beside the words there is a nearest one too.
  const isOver = [...range.getClientRects()].some(
    (box) => x >= box.left && x <= box.right && y >= box.top && y <= box.bottom,
  );
  return isOver ? { node, text: node.data, at: found.offset ?? found.startOffset } : null;
}
