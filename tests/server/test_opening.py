"""The page as a visitor gets it: with the first answers inside, and the way they like it."""

from __future__ import annotations

import asyncio
import html
import json
import re
import time
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.server.first_page import with_answers
from tests.storage.handmade import usual_events, write_run

if TYPE_CHECKING:
    from pathlib import Path

    from tests.server.running import RunningViewer

pytestmark = pytest.mark.slow

ANSWER = re.compile(r'<script type="application/json" data-answer="([^"]+)">(.*?)</script>', re.DOTALL)


def answers(page: bytes) -> dict[str, Any]:
    """What stands in a page, by the address that would have been asked for it."""
    return {html.unescape(path): json.loads(content) for path, content in ANSWER.findall(page.decode())}


def test_the_first_answers_stand_in_the_page(served: RunningViewer, run_id: str) -> None:
    """They are what the API says, word for word: the page cannot tell where they came from."""
    visit = served.ask(f"/?run_id={run_id}")
    found = answers(visit.body)

    rows, summary = f"/api/runs/{run_id}/rows?offset=0&limit=80", f"/api/runs/{run_id}/summary"
    assert list(found) == [rows, summary]
    assert found[rows] == served.ask(rows).json()
    assert found[summary]["verdict"] == served.ask(summary).json()["verdict"]
    assert visit.body.rstrip().endswith(b"</html>")


def test_a_page_with_answers_is_kept_by_nobody(served: RunningViewer, run_id: str) -> None:
    """It holds what an agent said, and tomorrow it would be old."""
    assert served.ask(f"/?run_id={run_id}").headers["cache-control"] == "no-store"
    assert served.ask("/").headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("query", ["", "run_id=nothing", "run_id={run}&event=3", "run_id={run}&compare={run}"])
def test_a_visit_that_begins_elsewhere_gets_no_answers(served: RunningViewer, run_id: str, query: str) -> None:
    """They would be of rows that nobody looks at."""
    visit = served.ask("/?" + query.format(run=run_id))

    assert (visit.status, answers(visit.body)) == (200, {})


def test_an_unknown_run_still_gets_the_page(served: RunningViewer) -> None:
    """The page itself says that there is no such run."""
    visit = served.ask(f"/?run_id={uuid.uuid4()}")

    assert (visit.status, answers(visit.body)) == (200, {})
    assert b"page.js" in visit.body


def test_no_recorded_text_can_end_its_element(served: RunningViewer, data_dir: Path) -> None:
    """An agent reads pages of the web, and what they say lands in the rows."""
    hostile = str(uuid.uuid4())
    name = "</script><script>alert(1)</script><!--"
    events = usual_events(hostile)
    for event in events:
        event["name"] = name
    write_run(data_dir, hostile, events=events)
    page = served.ask(f"/?run_id={hostile}").body

    assert b"alert(1)</script>" not in page
    rows, _ = answers(page).values()
    assert name in str(rows)


def test_what_a_reader_chose_is_in_the_page(served: RunningViewer) -> None:
    """A dark page must not begin with a white flash."""
    cookie = {"Cookie": "agentdbg_preferences=theme%3Ddark%26rail%3Dclosed"}
    page = served.ask("/", headers=cookie).body

    assert b'<html lang="en" data-theme="dark" data-preferences="theme=dark&amp;rail=closed">' in page
    assert b'<html lang="en">' in served.ask("/").body


@pytest.mark.parametrize("text", ['theme=dark"><script>', "theme=DARK", "theme", "a=b&" * 80 + "a=b", "%00", "%ff"])
def test_a_cookie_that_is_not_ours_changes_nothing(served: RunningViewer, text: str) -> None:
    """Every program on this machine can write cookies for this address."""
    page = served.ask("/", headers={"Cookie": f"agentdbg_preferences={text}"}).body

    assert page == served.ask("/").body


def test_a_slow_answer_does_not_hold_up_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the page asks for it, and shows meanwhile that it waits."""
    monkeypatch.setattr("agentdbg.server.first_page._WITHIN_SECONDS", 0.05)

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(5)

    async def collect() -> bytes:
        pieces = with_answers(slow, {"headers": []}, b"<body>shell</body></html>", "a-run")
        return b"".join([piece async for piece in pieces])

    before = time.monotonic()
    page = asyncio.run(collect())

    assert page == b"<body>shell</body></html>"
    assert time.monotonic() - before < 2
