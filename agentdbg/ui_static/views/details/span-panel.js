// @ts-check
/** A span: what went wrong in it, and what happened inside, step by step. */
import { h } from "../../core/dom.js";
import { duration, plural, short } from "../../model/details/format.js";
import { childrenOf } from "../../model/details/lookups.js";
import { visibleText } from "../../model/details/text.js";
import { eventLink } from "./links.js";
import { errorView, isFilled, section } from "./stack-view.js";
import { growing } from "./growing.js";
import { pairsView } from "./value-view.js";

/** @typedef {import("../../model/details/types.js").Row} Row */
/** @typedef {import("../../model/details/types.js").DetailsContext} DetailsContext */
/** @typedef {import("../../model/details/types.js").PreviewPart} PreviewPart */

const TOLD = new Set(["state", "diff", "error", "source", "status"]);

/** @param {HTMLElement} panel @param {import("./panels.js").Opened} opened */
export function spanPanel(panel, { event, row, context }) {
  const payload = event.payload;
  if (isFilled(payload.error)) panel.append(section("error", errorView(payload.error, context)));
  const rest = Object.entries({ ...payload, ...event.meta }).filter(
    ([key, value]) => !TOLD.has(key) && key !== "span" && value !== null,
  );
  const inside = h("div", null);
  panel.append(inside);
  if (rest.length > 0) panel.append(section("also recorded", pairsView(Object.fromEntries(rest))));
  if (row) void fillChildren(inside, row, context);
}

/** @param {HTMLElement} into @param {Row} span @param {DetailsContext} context */
async function fillChildren(into, span, context) {
  const { rows, whole } = await childrenOf(context, span);
  if (rows.length === 0) {
    into.append(
      h(
        "p",
        { class: "quiet" },
        whole ? "Nothing was recorded inside." : "The steps inside are further up; the tree shows them.",
      ),
    );
    return;
  }
  const failed = rows.filter((row) => row.status === "error").length;
  const title = `${whole ? "" : "the last "}${plural(rows.length, "step")}${failed > 0 ? `, ${failed} failed` : ""}`;
  const body = h("tbody", null);
  growing(
    body,
    rows.length,
    40,
    (from, to) => {
      for (const row of rows.slice(from, to)) body.append(childView(row, context));
    },
    (button) => [h("tr", null, h("td", { colspan: 5 }, button))],
  );
  const heads = ["event", "name", "outcome", "time", "tokens"];
  const head = h(
    "thead",
    { class: "visually-hidden" },
    h("tr", null, ...heads.map((text) => h("th", { scope: "col" }, text))),
  );
  into.append(section(title, h("table", { class: "steps" }, head, body)));
}

/** @param {Row} row @param {DetailsContext} context */
function childView(row, context) {
  const preview = row.preview;
  const parts = preview?.error
    ? [{ text: preview.error, style: "plain" }]
    : preview?.outcome?.length
      ? preview.outcome
      : (preview?.input ?? []);
  const said = parts
    .map((part) => part.text)
    .join("")
    .slice(0, 300);
  return h(
    "tr",
    { "data-status": row.status, "data-kind": row.kind },
    h("td", { class: "number" }, eventLink(context, row.n)),
    h("td", { class: "step-name" }, visibleText(row.name.slice(0, 80))),
    h("td", { class: "step-said" }, visibleText(said)),
    h("td", { class: "number" }, row.duration_ms === null ? "" : duration(row.duration_ms)),
    h("td", { class: "number" }, typeof row.tokens === "number" ? short(row.tokens) : ""),
  );
}
