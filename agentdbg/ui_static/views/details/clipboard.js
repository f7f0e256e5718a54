// @ts-check
/** Copying that answers in the button's own label. */
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
  const copied = await writeClipboard(text);
  button.textContent = copied ? (done ?? `Copied, ${size(byteLength(text))}`) : "Not allowed to copy";
  setTimeout(() => {
    button.textContent = label;
  }, 2000);
}

/** @param {string} text */
async function writeClipboard(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

/** The older way, for pages that are not served from this machine and so have no clipboard object. @param {string} text */
function copyBySelection(text) {
  const active = document.activeElement;
  const field = document.createElement("textarea");
  field.className = "visually-hidden";
  field.value = text;
  document.body.append(field);
  field.select();
  const copied = document.execCommand("copy");
  field.remove();
  if (active instanceof HTMLElement) active.focus({ preventScroll: true });
  return copied;
}
