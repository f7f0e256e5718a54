"""A write that was done, one that was refused, and one of which nobody knows: three different things."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.analysis.call_results import outcome_of
from agentdbg.analysis.effects import read_effects
from tests.analysis.checks.runs import baseline, only_failure, report
from tests.analysis.diff.events import run, tool
from tests.analysis.story import Story
from tests.commands.stored import Ran, store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Cli = Callable[..., Ran]

_ARGS = {"order_id": "A-17", "amount": 40}


def _error(error_type: str, message: str = "it broke") -> dict[str, Any]:
    return {"error_type": error_type, "message": message, "stack": None, "details": None}


_LOST = _error("ConnectionError", "Connection aborted")


def _pays(*answers: Any) -> Story:
    """One payment for each answer; an error is a dict with a type."""
    story = Story()
    for answer in answers:
        raised = isinstance(answer, dict) and "error_type" in answer
        story.tool("pay", _ARGS, None if raised else answer, error=answer if raised else None)
    story.end()
    return story


@pytest.mark.parametrize(
    "payload",
    [
        {"result": {"ok": True}},
        {"result": "done"},
        {"result": None},
        {"result": {"status": "success", "error": None}},
        {"result": {"id": 7, "errors": ["the mail was not sent"]}},
        {"result": {"status_code": 201}},
        {"result": []},
        {"result": {"ok": True, "error": "careful"}},
    ],
    ids=str,
)
def test_what_came_back_without_a_complaint_was_done(payload: dict[str, Any]) -> None:
    """Most tools say nothing about it."""
    assert outcome_of(payload) == "done"


@pytest.mark.parametrize(
    "payload",
    [
        {"result": {"error": "no such order", "ok": False}},
        {"result": '{"error": "no such order", "ok": false}'},
        {"result": {"success": False}},
        {"result": {"isError": True, "content": [{"type": "text", "text": "no"}]}},
        {"result": [{"type": "text", "text": '{"error": "no"}'}]},
        {"result": {"status": "failed"}},
        {"result": {"status_code": 404}},
        {"result": {"status_code": 409, "error": "already paid"}},
        {"result": "Error: payment declined"},
        {"result": "ValueError: no such order"},
        {"status": "error", "error": _error("ValueError")},
        {"status": "error", "error": _error("PermissionError")},
        {"status": "error", "error": _error("HTTPStatusError", "Client error '403 Forbidden'")},
        {"status": "error", "error": _error("ConnectionRefusedError", "[Errno 111] Connection refused")},
        {"status": "error", "error": _error("ConnectionError", "Failed to establish a new connection: [Errno 111]")},
        {"status": "error", "error": _error("ConnectTimeout")},
        {"status": "error", "error": "it broke"},
    ],
    ids=str,
)
def test_what_was_turned_down_or_never_sent_was_not_done(payload: dict[str, Any]) -> None:
    """The shop said no, or never heard of it."""
    assert outcome_of(payload) == "refused"


@pytest.mark.parametrize(
    "payload",
    [
        {"status": "error", "error": _LOST},
        {"status": "error", "error": _error("ConnectionResetError")},
        {"status": "error", "error": _error("TimeoutError")},
        {"status": "error", "error": _error("ReadTimeout")},
        {"status": "error", "error": _error("APITimeoutError")},
        {"status": "error", "error": _error("RemoteDisconnected")},
        {"status": "error", "error": _error("CancelledError")},
        {"status": "error", "error": _error("KeyboardInterrupt")},
        {"status": "error", "error": _error("HTTPStatusError", "Server error '502 Bad Gateway'")},
        {"status": "error", "error": "the request timed out"},
        {"result": {"status_code": 504}},
        {"result": {"error": "upstream request timeout", "ok": False}},
    ],
    ids=str,
)
def test_what_broke_off_after_it_was_sent_may_have_been_done(payload: dict[str, Any]) -> None:
    """The answer was lost, and perhaps not the money."""
    assert outcome_of(payload) == "unknown"


def test_an_effect_of_unknown_outcome_is_one_and_a_refused_one_is_none() -> None:
    """What may have been done has to be looked at."""
    lost = tool("pay", _ARGS)
    lost["payload"].update(status="error", error=_LOST)
    found = read_effects(run(tool("pay", _ARGS, {"ok": False}), lost, tool("pay", _ARGS, {"ok": True}))).found()

    assert [(effect.number, effect.outcome) for effect in found] == [(3, "unknown"), (4, "done")]


def test_a_retry_after_an_unknown_outcome_is_a_possible_double_write(cli: Cli, data_dir: Path) -> None:
    """Paid once in the baseline, and perhaps twice now."""
    once, twice = _pays({"ok": True}), _pays(_LOST, {"ok": True})
    failed = only_failure(report(twice, baseline(once)))

    assert failed.sentence.startswith(
        "Other side effects: #2: `pay` may have been done twice: it ended with ConnectionError, and #3 repeats it."
    )
    said = " ".join(cli("diff", store(data_dir, once), store(data_dir, twice)).out.split())
    assert said.startswith("≠ Different effects")
    assert "B may have done pay twice: #2 ended with ConnectionError, and #3 repeats it." in said
    assert "pay may be done" in said


def test_a_retry_after_a_refusal_is_the_same_as_doing_it_once() -> None:
    """Nothing happened the first time."""
    once = baseline(_pays({"ok": True}))

    assert report(_pays({"ok": False, "error": "busy"}, {"ok": True}), once).passed
    assert report(_pays(_error("ValueError"), {"ok": True}), once).passed


def test_a_write_that_was_refused_is_told_as_that(cli: Cli, data_dir: Path) -> None:
    """`Only A called pay` would be false: B called it, and was turned down."""
    done, refused = _pays({"ok": True}), _pays({"ok": False, "error": "no funds"})
    failed = only_failure(report(refused, baseline(done)))
    said = " ".join(cli("diff", store(data_dir, done), store(data_dir, refused)).out.split())

    assert failed.sentence.startswith("Other side effects: #2: `pay` was refused.")
    assert "pay was done in A and refused in B." in said
    assert "Only A called" not in said
    assert report(refused, baseline(refused)).passed


def test_a_write_of_unknown_outcome_is_not_the_same_as_one_that_was_done(cli: Cli, data_dir: Path) -> None:
    """Nobody can say that the customer got the money."""
    done, lost = _pays({"ok": True}), _pays(_LOST)
    failed = only_failure(report(lost, baseline(done)))
    said = " ".join(cli("diff", store(data_dir, done), store(data_dir, lost)).out.split())

    assert failed.sentence.startswith("Other side effects: #2: `pay` may not have been done: it ended with Connection")
    assert "pay was done in A; whether in B nobody knows: ConnectionError." in said
    assert report(lost, baseline(lost)).passed


def test_a_baseline_keeps_what_is_not_known(cli: Cli, data_dir: Path) -> None:
    """A good run may have had a bad moment; its baseline says so and is read back."""
    lost = store(data_dir, _pays(_LOST, {"ok": True}))
    cli("baseline", lost, "--out", "b.json")

    assert cli("assert", lost, "-b", "b.json", "--status", "off").code == 0
    calls = cli("baseline", lost).json["effects"][0]["calls"]
    assert [call.get("outcome") for call in calls] == ["unknown", None]


def test_an_argument_that_differs_in_an_id_alone_is_shown(cli: Cli, data_dir: Path) -> None:
    """Ids in a text are no other wording, but money sent to another account is another effect."""

    def sends(account: str) -> str:
        story = Story()
        story.tool("send_mail", {"body": f"for {account}"}, "ok")
        story.end()
        return store(data_dir, story)

    a, b = (sends(f"{digit}f2b8c1e-1111-4222-8333-abcdefabcdef") for digit in "39")
    ran = cli("diff", a, b)

    assert ran.code == 1
    assert "send_mail got body" in ran.out
    cli("baseline", a, "--out", "b.json")
    assert "- body:" in cli("assert", b, "-b", "b.json").out
