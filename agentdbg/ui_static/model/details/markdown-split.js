// @ts-check
/** Where a long text in blocks is folded: between two blocks, or inside one that is long itself. */

/** @typedef {import("./markdown.js").Block} Block */
/** @typedef {import("./markdown.js").Inline} Inline */

/**
 * The first blocks, about `room` letters of them, and the rest.
 * @param {Block[]} blocks
 * @param {number} room
 * @returns {[Block[], Block[]]}
 */
export function splitBlocks(blocks, room) {
  let left = room;
  for (const [at, block] of blocks.entries()) {
    const length = blockLength(block);
    if (length <= left) {
      left -= length;
      continue;
    }
    // A little over is not worth a fold, and the beginning of a short block is not worth a part of it.
    if (at === blocks.length - 1 && length - left < room / 4) break;
    const [first, second] = left > room / 3 || at === 0 ? splitBlock(block, left) : [null, block];
    return [
      [...blocks.slice(0, at), ...(first ? [first] : [])],
      [...(second ? [second] : []), ...blocks.slice(at + 1)],
    ];
  }
  return [blocks, []];
}

/** @param {Block} block @returns {number} */
export function blockLength(block) {
  switch (block.type) {
    case "paragraph":
    case "heading":
      return inlineLength(block.parts);
    case "code":
      return block.text.length;
    case "quote":
      return sum(block.blocks.map(blockLength));
    case "list":
      return sum(block.items.flat().map(blockLength));
    case "table":
      return sum([...block.head, ...block.rows.flat()].map(inlineLength));
    case "rule":
      return 1;
  }
}

/** @param {Block} block @param {number} room @returns {[Block | null, Block | null]} */
function splitBlock(block, room) {
  if (block.type === "code") {
    const at = block.text.lastIndexOf("\n", room) + 1 || block.text.length;
    if (at >= block.text.length) return [block, null];
    return [
      { ...block, text: block.text.slice(0, at - 1) },
      { ...block, text: block.text.slice(at) },
    ];
  }
  if (block.type === "list" || block.type === "table") {
    const members =
      block.type === "list"
        ? block.items.map((item) => sum(item.map(blockLength)))
        : block.rows.map((row) => sum(row.map(inlineLength)));
    const count = Math.max(1, fitting(members, room));
    if (count >= members.length) return [block, null];
    if (block.type === "list")
      return [
        { ...block, items: block.items.slice(0, count) },
        { ...block, items: block.items.slice(count), start: block.start + count },
      ];
    return [
      { ...block, rows: block.rows.slice(0, count) },
      { ...block, rows: block.rows.slice(count) },
    ];
  }
  if (block.type !== "paragraph") return [block, null];
  const [first, second] = splitInline(block.parts, room);
  return [
    { type: "paragraph", parts: first },
    { type: "paragraph", parts: second },
  ];
}

/** @param {Inline[]} parts @param {number} room @returns {[Inline[], Inline[]]} */
function splitInline(parts, room) {
  let left = room;
  for (const [at, part] of parts.entries()) {
    const length = inlineLength([part]);
    if (length <= left) {
      left -= length;
      continue;
    }
    if (part.type !== "text") return [parts.slice(0, at), parts.slice(at)];
    const space = part.text.lastIndexOf(" ", left);
    const cut = space > 0 ? space + 1 : left;
    return [
      [...parts.slice(0, at), { type: "text", text: part.text.slice(0, cut) }],
      [{ type: "text", text: part.text.slice(cut) }, ...parts.slice(at + 1)],
    ];
  }
  return [parts, []];
}

/** @param {Inline[]} parts @returns {number} */
function inlineLength(parts) {
  return sum(
    parts.map((part) => ("parts" in part ? inlineLength(part.parts) : part.type === "image" ? 20 : part.text.length)),
  );
}

/** How many of these fit. @param {number[]} lengths @param {number} room */
function fitting(lengths, room) {
  let left = room;
  let count = 0;
  while (count < lengths.length && lengths[count] <= left) left -= lengths[count++];
  return count;
}

/** @param {number[]} numbers */
function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}
