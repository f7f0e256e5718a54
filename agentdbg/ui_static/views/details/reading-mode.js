// @ts-check
/** Whether texts are shown as their author meant them, or letter by letter as they were sent. */
import { preference, setPreference } from "../../core/preferences.js";

export function isFormatted() {
  return preference("format", "formatted") !== "raw";
}

/** @param {boolean} formatted */
export function setFormatted(formatted) {
  setPreference("format", formatted ? "formatted" : "raw");
}
