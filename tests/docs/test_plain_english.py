"""Phrases that readers had to read twice stay out of everything a person reads."""

from __future__ import annotations

import subprocess

import pytest

from tests.docs.pages import ROOT

# Each was replaced by what a technical writer would say; whoever writes one again finds the better words in git.
_PHRASES = (
    "has been answering for",
    "and nothing caught it",
    "times on the way:",
    "A loop: ",
    "the same arguments since #",
    "hey part here",
    "Given differently",
    "B against A",
    "is guessed by name",
    "says it for sure",
    "was taken for no",
    "so work is probably going on",
    "brought nothing new",
    "an event that is only being made",
    "Something new happened.",
    "what came of it",
    "Verdict short or long",
    "Open to the side",
    "Copy for assistant",
    "More about this run",
    "Save as one HTML file",
    "need a package more",
    "no model asked",
    "bring what you have",
    "let your assistant look",
    "ask all runs at once",
    "what is wrong with a run",
    "Ask all stored runs",
    "Make runs of ",
    "Keep what good runs have",
    "is the beginning of {",
    "give more of the id",
    "there is nobody to answer",
    "all as the format says",
    "checks hold",
    "checks do not hold",
    "No account, no server, no key",
    "Every verb you can",
    "that a process writes for others",
    "are told to other tools",
    "Somebody has read it",
    "has begun to come",
    "gives back the place",
)


@pytest.mark.parametrize("phrase", _PHRASES)
def test_a_phrase_that_was_replaced_does_not_come_back(phrase: str) -> None:
    """Users read us in a hurry, many of them in their second language."""
    found = subprocess.run(
        ["git", "grep", "-nF", "-e", phrase, "--", ".", f":!{'tests/docs/test_plain_english.py'}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if found.returncode > 1:
        pytest.skip("not a git checkout")
    assert found.stdout == ""
