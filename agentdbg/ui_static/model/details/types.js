// @ts-check
/**
 * The shapes that the open event works with. `StoredEvent` and `Row` are what the server sends; every field of a stored
 * event may be missing or of the wrong type, because readers accept what other tools wrote.
 *
 * @typedef {{
 *   spec_version?: string, event_id: string, run_id?: string, parent_id?: string | null, event_type: string,
 *   ts: string, duration_ms?: number | null, name: string, payload: Record<string, any>, meta?: Record<string, any>,
 * }} StoredEvent
 *
 * @typedef {{ text: string, style: string }} PreviewPart
 *
 * @typedef {{
 *   n: number, event_id: string, event_type: string, name: string, parent_n: number | null, depth?: number,
 *   ts?: string, start_ms: number, duration_ms: number | null, status: string | null, kind: string,
 *   severity?: string | null, tokens?: number | null, tokens_in?: number | null, tokens_out?: number | null,
 *   cost_usd?: number | null,
 *   source?: string | null, call_id?: string | null, ended?: boolean, label?: string,
 *   preview?: { input: PreviewPart[], outcome: PreviewPart[], error: string | null, same_as: number | null,
 *     rest_as: number | null },
 * }} Row
 *
 * @typedef {{
 *   run_id?: string, status?: string, duration_ms?: number | null, total_tokens?: number | null,
 *   guardrails?: Record<string, any> | null, metadata?: Record<string, any> | null,
 * }} Run
 *
 * What the page lends the open event. `getRows`, `previousOfKind` and `hrefFor` only make it quicker or finer;
 * `placement` says where it stands, and without it the button that moves it is left out.
 * @typedef {{
 *   runId: string, run: Run, total: number,
 *   getRow: (n: number) => Promise<Row | null | undefined>,
 *   fetchEvent: (n: number) => Promise<StoredEvent>,
 *   getRows?: (numbers: number[]) => Promise<(Row | null | undefined)[]>,
 *   previousOfKind?: (n: number, kind: string) => number | null | undefined | Promise<number | null | undefined>,
 *   fetchOrigins?: (n: number) => Promise<import("./origins.js").Value[]>,
 *   fetchWhole?: (n: number) => Promise<{event: StoredEvent, whole: string[], problem: string | null}>,
 *   callsOfKind?: (kind: string, n: number) => number[] | Promise<number[]>,
 *   hrefFor?: (n: number) => string,
 *   placement?: "inline" | "side",
 * }} DetailsContext
 */

export {};
