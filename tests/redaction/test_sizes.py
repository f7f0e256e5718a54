"""How large values are cut: what stays, what marks the cut, and that the limits hold exactly."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentdbg.encoding import encode_json
from agentdbg.events import TRUNCATED
from agentdbg.redaction import RedactionRules, Redactor, plain
from agentdbg.redaction.sizes import cut_string, cut_value, fit_fields

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True, scope="module")
def _time_enough() -> Iterator[None]:
    """Sizes are the subject here; how long a busy machine takes is tested elsewhere."""
    budget, plain._TIME_BUDGET_S = plain._TIME_BUDGET_S, 30.0
    yield
    plain._TIME_BUDGET_S = budget


SMALL = Redactor(RedactionRules(max_field_bytes=200))


@pytest.mark.parametrize("letter", ["x", "ü", "日", "😀"])
def test_a_long_text_keeps_a_prefix_within_the_limit(redactor: Redactor, letter: str) -> None:
    """The limit is in bytes, and a character is never cut in half."""
    text = redactor.seal({"response": letter * 20_001}).value["response"]

    assert text.endswith(TRUNCATED)
    assert 20_000 - 4 < len(text.encode()) <= 20_000
    assert set(text.removesuffix(TRUNCATED)) == {letter}


@pytest.mark.parametrize("letter", ["x", "ü", "日", "😀"])
def test_a_long_prompt_keeps_both_ends_within_the_limit(redactor: Redactor, letter: str) -> None:
    """What was asked may stand at either end."""
    text = redactor.seal({"prompt": "a" + letter * 20_001 + "z"}).value["prompt"]

    beginning, end = text.split(TRUNCATED)
    assert 20_000 - 8 < len(text.encode()) <= 20_000
    assert set(beginning[1:]) == set(end[:-1]) == {letter}
    assert (beginning[0], end[-1]) == ("a", "z")
    assert abs(len(beginning) - len(end)) <= 8


def test_a_text_at_the_limit_is_whole(redactor: Redactor) -> None:
    """The limit itself is allowed."""
    assert redactor.seal({"prompt": "x" * 20_000}).value == {"prompt": "x" * 20_000}


def test_a_large_list_keeps_its_beginning_and_its_end_and_says_what_is_missing(redactor: Redactor) -> None:
    """A quarter of what is kept is from the beginning."""
    items = redactor.seal({"rows": [f"message {number}" for number in range(5000)]}).value["rows"]
    at = next(at for at, item in enumerate(items) if isinstance(item, dict))

    assert items[:at] == [f"message {number}" for number in range(at)]
    assert items[at + 1 :] == [f"message {number}" for number in range(5000 - len(items) + at + 1, 5000)]
    assert items[at] == {TRUNCATED: f"{5000 - len(items) + 1} items, about 51 kB"}
    assert 0.2 < at / len(items) < 0.3
    assert 19_900 < len(json.dumps(items, separators=(",", ":"))) <= 20_000


def test_a_large_dict_keeps_its_first_entries_and_says_so(redactor: Redactor) -> None:
    """The same for state."""
    state = redactor.seal({"state": {f"k{number}": "v" * 50 for number in range(5000)}}).value["state"]

    assert state["k0"] == "v" * 50
    assert list(state.items())[-1] == (TRUNCATED, TRUNCATED)
    assert 19_800 < len(json.dumps(state, separators=(",", ":"))) <= 20_000


def test_an_only_item_that_is_too_big_is_kept_in_part(redactor: Redactor) -> None:
    """A list with one huge message would otherwise be an empty list."""
    message = {"role": "user", "content": ["x" * 15_000, "y" * 15_000]}
    messages = redactor.seal({"messages": [message]}).value["messages"]

    assert len(messages) == 1
    assert messages[0]["role"] == "user"
    assert messages[0]["content"][0].startswith("xxx")
    assert messages[0]["content"][1] == "y" * 15_000


@pytest.mark.parametrize("limit", [100, 1_000, 20_000])
@pytest.mark.parametrize("size", [1, 100, 10_000])
@pytest.mark.parametrize("count", [2, 3, 30, 3_000])
def test_the_last_item_of_a_list_is_there_whatever_the_limit(limit: int, size: int, count: int) -> None:
    """At least its beginning and its end."""
    items = [f"{number}<" + "x" * size + f">{number}" for number in range(count)]
    sealed = Redactor(RedactionRules(max_field_bytes=limit)).seal({"prompt": items}).value["prompt"]

    assert len(encode_json(sealed)) <= limit
    assert sealed[-1].endswith(f">{count - 1}")
    assert limit == 100 or sealed[0].startswith("0<")


def test_what_lies_deeper_than_ten_becomes_the_marker(redactor: Redactor) -> None:
    """The payload is level zero; level ten is the last that is shown."""
    value: Any = "bottom"
    for level in range(14, 0, -1):
        value = {f"level{level}": value}
    stored: Any = redactor.seal(value).value
    for level in range(1, 11):
        stored = stored[f"level{level}"]

    assert stored == {"level11": TRUNCATED} or stored == TRUNCATED
    at_ten: Any = {"leaf": 1}
    for _ in range(9):
        at_ten = [at_ten]
    assert redactor.seal({"v": at_ten}).encoded == b'{"v":' + b"[" * 9 + b'{"leaf":"__TRUNCATED__"}' + b"]" * 9 + b"}"
    shallower = at_ten[0]
    assert redactor.seal({"v": shallower}).value == {"v": shallower}


def test_one_event_stays_below_a_megabyte_and_the_largest_give_way_first(redactor: Redactor) -> None:
    """Two hundred full fields would be four megabytes on one line."""
    fields: dict[str, Any] = {f"field{number}": "\x01" * 19_000 for number in range(200)} | {"small": "s" * 500}
    sealed = redactor.seal(fields)

    assert len(sealed.encoded) <= 990_000
    assert sealed.value["small"] == "s" * 500
    assert all(sealed.value[f"field{number}"].endswith(TRUNCATED) for number in range(200))


def test_a_payload_of_countless_small_fields_ends_in_the_marker(redactor: Redactor) -> None:
    """Nothing is larger than the rest then, so the last give way."""
    sealed = redactor.seal({f"key{number}": number for number in range(200_000)})

    assert len(sealed.encoded) <= 990_000
    assert sealed.value["key0"] == 0
    assert list(sealed.value.items())[-1] == (TRUNCATED, TRUNCATED)


def test_what_has_to_give_way_is_the_longest() -> None:
    """A short field says as much as a long one, and costs nothing to keep."""
    fitted = fit_fields({"a": "x" * 15_000, "b": "y" * 100}, 5000)

    assert len(encode_json(fitted)) <= 5000
    assert fitted["b"] == "y" * 100


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=60),
    lambda children: st.lists(children, max_size=6) | st.dictionaries(st.text(max_size=10), children, max_size=6),
    max_leaves=40,
)


@given(value=JSON, limit=st.integers(min_value=40, max_value=400))
@settings(max_examples=60, deadline=None)
def test_a_cut_value_fits_and_a_fitting_value_is_not_cut(value: Any, limit: int) -> None:
    """The two halves of what a limit means."""
    encoded = len(encode_json(value))
    cut = cut_value(value, limit)

    if isinstance(value, (str, list, dict)) and encoded > limit:
        assert TRUNCATED in json.dumps(cut)
        assert len(encode_json(cut)) <= limit
    elif encoded <= limit:
        assert cut == value


@given(text=st.text(max_size=300), limit=st.integers(min_value=13, max_value=300))
@settings(max_examples=60, deadline=None)
def test_a_cut_text_is_a_prefix_within_the_limit(text: str, limit: int) -> None:
    """Text is cut by bytes and read by people."""
    cut = cut_string(text, limit)
    ends = cut_string(text, limit, both_ends=True)

    assert len(cut.encode()) <= limit
    assert cut == text or (text.startswith(cut.removesuffix(TRUNCATED)) and len(text.encode()) > limit)
    assert len(ends.encode()) <= limit
    if ends != text:
        beginning, _, end = ends.rpartition(TRUNCATED)
        assert text.startswith(beginning)
        assert text.endswith(end)


@given(items=st.lists(JSON, min_size=2, max_size=40), limit=st.integers(min_value=120, max_value=600))
@settings(max_examples=100, deadline=None)
def test_a_cut_list_is_its_two_ends_around_one_marker_that_counts_right(items: list[Any], limit: int) -> None:
    """Nothing between the ends disappears without being counted."""
    cut = cut_value(items, limit)
    if cut == items or cut == [TRUNCATED]:
        return

    at = [at for at, item in enumerate(cut) if isinstance(item, dict) and str(item.get(TRUNCATED, "")).split()[1:2]]
    if at:
        count, noun = cut[at[0]][TRUNCATED].split(",")[0].split()
        assert len(cut) - 1 + int(count) == len(items)
        assert noun == "item" + "s" * (count != "1")
    else:
        assert len(cut) == len(items)
    for kept, item in zip(cut[-1:] if at else cut, items[-1:] if at else items, strict=True):
        assert kept == item or TRUNCATED in json.dumps(kept)


@given(fields=st.dictionaries(st.text(max_size=8), JSON, max_size=12), limit=st.integers(min_value=200, max_value=2000))
@settings(max_examples=60, deadline=None)
def test_fields_fitted_together_fit(fields: dict[str, Any], limit: int) -> None:
    """However they are shaped."""
    if len(encode_json(fields)) > limit:
        fitted = fit_fields(fields, limit)
        assert len(encode_json(fitted)) <= limit


@pytest.mark.parametrize("value", [["x" * 18] * 9, dict.fromkeys("abcdefghi", "x" * 14)], ids=["list", "dict"])
@pytest.mark.parametrize("more", range(-2, 4))
def test_the_limit_is_met_to_the_byte(value: Any, more: int) -> None:
    """Commas and colons count."""
    value = value.copy()
    value[8 if isinstance(value, list) else "i"] += "y" * (200 + more - len(encode_json(value)))
    stored = SMALL.seal({"": value, "other": "z" * 150}).value[""]

    assert len(encode_json(value)) == 200 + more
    assert (stored == value) is (more <= 0)
    assert len(encode_json(stored)) <= 200


@given(fields=st.dictionaries(st.text(max_size=8), JSON, max_size=6))
@settings(max_examples=60, deadline=None)
def test_every_field_is_within_its_limit(fields: dict[str, Any]) -> None:
    """The setting is a promise about each field of what is stored."""
    for value in SMALL.seal(fields).value.values():
        if isinstance(value, (list, dict)):
            assert len(encode_json(value)) <= 200
        elif isinstance(value, str):
            assert len(value.encode()) <= 200
