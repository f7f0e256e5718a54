// @ts-check
/** Asks why runs are marked as they are; an answer helps whoever reads them next, and none is needed. */

import { h } from "../core/dom.js";

/** @param {string} question @param {string} label what the button says @returns {Promise<string | null>} null when given up */
export function askWhy(question, label) {
  const field = h("input", { id: "mark-why", type: "text", maxlength: "500", autocomplete: "off" });
  const dialog = h("dialog", { class: "ask", "aria-labelledby": "mark-title" });
  const close = h("button", { class: "button", type: "button", onclick: () => dialog.close() }, "Cancel");
  const form = h(
    "form",
    { method: "dialog" },
    h("h2", { id: "mark-title" }, question),
    h("label", { class: "sheet", for: "mark-why" }, "Why? Leave it empty if it speaks for itself.", field),
    h("div", { class: "foot" }, h("button", { class: "button primary", type: "submit", value: "yes" }, label), close),
  );
  dialog.append(form);
  document.body.append(dialog);
  const before = /** @type {HTMLElement | null} */ (document.activeElement);
  dialog.showModal();
  field.focus();
  return new Promise((answer) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      before?.focus();
      answer(dialog.returnValue === "yes" ? field.value.trim() : null);
    });
  });
}
