"""What a step asked and got: when two of them are the same, and when nearly so."""

from __future__ import annotations

import random
from typing import Any

import pytest

from agentdbg.loops.step_contents import Outcome, are_near, input_key, overlap, words


def test_nothing_is_like_nothing() -> None:
    """Two calls without a word in their input asked the same."""
    assert overlap([], []) == 1.0
    assert overlap([b"a"], [b"b"]) == 0.0


@pytest.mark.parametrize("seed", range(20))
def test_the_first_words_are_found_however_long_they_are(seed: int) -> None:
    """Only the beginning of a long text is split, which must not cut a word in two."""
    chance = random.Random(seed)
    text = b" ".join(b"%b%d" % (b"ab" * chance.randrange(1, 30), chance.randrange(30)) for _ in range(200))

    for most in (3, 48, 96):
        assert words(text, most) == text.split()[:most]
    assert words(b"w" * 2_000 + b" Two, three") == [b"w" * 2_000, b"two", b"three"]


def _different_inputs() -> list[Any]:
    values: list[Any] = [None, True, False, 0, 1, -1, -2, 1.5, "", "1", "true", "None", [], [1], {}, {"": 1}]
    return [*values, *({"a": value} for value in values), *([value] for value in values if value != 1)]


def test_different_inputs_have_different_keys() -> None:
    """Two inputs with one key would be called the same in a warning."""
    values = _different_inputs()

    assert len({input_key(value) for value in values}) == len(values)


def test_what_differs_far_behind_still_differs() -> None:
    """Long results are compared by their beginning, and of the rest that it is equal."""
    start = b"x" * 5_000

    assert Outcome(start + b"1").key() != Outcome(start + b"2").key()
    assert Outcome(start + b"1").key() == Outcome(start + b"1").key()
    assert Outcome(b"x").key() != Outcome(b"x", failed=True).key()


def test_results_in_other_words_or_another_order_are_not_near() -> None:
    """A changed result is progress."""
    said = b"one two three four five six seven eight nine ten eleven twelve " * 3

    assert are_near(Outcome(said), Outcome(said + b"thirteen"))
    assert not are_near(Outcome(said), Outcome(b" ".join(reversed(said.split()))))
    assert not are_near(Outcome(said), Outcome(said[:60]))
