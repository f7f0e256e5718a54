"""For any stored run, with and without run.json, every command and every address gives the same totals."""

from __future__ import annotations

import json
import shutil
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentdbg.storage.reader import list_runs, load_run_meta
from tests.events.faces import HOW, disagreement, in_public, in_python
from tests.storage.handmade import event, llm_call, run_end, run_start, tool_call, write_run

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.commands.stored import Ran

pytestmark = pytest.mark.slow

DATA = Path(__file__).parents[3] / "shared" / "data"
_law = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)

_numbers = (
    st.none()
    | st.integers(-3, 3)
    | st.integers(0, 10**7)
    | st.integers(min_value=2**31, max_value=2**55)
    | st.sampled_from(["0", "7", " 12 ", "1e3", "many", "", 3.0, 2.5, True, False, 1e300, [4], {"n": 4}])
)
_names = st.sampled_from(
    [
        "prompt_tokens",
        "completion_tokens",
        "total_tokens",
        "input_tokens",
        "output_tokens",
        "cache_read_input_tokens",
        "promptTokenCount",
        "thoughtsTokenCount",
        "totalTokenCount",
        "eval_count",
    ]
)
_usages = st.none() | st.just("5 tokens") | st.dictionaries(_names, _numbers, max_size=5)
_costs = st.none() | st.floats(0, 10) | st.sampled_from([0, -1, "0.5", "free", True, 1e300])
_messages = st.sampled_from(["no", "'due'", "", "timed out"])
_errors = (
    st.none()
    | st.builds(lambda message: {"error_type": "KeyError", "message": message, "stack": None}, _messages)
    | st.builds(lambda message: {"type": "KeyError", "message": message}, _messages)
    | st.sampled_from(["no", "", {}, False, True, 0, {"code": 404}, {"error_type": None}])
)
_statuses = st.sampled_from(["ok", "error", "success", "FAILED", "aborted", "odd", None, 1])
_outcomes = st.fixed_dictionaries({"status": _statuses, "error": _errors})
_calls = st.one_of(
    st.builds(
        lambda outcome, usage, cost: ("LLM_CALL", {**outcome, "usage": usage, "cost_usd": cost}),
        _outcomes,
        _usages,
        _costs,
    ),
    st.builds(lambda outcome, usage: ("TOOL_CALL", {**outcome, "usage": usage}), _outcomes, _usages),
    st.builds(lambda message: ("ERROR", {"error_type": "KeyError", "message": message}), _messages),
    st.builds(
        lambda severity: ("LOOP_WARNING", {"pattern": "a", "severity": severity}), st.sampled_from(["info", "x"])
    ),
    st.builds(lambda error: ("SPAN", {"state": None, "error": error}), _errors),
    st.just(("CALL_START", {"call_id": "c", "kind": "tool", "name": "t", "input": None})),
    st.just(("CHECKPOINT", {"usage": {"total_tokens": 5}, "status": "error"})),
)


@settings(_law, max_examples=300)
@given(calls=st.lists(_calls, max_size=8), how=st.sampled_from(HOW), ends_failed=st.booleans(), told=st.integers(0, 3))
def test_every_reader_counts_any_run_alike(
    tmp_path: Path, calls: list[Any], how: str, ends_failed: bool, told: int
) -> None:
    """One counter counts for all of them."""
    data_dir = tmp_path / str(uuid.uuid4())
    run_id = _stored(data_dir, calls, how, ends_failed=ends_failed, told=told)

    assert disagreement(in_python(data_dir, run_id)) == ""


@settings(_law, max_examples=25)
@given(calls=st.lists(_calls, max_size=8), how=st.sampled_from(HOW))
def test_every_command_counts_any_run_alike(
    data_dir: Path, cli: Callable[..., Ran], calls: list[Any], how: str
) -> None:
    """What a user compares: two commands side by side, and the page."""
    shutil.rmtree(data_dir, ignore_errors=True)
    run_id = _stored(data_dir, calls, how)

    assert disagreement(in_public(cli, data_dir, run_id)) == ""


def _stored(data_dir: Path, calls: list[Any], how: str, *, ends_failed: bool = False, told: int = 0) -> str:
    run_id = str(uuid.uuid4())
    events = [run_start(run_id)]
    for number, (kind, payload) in enumerate(calls, 1):
        if kind == "LLM_CALL":
            events.append(llm_call(run_id, number, payload=payload))
        elif kind == "TOOL_CALL":
            events.append(tool_call(run_id, number, payload=payload))
        elif kind == "SPAN":
            events.append(event(run_id, "STATE_UPDATE", number, name="part", payload=payload, meta={"span": "part"}))
        else:
            events.append(event(run_id, kind, number, name="x", payload=payload))
    if how != "never closed":
        end = run_end(run_id, 1_000, "error" if ends_failed else "ok")
        end["payload"]["summary"]["errors"] = told
        events.append(end)
    write_run(data_dir, run_id, events=events, meta=None)
    if how == "with run.json":
        (data_dir / "runs" / run_id / "run.json").write_text(json.dumps(load_run_meta(run_id, data_dir)))
    return run_id


@pytest.mark.skipif(not DATA.is_dir(), reason="the data of real agents is not here")
@pytest.mark.parametrize("folder", ["trail", "openhands", "swe-agent"])
def test_every_command_counts_a_real_run_alike(data_dir: Path, cli: Callable[..., Ran], folder: str) -> None:
    """With the run.json that the import wrote, and without it."""
    files = sorted(str(path) for path in (DATA / folder).iterdir() if path.name != "LICENSE")
    cli("import", *files)
    for run in list_runs(None, data_dir)[:6]:
        before = in_public(cli, data_dir, run["run_id"])
        (data_dir / "runs" / run["run_id"] / "run.json").unlink()
        shutil.rmtree(data_dir / "index", ignore_errors=True)
        after = in_public(cli, data_dir, run["run_id"])

        assert disagreement({**before, **{f"{face}, counted": totals for face, totals in after.items()}}) == ""


@pytest.mark.skipif(not DATA.is_dir(), reason="the data of real agents is not here")
def test_every_reader_counts_real_conversations_alike(data_dir: Path, cli: Callable[..., Ran]) -> None:
    """Two hundred of them, and each with its run.json and without it."""
    cli("import", str(DATA / "taubench-airline" / "gpt-4o-airline.json"))
    for run in list_runs(None, data_dir)[::10]:
        before = in_python(data_dir, run["run_id"])
        (data_dir / "runs" / run["run_id"] / "run.json").unlink()
        after = in_python(data_dir, run["run_id"])

        assert disagreement({**before, **{f"{face}, counted": totals for face, totals in after.items()}}) == ""
