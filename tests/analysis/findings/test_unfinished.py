"""A run whose last words are no answer, a run that asked for them, and lookups whose nothing is the answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg import record_llm_call, record_tool_call, traced_run
from agentdbg.analysis.findings import find
from agentdbg.storage import load_events, load_run_meta

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Recorded

Said = tuple[str, ...]
Used = tuple[str, dict[str, Any], Any]
OUTPUT = "Output: NameError: name 'x' is not defined"


def warnings_of(recorded: Recorded, data_dir: Path, asked: str, *steps: str | Used) -> list[str]:
    """The kinds of the findings above info of a run: texts are what the model said, tuples the calls it asked for."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": asked}]
    with traced_run("talk"):
        for step in steps:
            if isinstance(step, str) and messages[-1]["role"] == "assistant":
                messages.append({"role": "user", "content": step})
                continue
            call = None if isinstance(step, str) else {"name": step[0], "arguments": json.dumps(step[1])}
            calls = [] if call is None else [{"id": "c", "type": "function", "function": call}]
            reply = {"role": "assistant", "content": step if isinstance(step, str) else None, "tool_calls": calls}
            record_llm_call("m", prompt=list(messages), response=reply)
            messages.append(reply)
            if not isinstance(step, str):
                record_tool_call(step[0], args=step[1], result=step[2])
                messages.append({"role": "tool", "tool_call_id": "c", "content": json.dumps(step[2])})
    run_id = recorded.only().path.name
    found = find(load_events(run_id, data_dir), load_run_meta(run_id, data_dir))
    return [finding.kind for finding in found if finding.severity != "info"]


FLIGHTS: Used = ("search_flights", {"day": 1}, [{"no": 1}])


@pytest.mark.parametrize(
    ("asked", "steps"),
    [
        ("How high is X?", ["Thought: I have to look.\nAction: search[height of X]"]),
        ("How high is X?", ['Thought: look\nAction:\n```json\n{"action": "search", "action_input": "X"}\n```']),
        (
            "Fix it",
            ["<execute_bash>ls</execute_bash>", "a.py", "Let me open it.\n<execute_bash>cat a.py</execute_bash>"],
        ),
        ("How high is X?", ["Thought: I have to look.\nAction: lookup\nAction Input: X"]),
        ("Compute it", ["```python\nprint(x)\n```", OUTPUT, "```python\nx = 1\nprint(x)\n```"]),
        ("Find flights", [FLIGHTS, "Great! Let me check the return flights now."]),
        ("Finde Flüge", [FLIGHTS, "Einen Moment, ich suche jetzt die Rückflüge."]),
    ],
)
def test_an_action_that_nobody_carried_out_is_no_answer(
    recorded: Recorded, data_dir: Path, asked: str, steps: list[Any]
) -> None:
    """The loop around the agent gave up, and its last words are what it would have done."""
    assert warnings_of(recorded, data_dir, asked, *steps) == ["no_answer"]


@pytest.mark.parametrize(
    ("asked", "steps"),
    [
        ("Who wrote X?", ["Thought: I know.\nAction: Finish[Ann]"]),
        ("Who wrote X?", ['Action:\n```json\n{"action": "Final Answer", "action_input": "Ann"}\n```']),
        (
            "Compute it",
            ["```python\nprint(x)\n```", "Output: 4.75", "```py\nfinal_answer(4.75)\n```"],
        ),
        ("Add two numbers in Python", ["```python\ndef add(a, b):\n    return a + b\n```"]),
        ("A form with an action", ['<form action="/go"><input name="q"></form>']),
        ("A person, please", [FLIGHTS, "Hold on, one of my colleagues will be with you in a moment."]),
        ("My laptop is slow", [FLIGHTS, "I will check with the shop and get back to you tomorrow."]),
        ("Flights?", [FLIGHTS, "There is one flight, number 1. Let me know which seat you like."]),
        ('Translate "Fehler: Datei nicht gefunden"', ["Error: file not found"]),
        (
            "What does Python print for 1/0?",
            ["Traceback (most recent call last):\nZeroDivisionError: division by zero"],
        ),
        ("A button in my form?", ["Put it into the <action> tag of the form."]),
        ("What did the bank decide?", ["It refused the loan.\nAction: Cancel"]),
        ("Release it", [FLIGHTS, "Version 4 is out. I will continue to monitor the deployment."]),
        ("Write a friendly page for 404", ["404 Not Found. Oops! This page took a holiday."]),
        ("Order 3 as JSON", ['{"order": 3, "status": "failed", "reason": "card declined"}']),
    ],
)
def test_what_was_asked_for_is_an_answer(recorded: Recorded, data_dir: Path, asked: str, steps: list[Any]) -> None:
    """Code, errors and handovers are answers to somebody who wants them."""
    assert warnings_of(recorded, data_dir, asked, *steps) == []


@pytest.mark.parametrize(
    ("asked", "used", "answer"),
    [
        ("Is anything on fire?", ("list_open_incidents", {}, []), "All systems are running smoothly."),
        ("Is room 4 free at 3pm?", ("get_bookings", {"room": 4}, []), "Yes, room 4 is free at 3 pm, and it is yours."),
        ("Hi, I am Bo", ("search_memory", {"q": "Bo"}, []), "Nice to meet you, Bo! How can I help you today?"),
        (
            "Is old_login still used?",
            ("bash", {"command": "grep -rn old_login"}, {"stdout": "", "stderr": "", "exit_code": 1}),
            "The function old_login is unused, so it is safe to delete.",
        ),
        (
            "Lint a.py",
            ("lint", {}, {"stdout": "a.py:3:1: F401 unused import", "stderr": "", "exit_code": 1}),
            "There is an unused import in line 3 of a.py (F401).",
        ),
    ],
)
def test_nothing_is_an_answer_where_no_more_is_claimed(
    recorded: Recorded, data_dir: Path, asked: str, used: Used, answer: str
) -> None:
    """An empty list says that there is none; only facts that nobody gave show that it was passed over."""
    assert warnings_of(recorded, data_dir, asked, used, answer) == []


@pytest.mark.parametrize("answer", ["The room was booked by Carla at noon.", "There are 40 bookings for that room."])
def test_a_fact_after_an_empty_result_is_a_problem(recorded: Recorded, data_dir: Path, answer: str) -> None:
    """Nothing was found, and the answer knows something all the same."""
    used: Used = ("get_bookings", {"room": 4}, [])

    assert warnings_of(recorded, data_dir, "Who booked room 4?", used, answer) == ["unusable_result"]
