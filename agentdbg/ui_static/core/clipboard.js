// @ts-check
/** Put text on the clipboard, also where the browser offers no clipboard because the page is not on localhost. */

/** @param {string} text @returns {Promise<boolean>} whether it worked */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

/** @param {string} text */
function copyBySelection(text) {
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "visually-hidden";
  const focused = /** @type {HTMLElement | null} */ (document.activeElement);
  document.body.append(field);
  field.select();
  const copied = document.execCommand("copy");
  field.remove();
  focused?.focus();
  return copied;
}
