// @ts-check
/**
 * The shapes that travel between server and page, named once.
 *
 * @typedef {{text: string, style: "plain" | "muted" | "mono" | "key" | "call" | "add" | "del" | "role", args?: string}} Part
 *
 * @typedef {object} Row one event, said in a line
 * @property {number} n its number in the run, from 1
 * @property {string} event_id
 * @property {string} event_type
 * @property {string} name
 * @property {number | null} parent_n
 * @property {number} depth
 * @property {string} ts
 * @property {number} start_ms
 * @property {number | null} duration_ms
 * @property {"ok" | "error" | "running" | "never_returned" | null} status
 * @property {string | null} problem the error that a result reports although its call counts as done
 * @property {"llm" | "tool" | "state" | "span" | "loop" | "error" | "start" | "end" | "call_start" | "other"} kind
 * @property {"info" | "warning" | "critical" | null} severity
 * @property {string | null} loop_kind
 * @property {number | null} tokens
 * @property {number | null} tokens_in
 * @property {number | null} tokens_out
 * @property {number | null} cost_usd
 * @property {string | null} source
 * @property {string | null} [call_id]
 * @property {"llm" | "tool" | null} [call_kind] what a CALL_START started
 * @property {boolean} [ended]
 * @property {{input: Part[], outcome: Part[], error: string | null, same_as: number | null, rest_as: number | null, tree?: {input: Part[], outcome: Part[]}}} preview
 * @property {string} label
 *
 * @typedef {object} RunMeta
 * @property {string} run_id
 * @property {string | null} run_name
 * @property {string} started_at
 * @property {string | null} ended_at
 * @property {number | null} duration_ms
 * @property {"running" | "ok" | "error"} status
 * @property {{llm_calls: number, tool_calls: number, errors: number, loop_warnings: number}} counts
 * @property {number | null} [total_tokens]
 * @property {number | null} [cost_usd]
 * @property {number | null} [loop_cost_usd]
 * @property {string | null} [status_reason]
 * @property {string | null} [headline]
 * @property {string | null} [state] "problems" when a run finished and something in it went wrong, "paused" when it waits at a breakpoint
 * @property {Record<string, any>} [metadata]
 * @property {Record<string, any>} [replay] what it is a fork or a replay of
 *
 * @typedef {object} Relative a run of a family
 * @property {string} run_id
 * @property {number} depth 0 for the first of the family
 * @property {string} relation what it is to its parent
 * @property {"running" | "ok" | "error"} status
 * @property {string | null} state
 * @property {string | null} headline
 * @property {string | null} first what it did otherwise than its parent first
 * @property {number | null} served
 * @property {number | null} live
 * @property {number | null} duration_ms
 * @property {number | null} cost_usd
 *
 * @typedef {{n: number | null, parts: {text: string, style: "plain" | "code" | "quote"}[]}} VerdictLine
 *
 * @typedef {object} Summary
 * @property {RunMeta} run
 * @property {number} progress
 * @property {boolean} complete
 * @property {number} total_events
 * @property {Record<string, number>} type_counts
 * @property {number} errors
 * @property {{info: number, warning: number, critical: number}} loops
 * @property {Record<string, number | null>} figures
 * @property {{tone: "ok" | "warn" | "error" | "running", word: string, lines: VerdictLine[]}} verdict
 * @property {number[]} damaged_lines
 * @property {number} damaged_total
 * @property {string[]} notes
 * @property {Finding[]} [findings]
 * @property {Suspect[]} [suspects] likely causes, most likely first
 * @property {Record<string, number | boolean | string>} [scores]
 *
 * @typedef {object} Suspect a step that a rule holds for the cause of what went wrong
 * @property {number} n
 * @property {VerdictLine["parts"]} parts the sentence
 * @property {{n: number, parts: VerdictLine["parts"]}[]} evidence
 * @property {string} [rule]
 * @property {number | null} [hit_rate] how often the rule named the cause in labelled runs, 0 to 1
 *
 * @typedef {object} Finding a loop, and the rounds it went
 * @property {number} n the LOOP_WARNING itself
 * @property {"warning" | "critical"} severity
 * @property {number} first_n
 * @property {number} last_n
 * @property {number[]} rounds the event that starts each round
 */

export {};
