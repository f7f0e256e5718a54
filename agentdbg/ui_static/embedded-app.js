// @ts-check
/** The page in a file: the same page, with a foot that says what the file is. */

import "./app.js";
import "./views/file-foot.js";

document.querySelector("main")?.append(document.createElement("file-foot"));
