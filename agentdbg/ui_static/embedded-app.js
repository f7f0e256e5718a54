// @ts-check
/** The page in a file: the same page, with a foot that says what the file is, and all of the run for the printer. */

import "./app.js";
import "./views/file-foot.js";
import "./views/printed-run.js";

document.querySelector("main")?.append(document.createElement("file-foot"));
// Before everything else: the data of the run stands at the end, and is found by what comes after it.
document.body.prepend(document.createElement("printed-run"));
