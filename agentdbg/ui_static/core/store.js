// @ts-check
/** The page's state in one object. A change is told once per frame, with the names of what changed. */

/**
 * @template {Record<string, any>} State
 */
export class Store {
  /** @param {State} initial @param {(state: State, changed: Set<string>) => void} onChange */
  constructor(initial, onChange) {
    this.state = initial;
    this.#onChange = onChange;
  }

  #onChange;
  /** @type {Set<string>} */
  #changed = new Set();
  #scheduled = false;

  /** @param {Partial<State>} patch */
  set(patch) {
    for (const [name, value] of Object.entries(patch)) {
      if (Object.is(this.state[name], value)) continue;
      /** @type {Record<string, any>} */ (this.state)[name] = value;
      this.touch(name);
    }
  }

  /** Something inside a value changed. @param {string} name */
  touch(name) {
    this.#changed.add(name);
    if (this.#scheduled) return;
    this.#scheduled = true;
    requestAnimationFrame(() => this.flush());
  }

  /** Tell now, for those who must measure the page right after. */
  flush() {
    this.#scheduled = false;
    if (this.#changed.size === 0) return;
    const changed = this.#changed;
    this.#changed = new Set();
    this.#onChange(this.state, changed);
  }
}
