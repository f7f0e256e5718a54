"""What one event says, and that everything which counts events says the same of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg import record_llm_call, record_tool_call, traced_run
from agentdbg.events.facts import RunTotals, cached_tokens, call_failed, cost_of, model_of, tokens_of
from agentdbg.storage.dialects import parse_event
from tests.events.faces import HOW, disagreement, in_python, stored

if TYPE_CHECKING:
    from tests.conftest import Recorded

CASES = json.loads((Path(__file__).parent / "cases.json").read_text())
PARTS = ("usage", "cost_usd", "status", "error")


@pytest.mark.parametrize("case", CASES["usages"], ids=lambda case: json.dumps(case["usage"]))
def test_tokens_are_read_by_one_law(case: dict[str, Any]) -> None:
    """The page reads the same file in Node, so both agree."""
    assert list(tokens_of({"usage": case["usage"]})) == case["tokens"]


def test_cached_tokens_are_found_beside_details_that_do_not_tell_them() -> None:
    """Some providers send the details empty and tell the number above them."""
    assert cached_tokens({"prompt_tokens_details": {"audio_tokens": 0}, "cache_read_input_tokens": 9}) == 9
    assert cached_tokens({"prompt_tokens_details": {}, "input_token_details": {"cache_read": "4"}}) == 4
    assert cached_tokens({"prompt_tokens_details": {}}) is None


@pytest.mark.parametrize("case", CASES["costs"], ids=lambda case: json.dumps(case["cost_usd"]))
def test_a_cost_is_known_or_not(case: dict[str, Any]) -> None:
    """An unknown price is not a price of nothing."""
    assert cost_of({"cost_usd": case["cost_usd"]}) == case["cost"]


@pytest.mark.parametrize("case", CASES["outcomes"], ids=json.dumps)
def test_a_call_failed_or_not(case: dict[str, Any]) -> None:
    """Also after the tolerant reader has brought it into the strict form."""
    payload = {"tool_name": "t", "status": case["status"], "error": case["error"]}
    line = json.dumps({"event_type": "TOOL_CALL", "name": "t", "payload": payload}).encode()

    assert call_failed(payload) is case["failed"]
    assert call_failed(parse_event(line, "r")["payload"]) is case["failed"]


def test_the_subject_of_a_call_is_its_name_where_the_payload_names_none() -> None:
    """Other writers name it once."""
    assert model_of({"name": "gpt-4", "payload": {}}) == "gpt-4"
    assert model_of({"name": "x", "payload": {"model": "gpt-4"}}) == "gpt-4"
    assert model_of({}) == "unknown"
    assert model_of({"name": "gpt-4", "payload": {"model": ""}}) == "gpt-4"
    assert model_of({"name": "gpt-4", "payload": {"model": 5}}) == "gpt-4"


def test_each_event_is_counted_once_as_what_it_is() -> None:
    """All readers ask this one counter, so that they agree says nothing of whether it is right."""
    totals, error = RunTotals(), {"error_type": "KeyError", "message": "'due'"}
    totals.add("LLM_CALL", {"usage": {"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30}, "cost_usd": 0})
    totals.add("LLM_CALL", {"usage": {"prompt_tokens": 5}, "status": "error", "error": None})
    totals.add("TOOL_CALL", {"error": error, "usage": {"total_tokens": 9}, "cost_usd": 9})
    totals.add("ERROR", error)  # the exception of that call, on its way out
    totals.add("ERROR", {**error, "message": "'paid'"})
    for event_type in ("LOOP_WARNING", "CALL_START", "STATE_UPDATE", "RUN_START", "OUTCOME"):
        totals.add(event_type, {"error": error, "status": "error", "usage": {"total_tokens": 9}})

    assert totals.counts() == {"llm_calls": 2, "tool_calls": 1, "errors": 3, "loop_warnings": 1}
    assert totals.tokens() == (25, 10, 35)
    assert (totals.failed_calls, totals.cost()) == (2, 0.0)


@pytest.mark.parametrize(("told", "counted"), [(3, 3), (1, 2), (None, 2), ("many", 2)])
def test_the_end_of_a_run_may_know_of_more_errors_than_its_log(told: object, counted: int) -> None:
    """Forked processes count alone, and what one of them lost is told at the end; it is never taken for fewer."""
    totals = RunTotals()
    for number in range(2):
        totals.add("ERROR", {"message": f"error {number}"})
    totals.add("STATE", {"summary": {"errors": 99}})
    totals.add("RUN_END", {"status": "error", "summary": {"errors": told}})

    assert totals.errors == counted


@pytest.mark.parametrize("how", HOW)
def test_every_reader_counts_an_odd_run_alike(data_dir: Path, how: str) -> None:
    """A gate that says 0 tokens where the list says 12 lets through what it was set up to stop."""
    payloads = [{key: case[key] for key in PARTS if key in case} for kind in CASES.values() for case in kind]
    told = in_python(data_dir, stored(data_dir, how, payloads))

    assert disagreement(told) == ""
    plain = len(CASES["costs"]) + len(CASES["outcomes"])
    assert told["gate"] == {
        "llm_calls": len(payloads),
        "tool_calls": len(payloads),
        "errors": 2 * sum(case["failed"] for case in CASES["outcomes"]),
        "total_tokens": 30 * plain + sum(case["tokens"][2] or 0 for case in CASES["usages"]),
        "cost_usd": sum(case["cost"] or 0 for case in CASES["costs"]),
        "status": "error" if how == "never closed" else "ok",
    }


def test_an_exception_that_leaves_a_failed_call_is_one_error(recorded: Recorded, data_dir: Path) -> None:
    """However often it is recorded on its way out; what the writer counts, a reader counts again."""
    with pytest.raises(ValueError, match="no"), traced_run("r"):
        record_tool_call("t", error=ValueError("no"))
        record_tool_call("t", error=ValueError("no"))
        raise ValueError("no")

    run = recorded.only()
    assert run.meta["counts"]["errors"] == 2
    (run.path / "run.json").unlink()
    told = in_python(data_dir, run.path.name)
    assert disagreement(told) == ""
    assert told["gate"]["errors"] == 2


@pytest.mark.parametrize("case", CASES["usages"], ids=lambda case: json.dumps(case["usage"]))
def test_what_is_recorded_is_counted_like_what_is_read(case: dict[str, Any], recorded: Recorded) -> None:
    """run.json and a count of the events are the same numbers."""
    with traced_run("r"):
        record_llm_call("m", usage=case["usage"])

    run = recorded.only()
    assert run.meta["total_tokens"] == case["tokens"][2]
    assert tokens_of(run.one("LLM_CALL")["payload"]).total == case["tokens"][2]
    assert run.one("RUN_END")["payload"]["summary"]["total_tokens"] == case["tokens"][2]
