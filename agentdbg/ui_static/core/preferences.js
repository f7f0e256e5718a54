// @ts-check
/** What the reader chose and the browser remembers. Where storage is refused, the choice lasts as long as the page. */

/** @type {Map<string, string>} */
const unsaved = new Map();

/** @param {string} name @param {string} fallback */
export function preference(name, fallback) {
  try {
    return localStorage.getItem(`agentdbg.${name}`) ?? unsaved.get(name) ?? fallback;
  } catch {
    return unsaved.get(name) ?? fallback;
  }
}

/** @param {string} name @param {string} value */
export function setPreference(name, value) {
  unsaved.set(name, value);
  try {
    localStorage.setItem(`agentdbg.${name}`, value);
  } catch {
    // Private windows refuse storage.
  }
}
