"""The same totals of one stored run, asked for in every way there is."""

from __future__ import annotations

import json
import os
import tempfile
import uuid
from typing import TYPE_CHECKING, Any
from unittest import mock

from agentdbg.analysis.checks.run_facts import gather
from agentdbg.analysis.diff import compare
from agentdbg.analysis.run_columns import MemoryColumns
from agentdbg.analysis.stats import Tally, figures
from agentdbg.index.events import EventIndex
from agentdbg.index.run_index import RunIndex
from agentdbg.interop.tables.table_columns import EVENTS, RUNS, event_row, run_row
from agentdbg.mcp_server.protocol import TOOLS
from agentdbg.mcp_server.run_access import Reader
from agentdbg.storage.layout import run_dir
from agentdbg.storage.reader import load_events, load_run_meta
from tests.storage.handmade import llm_call, run_end, run_start, tool_call, write_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.commands.stored import Ran

HOW = ("with run.json", "without run.json", "never closed")
COUNTED = ("llm_calls", "tool_calls", "errors", "loop_warnings", "total_tokens", "cost_usd", "status")
"""What is compared; a face that does not tell one of them leaves it out."""


def in_python(data_dir: Path, run_id: str) -> dict[str, dict[str, Any]]:
    """What the functions behind the commands say."""
    meta = load_run_meta(run_id, data_dir)
    events = list(load_events(run_id, data_dir))
    told = {"load_run_meta": _flat(meta)}
    runs = RunIndex(data_dir)
    runs.refresh(thorough=True)
    told["run index"] = _flat(runs.get(run_id))
    index = EventIndex(run_dir(data_dir, run_id), run_id)
    try:
        index.extend(None)
        for name, columns in (("index", index), ("memory", MemoryColumns(events))):
            tally = Tally(columns).catch_up()
            told[f"figures, {name}"] = dict(figures(tally, meta))
            bare: Any = {"status": meta["status"]}
            counted = dict(figures(tally, bare))
            if tally.end is not None:
                del counted["errors"]  # RUN_END may know of more than were written
            told[f"counted, {name}"] = counted
    finally:
        index.close()
    told["diff"] = _known_status(compare(events, events).to_json()["totals"]["a"])
    told["gate"] = {**gather(lambda: iter(events), meta).totals, "status": meta["status"]}
    told["sql run"] = dict(zip((column.name for column in RUNS), run_row(meta), strict=True))
    told["sql events"] = _summed(events)
    reader = Reader(data_dir)
    told["mcp"] = _flat(json.loads(TOOLS["explain_run"].call(reader, {"run": run_id}))["run"])
    told["mcp list"] = next(_flat(run) for run in _listed(reader) if run_id.startswith(run["run_id"]))
    return {face: {name: totals[name] for name in COUNTED if name in totals} for face, totals in told.items()}


def _listed(reader: Reader) -> Iterator[dict[str, Any]]:
    """All runs that an assistant is told of, page by page."""
    place: dict[str, int] | None = {"offset": 0}
    while place is not None:
        answer = json.loads(TOOLS["list_runs"].call(reader, {"limit": 100, **place}))
        yield from answer["runs"]
        place = answer["next"]


