// @ts-check
/** Build nodes from data. Text enters only as text: there is no way through here to hand the browser markup. */

/**
 * An element with attributes, listeners and children.
 *
 * Attribute values: `true` writes an empty attribute, `false`, `null` and `undefined` leave it out, a function under
 * `onclick` and the like becomes a listener. Children that are `null` or `false` are left out.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, any> | null} [attributes]
 * @param {...(Node | string | number | null | undefined | false)} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    element.append(typeof child === "number" ? String(child) : child);
  }
  return element;
}

/** Write an attribute, or take it away. @param {Element} element @param {string} name @param {string | null | undefined} value */
export function setOptional(element, name, value) {
  if (value === null || value === undefined) element.removeAttribute(name);
  else if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

/**
 * An element that is reached by keyboard while it has more than it shows, whenever that turns out.
 * @template {HTMLElement} T @param {T} element @param {string} label @returns {T}
 */
export function scrollable(element, label) {
  const look = () => {
    const hasMore = element.scrollWidth > element.clientWidth + 1 || element.scrollHeight > element.clientHeight + 1;
    setOptional(element, "tabindex", hasMore ? "0" : null);
    setOptional(element, "role", hasMore ? "group" : null);
    setOptional(element, "aria-label", hasMore ? label : null);
  };
  const watch = new ResizeObserver(look);
  watch.observe(element);
  for (const child of element.children) watch.observe(child);
  return element;
}

/** Send intent upwards. @param {Element} from @param {string} type @param {any} [detail] */
export function emit(from, type, detail) {
  return from.dispatchEvent(new CustomEvent(type, { detail, bubbles: true, composed: true, cancelable: true }));
}

/** Comes true once what is in the page now has been painted; where nobody looks, at once. @returns {Promise<void>} */
export function painted() {
  return new Promise((resolve) => (document.hidden ? resolve() : requestAnimationFrame(() => setTimeout(resolve))));
}
