"""Ids and clocks are taken out of a result wherever they stand; what is data stays."""

from __future__ import annotations

import pytest

from agentdbg.loops.volatile import strip_volatile

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
    """What stands around it must not hide it."""
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
    assert strip_volatile(b'{"page":7}') == b'{"page":7}'
