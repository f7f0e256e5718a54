"""Comparing takes short ways for what is nearly always so; each gives what the long way gives."""

from __future__ import annotations

import json
import re
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentdbg.analysis.conversation import answer, last_text, turns
from agentdbg.analysis.diff.align import _best_sums
from agentdbg.analysis.diff.likeness import _words, likeness, likeness_table
from agentdbg.analysis.diff.model_context import PromptReader
from agentdbg.analysis.diff.read_side import read_side
from agentdbg.analysis.diff.sequences import _AROUND, _FACT, _facts, is_prose
from agentdbg.analysis.value_text import parse_embedded
from agentdbg.analysis.wording import as_json
from tests.analysis.diff.test_laws import runs

if TYPE_CHECKING:
    from agentdbg.events import Event

pytestmark = pytest.mark.slow

_TEXTS = st.text(alphabet="ab Zé9,.'\"\\\n\t-\x1c\xa0", max_size=30)
_LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | _TEXTS | st.just("long " * 200)
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=8,
)
_CALLS = st.lists(
    st.fixed_dictionaries({"function": st.fixed_dictionaries({"name": _TEXTS, "arguments": _TEXTS | _VALUES})}),
    max_size=2,
)


@settings(max_examples=300, deadline=None)
@given(_VALUES)
def test_the_words_of_a_table_are_those_of_its_json(value: Any) -> None:
    """A quicker encoder may put spaces and keys in another order, but no other words."""
    text = value if isinstance(value, str) else as_json(value)

    assert {word.decode() for word in _words(value)} == set(re.findall(r"\w+", text[:1500].lower()))


@settings(max_examples=100, deadline=None)
@given(runs(), runs())
def test_a_table_of_likenesses_holds_that_of_every_two_steps(a: list[Event], b: list[Event]) -> None:
    """Steps that are passed over because they are not akin have a likeness of 0, and no others are passed over."""
    left, right = read_side(a).order, read_side(b).order

    assert likeness_table(left, right) == [
        {place: alike for place, other in enumerate(right) if (alike := likeness(step, other))} for step in left
    ]


@settings(max_examples=200, deadline=None)
@given(
    st.integers(1, 6).flatmap(
        lambda width: st.lists(st.lists(st.sampled_from([0.0, 0.3, 0.35, 0.9]), min_size=width, max_size=width))
    )
)
def test_sums_are_the_best_of_every_corner(table: list[list[float]]) -> None:
    """Held against going through the table cell by cell."""
    width = len(table[0]) if table else 0
    best = [[0.0] * (width + 1)]
    for likes in table:
        row = [0.0]
        for column, like in enumerate(likes):
            row.append(max(row[-1], best[-1][column + 1], best[-1][column] + like if like else 0.0))
        best.append(row)

    sparse = [{column: like for column, like in enumerate(likes) if like} for likes in table]

    assert _best_sums(sparse, width) == best


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="ab Zé019٣,.'()$-\n\x1c\xa0", max_size=60))
def test_facts_are_found_in_every_word_with_a_digit(text: str) -> None:
    """Looking around the digits alone misses none, wherever the words end."""
    found = {
        word.partition("'")[0].strip(_AROUND).replace(",", "").lstrip("0") for word in text.split() if _FACT.match(word)
    }

    assert set(_facts(text)) == found


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="abZé9_ ,.\n", max_size=80))
def test_prose_has_three_words(text: str) -> None:
    """However few signs it took to see that."""
    assert is_prose(text) == (len(re.findall(r"[^\W\d_]{2,}", text)) >= 3 and " " in text)


@settings(max_examples=200, deadline=None)
@given(st.none() | _TEXTS, st.none() | _CALLS)
def test_a_plain_answer_reads_as_one_with_more_in_it(content: str | None, calls: list[Any] | None) -> None:
    """A field that says nothing sends it the long way."""
    message = {"role": "assistant", "content": content} | ({} if calls is None else {"tool_calls": calls})

    assert answer(message) == answer({**message, "refusal": None})


