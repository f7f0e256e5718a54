// @ts-check
/** Links: to other events of the run, and to lines of the reader's code. */
import { emit, h } from "../../core/dom.js";
import { editorHref, EDITORS } from "../../model/details/editor.js";
import { startFolder } from "../../model/details/lookups.js";
import { visibleText } from "../../model/details/text.js";

/** @typedef {import("../../model/details/types.js").DetailsContext} DetailsContext */

const STORED = "agentdbg.editor";

/**
 * A link to another event. It is a real address, so it can be opened in a new tab; a plain click stays on the page.
 * @param {DetailsContext} context
 * @param {number} n
 * @param {string} [label]
 */
export function eventLink(context, n, label = `#${n}`) {
  const address = context.hrefFor?.(n) ?? `?${new URLSearchParams({ run_id: context.runId, event: String(n) })}`;
  const link = h("a", { href: address, class: "event-link", "data-n": n }, label);
  link.addEventListener("click", (click) => {
    if (click.button !== 0 || click.metaKey || click.ctrlKey || click.shiftKey || click.altKey) return;
    click.preventDefault();
    emit(link, "navigate", { n });
  });
  return link;
}

/**
 * "#53, #57 and #62" as links.
 * @param {DetailsContext} context
 * @param {number[]} numbers
 * @returns {(Node | string)[]}
 */
export function eventLinks(context, numbers) {
  return numbers.flatMap((n, index) => [index === 0 ? "" : ", ", eventLink(context, n)]);
}

/**
 * A place in the code that opens in the reader's editor; plain text as long as, or if, no address for it is known.
 * @param {DetailsContext} context
 * @param {{ file: string, line: number | null }} place
 * @param {string} label
 */
export function editorLink(context, place, label) {
  const link = h(
    "a",
    { class: "editor-link", title: visibleText(place.line ? `${place.file}:${place.line}` : place.file) },
    visibleText(label),
  );
  places.set(link, { place, folder: null });
  point(link);
  void startFolder(context).then((folder) => {
    places.set(link, { place, folder });
    point(link);
  });
  return link;
}

/** The choice of editor, kept for next time. */
export function editorChoice() {
  const select = h(
    "select",
    { class: "editor-choice", "aria-label": "Open source lines in" },
    ...Object.entries(EDITORS).map(([name, editor]) => h("option", { value: name }, editor.label)),
  );
  select.value = chosenEditor();
  select.addEventListener("change", () => {
    try {
      localStorage.setItem(STORED, select.value);
    } catch {
      // A browser that keeps nothing still obeys until the page is closed.
    }
    chosen = select.value;
    for (const link of document.querySelectorAll("a.editor-link")) point(/** @type {HTMLAnchorElement} */ (link));
    for (const other of document.querySelectorAll("select.editor-choice"))
      /** @type {HTMLSelectElement} */ (other).value = select.value;
  });
  return select;
}

/** @type {WeakMap<HTMLAnchorElement, { place: { file: string, line: number | null }, folder: string | null }>} */
const places = new WeakMap();
/** @type {string | null} */
let chosen = null;

/** @param {HTMLAnchorElement} link */
function point(link) {
  const known = places.get(link);
  const href = known ? editorHref(chosenEditor(), known.place, known.folder) : null;
  if (href === null) link.removeAttribute("href");
  else link.href = href;
}

function chosenEditor() {
  try {
    chosen ??= localStorage.getItem(STORED);
  } catch {
    chosen ??= null;
  }
  return chosen !== null && Object.hasOwn(EDITORS, chosen) ? chosen : "vscode";
}