def in_public(cli: Callable[..., Ran], data_dir: Path, run_id: str) -> dict[str, dict[str, Any]]:
    """What a user sees: the commands' JSON and the viewer's."""
    listed = cli("list", "--json", "-n", "100000").json["runs"]
    explained = cli("explain", run_id, "--json").json
    shown = cli("show", run_id, "--json").json
    exported = cli("export", run_id, "--out", "-").json
    names = ", ".join(name for name in COUNTED)
    asked = cli("sql", f"select {names} from runs where run_id = '{run_id}'", "--format", "json").json
    summed = (
        "select count(*) filter (kind = 'llm') as llm_calls, count(*) filter (kind = 'tool') as tool_calls,"
        " sum(total_tokens)::bigint as total_tokens, round(sum(cost_usd), 9) as cost_usd"
    )
    events = cli("sql", f"{summed} from events where run_id = '{run_id}'", "--format", "json").json
    told = {
        "list": _flat(next(run for run in listed if run["run_id"] == run_id)),
        "explain": explained["figures"],
        "explain, run": _flat(explained["run"]),
        "show": shown["figures"],
        "diff": _known_status(cli("diff", run_id, run_id, "--json").json["totals"]["b"]),
        "assert": cli("assert", run_id, "--max-errors", "0", "--format", "json").json["run"]["totals"],
        "export": _flat(exported["run"]),
        "sql runs": asked[0],
        "sql events": events[0],
    }
    for name, address in {"run": "", "summary": "/summary"}.items():
        told[f"http {name}"] = _flat(_asked_by_http(data_dir, f"/api/runs/{run_id}{address}"))
    served = _asked_by_http(data_dir, "/api/runs?limit=1000")["runs"]
    told["http list"] = next(_flat(run) for run in served if run["run_id"] == run_id)
    for form in ("json", "jsonl"):
        told[f"imported again from {form}"] = _imported_again(cli, run_id, form)
    return {face: {name: totals[name] for name in COUNTED if name in totals} for face, totals in told.items()}


def disagreement(told: dict[str, dict[str, Any]]) -> str:
    """Where two faces say different things of one total; empty when all agree."""
    for name in COUNTED:
        said = {face: totals[name] for face, totals in told.items() if name in totals}
        if len({json.dumps(float(value) if type(value) is int else value) for value in said.values()}) > 1:
            return f"{name}: {said}"
    return ""


def stored(data_dir: Path, how: str, payloads: list[dict[str, Any]]) -> str:
    """Put a run on disk: for each payload a model call and a tool call that have it in theirs."""
    run_id = str(uuid.uuid4())
    events = [run_start(run_id)]
    for number, payload in enumerate(payloads):
        events.append(llm_call(run_id, 10 + number, payload=payload))
        events.append(tool_call(run_id, 10 + number, payload=payload))
    if how != "never closed":
        events.append(run_end(run_id, 1_000))
    write_run(data_dir, run_id, events=events, meta=None)
    if how == "with run.json":
        path = data_dir / "runs" / run_id / "run.json"
        path.write_text(json.dumps(load_run_meta(run_id, data_dir)))
    return run_id


def _known_status(totals: dict[str, Any]) -> dict[str, Any]:
    """Without the status of a run that was never closed: only who looks at its process knows that."""
    return {name: value for name, value in totals.items() if name != "status" or value is not None}


def _flat(meta: Any) -> dict[str, Any]:
    known = meta.get("figures", meta)
    return {"total_tokens": None, "cost_usd": None, **known, **known.get("counts", {})}


def _summed(events: list[Any]) -> dict[str, Any]:
    names = [column.name for column in EVENTS]
    rows = [dict(zip(names, event_row(number, event), strict=True)) for number, event in enumerate(events, 1)]
    tokens = [row["total_tokens"] for row in rows if row["total_tokens"] is not None]
    costs = [row["cost_usd"] for row in rows if row["cost_usd"] is not None]
    return {
        "llm_calls": sum(row["kind"] == "llm" for row in rows),
        "tool_calls": sum(row["kind"] == "tool" for row in rows),
        "total_tokens": sum(tokens) if tokens else None,
        "cost_usd": round(sum(costs), 9) if costs else None,
    }


def _imported_again(cli: Callable[..., Ran], run_id: str, form: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        exported, elsewhere = os.path.join(folder, f"run.{form}"), os.path.join(folder, "data")
        cli("export", run_id, "--out", exported)
        with mock.patch.dict(os.environ, AGENTDBG_DATA_DIR=elsewhere):
            cli("import", exported)
        return _flat(load_run_meta("latest", elsewhere))


def _asked_by_http(data_dir: Path, address: str) -> Any:
    from starlette.testclient import TestClient

    from agentdbg.server.viewer import create_app

    app = create_app(data_dir, token="t")
    try:
        client = TestClient(app, base_url="http://127.0.0.1", headers={"X-AgentDbg-Token": "t"})
        return client.get(address).raise_for_status().json()
    finally:
        app.state.viewer.close()
