// @ts-check
/** Long lists that show their first members, and the rest in steps when they are asked for. */
import { exact } from "../../model/details/format.js";
import { action } from "./fold.js";

const STEP = 200;

/**
 * Add the first members now and the rest on demand.
 * @param {HTMLElement} list
 * @param {number} total
 * @param {number} first
 * @param {(from: number, to: number) => void} add
 * @param {(button: HTMLElement) => HTMLElement[]} wrap
 */
export function growing(list, total, first, add, wrap) {
  const shown = total - first <= 2 ? total : first;
  add(0, shown);
  /** @param {number} from */
  const offer = (from) => {
    if (from >= total) return;
    const rest = total - from;
    const wrapped = wrap(
      action(rest > STEP ? `${exact(STEP)} more of ${exact(rest)}` : `${exact(rest)} more`, () => {
        for (const node of wrapped) node.remove();
        add(from, from + STEP);
        offer(from + STEP);
      }),
    );
    list.append(...wrapped);
  };
  offer(shown);
}
