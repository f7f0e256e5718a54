"""The page as a visitor gets it: the way they like it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.server.running import RunningViewer

pytestmark = pytest.mark.slow


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
