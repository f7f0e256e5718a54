// @ts-check
/** Copying that answers in the button's own label. */
import { copyText } from "../../core/clipboard.js";
import { size } from "../../model/details/format.js";
import { byteLength } from "../../model/details/text.js";

/**
 * Copy text and let the button say so for a moment.
 * @param {HTMLButtonElement} button
 * @param {() => string} read
 * @param {string} [done] what to say instead of the size
 */
export async function copyFrom(button, read, done) {
  const label = button.dataset.label ?? button.textContent ?? "";
  button.dataset.label = label;
  const text = read();
  const copied = await copyText(text);
  button.textContent = copied ? (done ?? `Copied, ${size(byteLength(text))}`) : "Not allowed to copy";
  setTimeout(() => {
    button.textContent = label;
  }, 2000);
}
