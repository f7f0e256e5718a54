// @ts-check
/** Links that open a line of the reader's code in their editor. */

/** @typedef {{ file: string, line: number | null }} Place */

/**
 * Each editor by its own name, and how it wants to be called.
 * @type {Record<string, { label: string, href: (path: string, line: number) => string }>}
 */
export const EDITORS = {
  vscode: { label: "VS Code", href: (path, line) => `vscode://file${path}:${line}` },
  cursor: { label: "Cursor", href: (path, line) => `cursor://file${path}:${line}` },
  windsurf: { label: "Windsurf", href: (path, line) => `windsurf://file${path}:${line}` },
  zed: { label: "Zed", href: (path, line) => `zed://file${path}:${line}` },
  pycharm: { label: "PyCharm", href: (path, line) => `pycharm://open?file=${path}&line=${line}` },
  idea: { label: "IntelliJ IDEA", href: (path, line) => `idea://open?file=${path}&line=${line}` },
  sublime: { label: "Sublime Text", href: (path, line) => `subl://open?url=file://${path}&line=${line}` },
};

/** "path/agent.py:42" as its two halves; null when it is no such thing. @param {any} source @returns {Place | null} */
export function parseSource(source) {
  if (typeof source !== "string" || source.length > 4096) return null;
  const match = /^(.+?)(?::(\d+))?$/.exec(source);
  return match && !source.includes("\n") ? { file: match[1], line: match[2] ? Number(match[2]) : null } : null;
}

/**
 * The link for a place, or null where none can work: a relative path without its folder, or no file at all.
 * @param {string} editor
 * @param {Place} place
 * @param {string | null} folder where relative paths start
 */
export function editorHref(editor, place, folder) {
  const path = absolutePath(place.file, folder);
  if (path === null || !Object.hasOwn(EDITORS, editor)) return null;
  const encoded = path
    .split("/")
    .map(encodeURIComponent)
    .join("/")
    .replace(/^\/([A-Za-z])%3A\//, "/$1:/");
  return EDITORS[editor].href(encoded, place.line ?? 1);
}

/** @param {string} file @param {string | null} folder @returns {string | null} */
function absolutePath(file, folder) {
  const path = file.replaceAll("\\", "/");
  if (path.startsWith("<")) return null;
  if (path.startsWith("/")) return path;
  if (/^[A-Za-z]:\//.test(path)) return `/${path}`;
  return folder ? absolutePath(`${folder.replace(/[\\/]$/, "")}/${path}`, null) : null;
}