@settings(max_examples=200, deadline=None)
@given(st.lists(st.fixed_dictionaries({"role": st.just("user"), "content": _TEXTS | _VALUES}) | _TEXTS, max_size=3))
def test_the_last_text_is_that_of_the_last_turn(messages: list[Any]) -> None:
    """Whatever stands before it."""
    assert last_text(messages) == " ".join(turn.text for turn in turns(messages, last=1))


@settings(max_examples=300, deadline=None)
@given(_VALUES, st.integers(0, 40), st.sampled_from(["", ",", "NaN", "\\ud800", "01", "\x00", " "]))
def test_a_text_is_opened_as_the_standard_library_would(value: Any, place: int, put_in: str) -> None:
    """Another decoder may be quicker; what is JSON and what is not does not depend on it."""
    text = json.dumps(value)
    text = text[:place] + put_in + text[place:]
    try:
        opened = json.loads(text) if text.strip()[:1] in ("{", "[") and text.strip()[-1:] in ("}", "]") else text
    except ValueError:
        opened = text

    assert repr(parse_embedded(text)) == repr(opened)


@settings(max_examples=100, deadline=None)
@given(runs(), runs())
def test_steps_of_equal_content_have_the_same_key_and_no_others(a: list[Event], b: list[Event]) -> None:
    """The key of a model call is put together from those of its parts."""
    for step, other in product(read_side(a).order, read_side(b).order):
        assert (step.key == other.key) == (step.digest == other.digest)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(st.sampled_from("pqrs").map(lambda text: {"role": "user", "content": text}), max_size=6)))
def test_a_history_is_the_same_whatever_was_said_before(prompts: list[list[Any]]) -> None:
    """What is known of earlier messages is taken over, also where some of them were dropped."""
    reader = PromptReader()
    for prompt in prompts:
        _, _, _, history, *_ = reader.read(prompt, "yes", tools_are_events=True)
        _, _, _, alone, *_ = PromptReader().read(prompt, "yes", tools_are_events=True)

        assert history == alone


_MESSAGES = st.sampled_from(
    [
        {"role": "system", "content": "Help."},
        {"role": "developer", "content": "Be short.", "name": "boss"},
        {"role": "user", "content": "Book it."},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "4"}]},
        {"role": "assistant", "content": "Sure.", "id": "m1"},
        {"role": "tool", "tool_call_id": "c1", "content": "4"},
        "__TRUNCATED__",
        7,
    ]
)


@st.composite
def _talks(draw: st.DrawFn) -> list[Any]:
    """Prompts as they follow each other: most go on with one before, some drop or change a message, or begin anew."""
    prompts: list[list[Any]] = []
    for _ in range(draw(st.integers(1, 8))):
        goes_on = bool(prompts) and draw(st.integers(0, 4)) > 0
        before = list(draw(st.sampled_from(prompts[-3:]))) if goes_on else []
        if before and not draw(st.integers(0, 3)):
            before[draw(st.integers(0, len(before) - 1))] = draw(_MESSAGES)
        if before and not draw(st.integers(0, 3)):
            del before[: draw(st.integers(1, len(before)))]
        prompts.append(before + draw(st.lists(_MESSAGES, max_size=3)))
    shapes = st.sampled_from(["list", "list", "list", "system", "input"])
    return [_as_prompt(draw(shapes), messages) for messages in prompts]


def _as_prompt(shape: str, messages: list[Any]) -> Any:
    if shape == "list":
        return messages
    return {"messages": messages, "system": "Be kind."} if shape == "system" else {"input": messages, "seed": 1}


@settings(max_examples=400, deadline=None)
@given(_talks(), st.lists(_MESSAGES, min_size=8, max_size=8), st.booleans())
def test_a_prompt_that_goes_on_is_read_as_any_other(prompts: list[Any], answers: list[Any], tools: bool) -> None:
    """Where a prompt only adds to the one before, nobody looks for the conversation it belongs to."""
    short, long = PromptReader(), PromptReader()
    kept = json.dumps(prompts)
    for prompt, response in zip(prompts, answers, strict=False):
        long._said = []  # as if nothing had been said before

        assert short.read(prompt, response, tools) == long.read(prompt, response, tools)
    assert json.dumps(prompts) == kept
