// @ts-check
/** The one clock of the page: all that tells how long something has gone on reads the same second. */

let latest = Date.now();

export function clockTime() {
  return latest;
}

/** Goes on once a second. @param {() => void} told after each step */
export function startClock(told) {
  setInterval(() => {
    latest = Date.now();
    told();
  }, 1000);
}
