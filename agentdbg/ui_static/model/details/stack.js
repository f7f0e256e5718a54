// @ts-check
/**
 * A Python traceback as its frames, so that the reader's own lines can stand out and the libraries' fold away.
 *
 * @typedef {{ file: string, line: number | null, name: string, code: string[], mine: boolean,
 *   library: string | null }} Frame
 * @typedef {{ type: "text", text: string }
 *   | { type: "frame", frame: Frame }
 *   | { type: "folded", frames: Frame[], libraries: string[] }
 *   | { type: "error", text: string }} StackPiece
 */

const FRAME = /^\s*File "(.*)", line (\d+)(?:, in (.*))?$/;
const PACKAGES = /[\\/](?:site-packages|dist-packages)[\\/]([^\\/]+)/;
const STDLIB = /[\\/]lib(?:64)?[\\/]python\d(?:\.\d+)?t?[\\/](?!site-packages|dist-packages)([^\\/]+)/i;
const WINDOWS_STDLIB = /[\\/]python\d+[\\/]lib[\\/](?!site-packages)([^\\/]+)/i;
const FROZEN = /^<frozen (.+)>$/;
const HEADER = /^Traceback \(most recent call last\):?$/;
const CHAIN = /^(During handling of the above exception|The above exception was the direct cause)/;

/**
 * The pieces of a traceback in their order, or null when the text is none (then it is shown as it is).
 * @param {any} stack text, or the list of lines that some tools store
 * @returns {StackPiece[] | null}
 */
export function parseStack(stack) {
  const text = Array.isArray(stack)
    ? stack
        .map((line) => String(line))
        .join("")
        .replace(/\n?$/, "")
    : stack;
  if (typeof text !== "string" || !text.includes('File "')) return null;
  /** @type {StackPiece[]} */
  const pieces = [];
  /** @type {Frame | null} */
  let frame = null;
  for (const line of text.replaceAll("\r\n", "\n").split("\n")) {
    const match = line.length < 2000 ? FRAME.exec(line) : null;
    if (match) {
      frame = makeFrame(match[1], Number(match[2]), match[3] ?? "");
      pieces.push({ type: "frame", frame });
    } else if (frame && /^\s/.test(line) && line.trim() !== "" && !CHAIN.test(line.trim())) {
      if (!/^[\s~^]+$/.test(line)) frame.code.push(line.trim());
    } else if (line.trim() === "") {
      // A blank line within an error's message is part of it; between chained tracebacks it says nothing.
      const last = pieces[pieces.length - 1];
      if (last?.type === "error") last.text += "\n";
    } else {
      const inFrames = frame !== null;
      frame = null;
      appendText(pieces, line, inFrames);
    }
  }
  if (!pieces.some((piece) => piece.type === "frame")) return null;
  for (const piece of pieces) if (piece.type === "error") piece.text = piece.text.trimEnd();
  return foldLibraries(pieces);
}

/**
 * A path as short as it stays clear: below the folder the run started in, else its last parts.
 * @param {string} file
 * @param {string | null} folder
 */
export function shortPath(file, folder) {
  const path = file.replaceAll("\\", "/");
  const base = folder ? `${folder.replaceAll("\\", "/").replace(/\/$/, "")}/` : null;
  if (base && path.startsWith(base)) return path.slice(base.length);
  const parts = path.split("/").filter(Boolean);
  return parts.length <= 3 && !path.startsWith("/") ? path : parts.slice(-2).join("/");
}

/** @param {string} file @param {number} line @param {string} name @returns {Frame} */
function makeFrame(file, line, name) {
  const library = libraryOf(file);
  return { file, line, name, code: [], mine: library === null, library };
}

/** The package a file belongs to, null for the reader's own. @param {string} file */
function libraryOf(file) {
  const found = PACKAGES.exec(file) ?? STDLIB.exec(file) ?? WINDOWS_STDLIB.exec(file);
  if (found) return found[1].replace(/\.py$/, "");
  const frozen = FROZEN.exec(file);
  return frozen ? frozen[1].split(".")[0] : null;
}

/** @param {StackPiece[]} pieces @param {string} line @param {boolean} afterFrames */
function appendText(pieces, line, afterFrames) {
  const trimmed = line.trim();
  const last = pieces[pieces.length - 1];
  if (HEADER.test(trimmed)) pieces.push({ type: "text", text: trimmed.replace(/:$/, "") });
  else if (CHAIN.test(trimmed)) pieces.push({ type: "text", text: trimmed });
  else if (last?.type === "error" && !afterFrames) last.text += `\n${line}`;
  else if (last === undefined) pieces.push({ type: "text", text: line });
  else pieces.push({ type: "error", text: line });
}

/** @param {StackPiece[]} pieces @returns {StackPiece[]} */
function foldLibraries(pieces) {
  const anyMine = pieces.some((piece) => piece.type === "frame" && piece.frame.mine);
  const lastFrame = pieces.findLastIndex((piece) => piece.type === "frame");
  /** @type {StackPiece[]} */
  const folded = [];
  pieces.forEach((piece, index) => {
    // With no line of the reader's own, the last frame is the nearest thing to an answer and stays open.
    if (piece.type !== "frame" || piece.frame.mine || (!anyMine && index === lastFrame)) {
      folded.push(piece);
      return;
    }
    const last = folded[folded.length - 1];
    const library = String(piece.frame.library);
    if (last?.type !== "folded") folded.push({ type: "folded", frames: [piece.frame], libraries: [library] });
    else {
      last.frames.push(piece.frame);
      if (!last.libraries.includes(library)) last.libraries.push(library);
    }
  });
  return folded;
}
