"""The report to paste to an assistant: everything it needs, on one page."""

from __future__ import annotations

import time

from agentdbg.analysis.call_results import user_frame
from agentdbg.analysis.report import build_report
from agentdbg.analysis.stats import Tally
from tests.analysis.story import Story

STACK = (
    "Traceback (most recent call last):\n"
    '  File "/srv/venv/lib/python3.12/site-packages/agentdbg/functions.py", line 105, in wrapper\n    call()\n'
    '  File "/home/me/agentdbg/app.py", line 41, in parse_invoice\n    fields["Due"]\n'
    '  File "/usr/lib/python3.12/json/decoder.py", line 3, in decode\n    raise\n'
    "KeyError: 'due_date'\n"
)


def report_of(story: Story, status: str = "error") -> str:
    return build_report(Tally(story.columns()), story.meta(status))


def test_a_report_has_request_cause_evidence_and_place() -> None:
    """An assistant that gets only the exception asks for exactly these."""
    story = Story()
    story.llm([{"role": "user", "content": "Enter the invoice"}], "ok", tokens=(10, 5))
    error = {"error_type": "KeyError", "message": "'due_date'", "stack": STACK}
    call = story.tool("parse_invoice", {"path": "a.pdf"}, error=error)
    story.events[-1]["payload"]["source"] = "agents/invoice.py:12"
    story.error("KeyError", "'due_date'", stack=STACK)
    story.end("error")

    report = report_of(story)
    assert report.startswith("# Failed: story\n")
    assert f"- #{call}: `parse_invoice` raised `KeyError: 'due_date'`, which ended the run." in report
    assert "Enter the invoice" in report
    assert '{"path": "a.pdf"}' in report
    assert "line 41, in parse_invoice" in report
    assert "recorded at `agents/invoice.py:12`" in report
    assert f"- #{call}, tool parse_invoice" in report
    assert story.run_id in report


def test_a_loop_is_reported_with_the_numbers_of_its_evidence() -> None:
    """Numbers can be looked up; a dump of three equal calls cannot be read."""
    story = Story()
    evidence = [story.tool("search", {"q": "a"}, "nothing") for _ in range(3)]
    story.loop("cycle", "critical", "TOOL_CALL:search", evidence, "search did the same 3 times.")
    story.error("AgentDbgLoopAbort", "…", guardrail="stop_on_loop", threshold=3, actual=3)
    story.end("error")

    report = report_of(story)
    assert "critical, cycle: search did the same 3 times." in report
    assert "evidence: #2, #3, #4" in report
    assert report.count("AgentDbgLoopAbort") == 0


def test_a_report_stays_on_one_page() -> None:
    """It goes into a prompt; a megabyte of arguments does not."""
    story = Story()
    big = {"text": "x`` ``` `" * 50_000}
    story.llm([{"role": "user", "content": "y" * 100_000}], "z" * 100_000)
    story.tool("huge", big, error={"error_type": "E", "message": "m" * 50_000, "stack": STACK * 2_000})
    story.error("E", "m" * 50_000, stack=STACK * 2_000)
    story.end("error")

    report = report_of(story)
    assert len(report.encode()) <= 6_000
    assert report.count("```") % 2 == 0
    assert "characters left out" in report


def test_the_users_frame_is_neither_a_librarys_nor_ours() -> None:
    """Also when the user's own project has our name."""
    frame = user_frame(STACK)

    assert frame is not None
    assert (frame.function, frame.short) == ("parse_invoice", "app.py:41")
    assert user_frame("no frames here") is None


def test_a_stack_of_blank_lines_costs_nothing() -> None:
    """A pattern that looks for frames must not try every blank line with every other one."""
    began = time.process_time()

    assert user_frame("\n" * 200_000) is None
    assert user_frame(" " * 200_000) is None
    assert time.process_time() - began < 1
