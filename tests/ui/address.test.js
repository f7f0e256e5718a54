// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

import { deservesEntry, formatAddress, parseAddress } from "../../agentdbg/ui_static/model/address.js";
import { RowCache, rowsQuery } from "../../agentdbg/ui_static/model/row-cache.js";
import { row } from "./helpers.js";

const PLACE = {
  runId: "a41f",
  view: /** @type {const} */ ("tree"),
  filter: "TOOL_CALL,errors",
  q: "833 €&",
  event: "49",
  side: false,
  compare: null,
  sort: null,
  table: false,
};

test("every state has an address, and the address gives the state back", () => {
  const address = formatAddress(PLACE);

  assert.equal(address, "/?run_id=a41f&view=tree&filter=TOOL_CALL,errors&q=833+%E2%82%AC%26&event=49");
  assert.deepEqual(parseAddress(address.slice(1)), PLACE);
});

test("the order of the rows is in the address", () => {
  const sort = /** @type {const} */ ({ by: "time", descending: false });

  assert.equal(formatAddress({ ...PLACE, filter: "", q: "", event: null, sort }), "/?run_id=a41f&view=tree&sort=-time");
  assert.deepEqual(parseAddress("?sort=-time").sort, sort);
  assert.equal(parseAddress("?sort=colour").sort, null);
});

test("two runs being compared have an address", () => {
  const place = { ...PLACE, view: /** @type {const} */ ("list"), filter: "", q: "", event: null, compare: "b52c" };

  assert.equal(formatAddress(place), "/?run_id=a41f&compare=b52c");
  assert.deepEqual(parseAddress("?run_id=a41f&compare=b52c"), place);
});

test("what is usual is left out, what is not ours stays", () => {
  assert.equal(
    formatAddress({ ...PLACE, view: "list", filter: "", q: "", event: null }, "?lang=de&q=old"),
    "/?lang=de&run_id=a41f",
  );
});

test("an address typed by hand cannot bring the page into a state it does not have", () => {
  assert.equal(parseAddress("?view=galaxy").view, "list");
  assert.equal(parseAddress("?run_id=").runId, null);
});

test("runs, views and opened events make entries in the history; typing and closing do not", () => {
  assert.ok(deservesEntry(PLACE, { ...PLACE, view: "list" }));
  assert.ok(deservesEntry(PLACE, { ...PLACE, event: "50" }));
  assert.ok(deservesEntry(PLACE, { ...PLACE, compare: "b52c" }));
  assert.ok(!deservesEntry(PLACE, { ...PLACE, q: "8334" }));
  assert.ok(!deservesEntry(PLACE, { ...PLACE, event: null }));
});

test("rows close together are asked for as one stretch, scattered ones by number", () => {
  assert.equal(rowsQuery([7, 5, 6]), "offset=4&limit=3");
  assert.equal(rowsQuery([900, 5, 70000]), "at=5,900,70000");
});

test("a reader who walks through a million rows keeps the last few thousand", () => {
  const cache = new RowCache(100);
  for (let n = 1; n <= 1000; n += 1) cache.add([row({ n })]);

  assert.equal(cache.size, 100);
  assert.equal(cache.get(1), undefined);
  assert.equal(cache.get(1000)?.n, 1000);
});
