"""What two texts have in common is found the quick way, and is what the slow way finds."""

from __future__ import annotations

import random

import pytest

from agentdbg.loops.similar import Vocabulary, jaccard, words
from agentdbg.loops.values import Input, Outcome, Recall

_SHORT, _LONG = 40, 400


def _prose(chance: random.Random, number: int) -> bytes:
    return b" ".join(b"%b%d" % (b"ab" * chance.randrange(1, 9), chance.randrange(30)) for _ in range(number))


@pytest.mark.parametrize("seed", range(60))
def test_words_taken_from_an_input_that_begins_the_same_are_the_words(seed: int) -> None:
    """A file written again with one line more is the common stall, and its first words need not be split again."""
    chance = random.Random(seed)
    same = _prose(chance, chance.choice([3, 60, 95, 96, 97, 130, 300]))
    earlier, later = (Input(same + b" " + _prose(chance, chance.choice([1, 40, 200]))) for _ in range(2))
    earlier.words()

    assert later.words(earlier) == frozenset(words(later.text))


def test_long_words_leave_no_room_for_a_wrong_guess() -> None:
    """Where the beginning does not hold enough words, the whole text counts, and it may differ far behind."""
    same = b"w" * 2_000
    earlier, later = Input(same + b" one"), Input(same + b" two")
    earlier.words()

    assert later.words(earlier) == {same, b"two"}


def test_nothing_is_like_nothing() -> None:
    """Two calls without a word in their input asked the same."""
    assert jaccard(frozenset(), frozenset()) == 1.0
    assert jaccard(frozenset({b"a"}), frozenset({b"b"})) == 0.0


@pytest.mark.parametrize("size", [_SHORT, _LONG])
def test_an_equal_result_is_the_same_object_and_another_of_its_length_is_not(size: int) -> None:
    """Long results are looked up by their length, which says nothing about what is in them."""
    recall = Recall()
    first = recall.unread("x" * size)
    other = recall.unread("y" * size)

    assert isinstance(first, Outcome)
    assert other.text == b"y" * size
    assert recall.unread("y" * size) is other
    assert recall.unread("x" * size).text == first.text


@pytest.mark.parametrize("percent", [60, 80])
def test_what_is_far_from_the_words_of_all_is_near_none(percent: int) -> None:
    """One look at all words together stands for a comparison with each text, so it must never be wrong."""
    chance = random.Random(percent)
    letters = [bytes([letter]) for letter in b"abcdefghijkl"]
    far = near = 0
    for _ in range(2_000):
        texts = [frozenset(chance.sample(letters, chance.randint(0, 9))) for _ in range(chance.randint(1, 3))]
        asked = frozenset(chance.sample(letters, chance.randint(0, 9))) if chance.random() < 0.7 else texts[0] | {b"z"}
        vocabulary, exact = Vocabulary(3, percent), Vocabulary(3, percent)
        for text in texts:
            vocabulary.is_far(text)
            exact.is_far(text)
        is_near = any(100 * jaccard(text, asked) >= percent for text in texts)
        near += is_near
        exact.is_far(asked)
        assert exact.has_near(percent) == is_near
        if vocabulary.is_far(asked):
            far += 1
            assert not is_near

    assert far > 500
    assert near > 50


def test_a_vocabulary_tells_texts_apart_however_many_there_were() -> None:
    """A tool that is asked something else a million times must not be remembered a million times."""
    vocabulary = Vocabulary(2, 60)
    asked = [frozenset([b"%d" % number, b"%d" % (number + 1)]) for number in range(200)]
    for question in asked:
        vocabulary.is_far(question)

    assert vocabulary.is_far(asked[0])
    assert vocabulary.common == 0
    assert not vocabulary.is_far(asked[199])
    vocabulary.is_far(asked[150])
    assert not vocabulary.has_near(60)


def test_a_cleared_vocabulary_knows_no_word() -> None:
    """What was said before the user spoke is no echo."""
    vocabulary = Vocabulary(8, 80)
    answer = frozenset([b"one", b"two", b"three"])
    vocabulary.is_far(answer)
    assert not vocabulary.is_far(answer)
    vocabulary.clear()

    assert vocabulary.is_far(answer)
