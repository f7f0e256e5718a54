"""Ids and clocks are taken out of a result wherever they stand; what is data stays."""

from __future__ import annotations

import random

import pytest

from agentdbg.loops.volatile import is_lasting, lasting_beginning, strip_volatile

_PAIRS = {
    "a uuid": (b"909ff497-6a8a-43ef-2880-4790be6c6fe9", b"0c58f1d2-0f0f-4a4a-9b9b-121212121212"),
    "an upper-case uuid": (b"909FF497-6A8A-43EF-2880-4790BE6C6FE9", b"0C58F1D2-0F0F-4A4A-9B9B-121212121212"),
    "sixteen hex digits": (b"4027054627e125a4", b"5351d2c1e8fb46b5"),
    "a call id": (b"call_AbCdEfGhIjK7", b"call_ZyXwVuTsRqP1"),
    "a hyphenated request id": (b"req-zyxwvutsrqpo1", b"req-hgjklmnopqrs2"),
    "a time of day": (b"10:00:01", b"23:59:59"),
    "a date with its time": (b"2025-01-04T10:00:01.760Z", b"2026-12-31T00:00:00.001Z"),
    "seconds since 1970": (b"1700000000", b"1712345678"),
    "milliseconds since 1970": (b"1700000000123", b"1712345678901"),
    "a memory address": (b"<thing at 0x7f00aa11bb>", b"<thing at 0x55c1d2e3f4>"),
    "a timing": (b"12.5 ms", b"318.25 ms"),
}


@pytest.mark.parametrize("shape", _PAIRS)
def test_what_belongs_to_the_single_call_is_taken_out_at_any_place(shape: str) -> None:
    """Only a sample of the text is looked at first, so no place in it may be one that the sample steps over."""
    one, other = _PAIRS[shape]
    for before in range(13):
        for after in (b"", b" and some words after it", b", " + b"far away " * 40):
            start = b"words ahead " + b"z" * before + b" "
            assert (
                strip_volatile(start + one + after)
                == strip_volatile(start + other + after)
                == start + (strip_volatile(one) + after)
            )


@pytest.mark.parametrize("shape", _PAIRS)
def test_every_one_of_several_is_taken_out(shape: str) -> None:
    """A job tells when it began and when it ended; if one of the two stays, the same answer looks like progress."""
    one, other = _PAIRS[shape]
    assert strip_volatile(b"from " + one + b" to " + other) == b"from %b to %b" % ((strip_volatile(one),) * 2)


@pytest.mark.parametrize(
    "text",
    [
        b"page 12 of 340, 5 results, price 199.50",
        b"order 4875402673 for 10:30",
        b"a_rather_long_name_without_figures and-another-one-with-hyphens",
        b"SKU-8841-AB12 and run_the_tests_again",
        b"123456789012345 and 9876543210",
    ],
)
def test_data_stays(text: bytes) -> None:
    """Taking out a page number or an order would make two different answers look the same: a false alarm."""
    assert strip_volatile(text) == text


def test_a_page_of_ids_is_data() -> None:
    """A list of a hundred records differs from the next page in nothing but its ids."""
    page = b" ".join(b"%016x" % (number + 0xABCDEF0000) for number in range(5))
    assert strip_volatile(page) == page


def test_fields_of_the_single_call_are_left_out_of_an_object() -> None:
    """A request id is often a field of the answer, of whatever shape."""
    assert strip_volatile(b'{"request_id":"7","text":"x"}') == b'{"text":"x"}'
    assert strip_volatile(b'{"page":7}', has_keys=False) == b'{"page":7}'


def test_a_beginning_in_which_nothing_is_volatile_is_told_from_one_that_may_be() -> None:
    """Answers that begin otherwise are known to differ, and need not be searched for ids and clocks."""
    assert lasting_beginning(b"It is done, at last: all 7 files") == b"It is done,"
    assert lasting_beginning(b"done at 10:00:01, all of it") == b""
    assert lasting_beginning(b"thing at 0xaa11bb is lost") == b""
    assert lasting_beginning(b"4027054627e125a4 is the id") == b""
    assert lasting_beginning(b"12.5 ms passed") == b""
    assert lasting_beginning(b"too few") == b""


@pytest.mark.parametrize("seed", range(200))
def test_texts_that_differ_in_ids_and_clocks_alone_have_the_same_lasting_beginning(seed: int) -> None:
    """Else a loop would be hidden by an id near the beginning of an answer."""
    chance = random.Random(seed)
    pieces = [b"Sure", b"the", b"order", b"4027", b", ", b" ", b"! ", b"\n", b"(", b"x", b"at ", b"<>", b"call_"]
    same = [(piece, piece) for piece in pieces]
    text = chance.choices([*same, *_PAIRS.values()], k=chance.randrange(1, 9))
    one, other = (b" ".join(piece[side] for piece in text) for side in (0, 1))

    assert strip_volatile(one).startswith(lasting_beginning(one))
    if strip_volatile(one) == strip_volatile(other):
        assert lasting_beginning(one) == lasting_beginning(other)


def test_a_lasting_text_equals_no_other_whatever_is_taken_out() -> None:
    """A short answer is known to be new without looking for ids and clocks only if none could make it equal."""
    chance = random.Random(5)
    pieces = [
        b"yes",
        b"42",
        b"done",
        b"12:00:01",
        b"1700000000",
        b"call_a1b2c3d4e5f6",
        b"0.3s",
        b"<>",
        b"{",
        b"deadbeef" * 2,
    ]
    texts = {b" ".join(chance.choices(pieces, k=chance.randint(1, 3))) for _ in range(600)}
    stripped = {text: strip_volatile(text) for text in texts}
    lasting = [text for text in texts if is_lasting(text)]
    for text in lasting:
        assert [other for other in texts if stripped[other] == stripped[text]] == [text]

    assert len(lasting) > 10
    assert not is_lasting(b"at 12:00:01")
