"""Two runs compared over HTTP: the verdict and the rows in one answer, details of a row when they are asked for."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

from tests.analysis.checks.runs import refund_story
from tests.browser.pairs import write_pair
from tests.commands.stored import store

if TYPE_CHECKING:
    from pathlib import Path

    from tests.server.running import RunningViewer

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def pair(data_dir: Path) -> str:
    """Two runs that differ in wording, in one step and in what the booking got, as a query."""
    a, b = write_pair(data_dir, 100)
    return f"a={a}&b={b}"


def test_the_answer_has_the_verdict_and_a_letter_for_every_row(served: RunningViewer, pair: str) -> None:
    """The page lays out any number of rows from one answer, and fetches words for those in sight."""
    found = served.ask(f"/api/compare?{pair}").json()

    assert found["verdict"] == "different_effects"
    assert len(found["signs"]) == len(found["numbers_a"]) == len(found["numbers_b"]) == 101
    assert found["signs"][found["first_divergence"]] == "+"
    assert [number for number in found["numbers_a"] if number] == list(range(1, 101))
    assert [number for number in found["numbers_b"] if number] == list(range(1, 102))
    assert found["effects"]["changed"][0]["changes"][0]["path"] == "args.flights[1].number"
    assert found["totals"]["b"]["tool_calls"] == found["totals"]["a"]["tool_calls"] + 1


def test_the_changes_of_rows_are_asked_for_by_their_places(served: RunningViewer, pair: str) -> None:
    """In short for those in sight, in full for the one that is opened."""
    effect = served.ask(f"/api/compare?{pair}").json()["effect_rows"][0]
    (row,) = served.ask(f"/api/compare/rows?{pair}&at={effect}").json()["rows"]
    whole = served.ask(f"/api/compare/row?{pair}&row={effect}").json()

    assert row["changes"] == [
        {"path": "args.flights[1].number", "op": "changed", "was": '"HAT172"', "now": '"HAT132"', "wording": False}
    ]
    assert (whole["changes"][0]["was"], whole["changes"][0]["now"]) == ("HAT172", "HAT132")


def test_how_the_runs_ended_and_what_could_not_be_read_is_told_too(served: RunningViewer, data_dir: Path) -> None:
    """The page shows the sentences as they come; a write that failed is none of its effects."""
    story = refund_story(ended=False)
    story.tool("send_email", {"to": "me"}, error={"error_type": "ValueError", "message": "no such address"})
    story.end("error", error={"error_type": "ValueError", "message": "kaputt"})
    a, b = store(data_dir, refund_story()), store(data_dir, story, "error")
    log = data_dir / "runs" / a / "events.jsonl"
    log.write_text(log.read_text().replace("\n", '\n{"torn\n', 1))
    found = served.ask(f"/api/compare?a={a}&b={b}").json()
    words = "".join(part["text"] for part in found["sentences"][0]["parts"])

    assert words == "A finished, B failed: ValueError: kaputt."
    assert any(note.startswith("A is not whole: 1 line of its log is damaged") for note in found["notes"])
    assert found["verdict"] == "same_effects"
    assert found["is_good"] is False
    assert len(found["effect_rows"]) == 1


def test_a_call_of_which_nobody_knows_what_it_changes_is_never_called_harmless(
    served: RunningViewer, data_dir: Path
) -> None:
    """The page says that it does not know, and shows the row among the effects."""
    a, b = (store(data_dir, refund_story(reads=(name,))) for name in ("frobnicate", "find_order"))
    found = served.ask(f"/api/compare?a={a}&b={b}").json()

    assert (found["verdict"], found["is_good"]) == ("unknown_effects", False)
    assert [effect["name"] for effect in found["effects"]["unknown"]["only_a"]] == ["frobnicate"]
    assert len(found["unknown_rows"]) == 1
    assert set(found["unknown_rows"]) < set(found["effect_rows"])
    assert any(note.startswith("Side effects unknown: frobnicate.") for note in found["notes"])


def test_a_log_that_was_emptied_and_a_run_beside_itself_are_said(served: RunningViewer, data_dir: Path) -> None:
    """A run that holds nothing has not ended badly, and one beside itself is the same of course."""
    a, b = store(data_dir, refund_story()), store(data_dir, refund_story())
    (data_dir / "runs" / b / "events.jsonl").write_text("")
    emptied, itself = (served.ask(f"/api/compare?a={a}&b={other}").json() for other in (b, a))

    assert "".join(part["text"] for part in emptied["sentences"][0]["parts"]) == "A finished, B holds no events."
    assert (emptied["is_good"], itself["is_good"]) == (False, True)
    assert itself["notes"][-1] == "A and B are the same run."
    assert "same run" not in " ".join(emptied["notes"])


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/compare", 400),
        ("/api/compare?a=../../etc/passwd&b=x", 400),
        (f"/api/compare?a={uuid.UUID(int=1, version=4)}&b={uuid.UUID(int=2, version=4)}", 404),
        ("/api/compare/rows?{pair}&at=1,x", 400),
        ("/api/compare/rows?{pair}&at=" + ",".join(["1"] * 501), 400),
        ("/api/compare/row?{pair}&row=101", 400),
        ("/api/compare/row?{pair}&row=-1", 400),
    ],
)
def test_what_cannot_be_compared_is_refused_in_words(served: RunningViewer, pair: str, path: str, status: int) -> None:
    """A wrong address is answered like everywhere else."""
    answer = served.ask(path.replace("{pair}", pair))

    assert answer.status == status, answer.body
    assert answer.json()["error"]["message"]


def test_a_comparison_is_as_guarded_as_everything_else(served: RunningViewer, pair: str) -> None:
    """A page from elsewhere learns nothing from it."""
    assert served.ask(f"/api/compare?{pair}", headers={"Host": "evil.example"}).status == 403
    assert served.ask(f"/api/compare?{pair}", headers={"Origin": "https://evil.example"}).status == 403
