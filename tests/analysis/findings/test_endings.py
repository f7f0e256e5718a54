"""A run that ended by itself has an answer, or its verdict says what it ended with instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agentdbg import llm, record_llm_call, record_tool_call, trace, traced_run
from agentdbg.analysis.findings import find
from agentdbg.analysis.run_columns import MemoryColumns
from agentdbg.analysis.stats import Tally
from agentdbg.analysis.verdict import judge
from agentdbg.analysis.wording import text_of
from agentdbg.storage import load_events, load_run_meta

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Recorded

TRACEBACK = 'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\nKeyError: 7\n'


def asks_for(*names: str) -> dict[str, Any]:
    calls = [{"id": name, "type": "function", "function": {"name": name, "arguments": "{}"}} for name in names]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def told(recorded: Recorded, data_dir: Path) -> tuple[str, str, list[Any]]:
    """The tone and the last line of the verdict, and the findings about the end."""
    run_id = recorded.only().path.name
    meta, events = load_run_meta(run_id, data_dir), list(load_events(run_id, data_dir))
    verdict = judge(Tally(MemoryColumns(events)).catch_up(), meta)
    about = [
        (finding.severity, finding.sentence)
        for finding in find(events, meta)
        if finding.kind in ("no_answer", "error_as_answer")
    ]
    return verdict["tone"], text_of(verdict["lines"][-1]), about


def unread() -> None:
    record_llm_call("m", response=asks_for("search_flights"))
    record_tool_call("search_flights", result=["HAT057"])


def failed_tool() -> None:
    record_llm_call("m", response=asks_for("book"))
    record_tool_call("book", error=ValueError("no seat"))


def failed_model() -> None:
    record_llm_call("m", response=asks_for("book"))
    record_tool_call("book", result="ok")
    record_llm_call("m", error=TimeoutError("no answer in 60 s"))


def tool_with_traceback() -> None:
    record_llm_call("m", response=asks_for("python"))
    record_tool_call("python", result={"stdout": "", "stderr": TRACEBACK, "exit_code": 1})


def never_called() -> None:
    record_llm_call("m", response=asks_for("read_file"))
    record_tool_call("read_file", result="x")
    record_llm_call("m", response=asks_for("read_file", "search"))


def empty() -> None:
    record_llm_call("m", response={"role": "assistant", "content": ""})


def model_says_traceback() -> None:
    record_llm_call("m", response=TRACEBACK)


def acted_in_text() -> None:
    record_llm_call("m", response="Let me look.\n```bash\ncat /x\n```")
    record_tool_call("bash", {"command": "cat /x"}, result="cat: /x: No such file or directory")


def ran_out_of_steps() -> None:
    record_llm_call("m", response="Agent stopped due to iteration limit or time limit.")


@pytest.mark.parametrize(
    ("agent", "sentence"),
    [
        (unread, "The run ended with the result of search_flights #3; no answer followed."),
        (failed_tool, "The run ended without an answer: its last call, book #3, failed: ValueError: no seat"),
        (failed_model, "The run ended without an answer: its last call, m #4, failed: TimeoutError: no answer in 60 s"),
        (tool_with_traceback, "The run ended without an answer: its last call, python #3, gave an error: Traceback"),
        (
            acted_in_text,
            "The run ended without an answer: its last call, bash #3, gave an error: cat: /x: No such file",
        ),
        (never_called, "The last answer, #4, asks for search, which was not called."),
        (empty, "The last answer of m, #2, is empty."),
        (model_says_traceback, "The answer is an error message: Traceback (most recent call last):"),
        (ran_out_of_steps, "The agent stopped before it had an answer: Agent stopped due to iteration limit"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_an_ending_without_an_answer_is_not_green(
    recorded: Recorded, data_dir: Path, agent: Callable[[], None], sentence: str
) -> None:
    """Nothing was raised, so nobody else says that the agent has nothing to show."""
    with traced_run("r"):
        agent()

    tone, last_line, about = told(recorded, data_dir)
    assert tone == "warn"
    assert last_line.startswith(sentence)
    assert about == [("warning", last_line)]


@pytest.mark.parametrize("result", [TRACEBACK, "Error: no such table", {"messages": [], "error": "no route"}])
def test_a_function_that_returns_an_error_did_not_answer(recorded: Recorded, data_dir: Path, result: Any) -> None:
    """`except Exception as error: return str(error)` is how many agents end."""

    @trace
    def agent() -> Any:
        record_llm_call("m", response="Let me see what I can find about this for you.")
        return result

    agent()

    tone, last_line, about = told(recorded, data_dir)
    assert tone == "warn"
    assert last_line.startswith("The answer is an error message: ")
    assert [severity for severity, _ in about] == ["warning"]


def answered() -> str:
    record_llm_call("m", response="It leaves at nine.")
    return "It leaves at nine."


def said_by_the_model() -> None:
    unread()
    record_llm_call("m", response="It leaves at nine.")


def said_before_it_was_saved() -> None:
    said_by_the_model()
    record_tool_call("save_memory", error=OSError("disk full"))


def handed_in() -> None:
    record_llm_call("m", response=asks_for("final_answer"))
    record_tool_call("final_answer", {"answer": "nine"}, result="nine")


def handed_over() -> None:
    record_llm_call("m", response=asks_for("transfer_to_human_agents"))
    record_tool_call("transfer_to_human_agents", {}, result="Transfer successful")


def filled_in_a_form() -> None:
    record_llm_call("m", response=asks_for("Invoice"))


def ended_with_an_output_tool() -> None:
    unread()
    record_llm_call("m", response=asks_for("final_result"))


def no_model() -> None:
    record_tool_call("search", result=["x"])


def responses_not_recorded() -> None:
    record_llm_call("m", prompt="hi")


def embedding() -> None:
    record_llm_call("embed", response={"embeddings": 3, "dimensions": 8})


@llm(model="m")
def _ask() -> str:
    return "Explained: a Traceback (most recent call last) lists the calls."


def explains_a_traceback() -> None:
    _ask()


@pytest.mark.parametrize(
    "agent",
    [
        answered,
        said_by_the_model,
        said_before_it_was_saved,
        handed_in,
        handed_over,
        filled_in_a_form,
        ended_with_an_output_tool,
        no_model,
        responses_not_recorded,
        embedding,
        explains_a_traceback,
    ],
    ids=lambda agent: agent.__name__,
)
def test_a_healthy_ending_has_no_finding(recorded: Recorded, data_dir: Path, agent: Callable[[], Any]) -> None:
    """A warning on good runs makes people ignore it on bad ones."""
    with traced_run("r"):
        agent()

    _, _, about = told(recorded, data_dir)
    assert about == []


def test_an_action_as_the_last_step_is_a_note(recorded: Recorded, data_dir: Path) -> None:
    """It may well be what the run was for; only its reader knows."""
    with traced_run("r"):
        record_llm_call("m", response=asks_for("send_mail"))
        record_tool_call("send_mail", result="sent")

    tone, last_line, about = told(recorded, data_dir)
    assert tone == "ok"
    assert last_line == "The last step was send_mail #3; no answer followed."
    assert about == [("info", last_line)]
