"""What was not stored is said in words by every reader, and is never a message, an argument or a difference."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.analysis.conversation import turns
from agentdbg.analysis.diff import compare
from agentdbg.analysis.diff.changes import value_changes
from agentdbg.analysis.findings import find
from agentdbg.analysis.findings.argument_fit import declared_tools, misfit
from agentdbg.analysis.value_text import plain_text, value
from agentdbg.analysis.wording import as_json
from agentdbg.encoding import encode_json
from agentdbg.events.markers import (
    has_gap,
    in_words,
    is_gap,
    media_in_words,
    missing_count,
    not_recorded,
    text_in_words,
)
from agentdbg.interop.exports.markdown import event_section
from agentdbg.interop.otel.messages import input_messages
from agentdbg.redaction import RedactionRules, Redactor
from tests.analysis.diff.events import llm, run, tool
from tests.analysis.story import Story

if TYPE_CHECKING:
    from agentdbg.events import Event

GAP = {"__TRUNCATED__": "31 messages, 84 kB"}
CUT = {"path": "a.py", "__TRUNCATED__": "__TRUNCATED__"}
USER = {"role": "user", "content": "Which flights are there?"}


def _sentence(story: Story, number: int) -> str:
    preview = story.row(number)["preview"]
    return f"{plain_text(preview['input'])} → {plain_text(preview['outcome'])}"


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (GAP, "31 messages, 84 kB, were not recorded"),
        ({"__TRUNCATED__": "1 item"}, "1 item, was not recorded"),
        ({"__TRUNCATED__": "1960 items, about 80 kB"}, "1960 items, about 80 kB, were not recorded"),
        ("__TRUNCATED__", "more was not recorded"),
    ],
)
def test_a_gap_is_a_sentence(item: Any, said: str) -> None:
    """The old form of the marker is understood too."""
    assert is_gap(item)
    assert not_recorded(item) == said


@pytest.mark.parametrize(
    ("text", "said", "said_with_a_tape"),
    [
        ("__TRUNCATED__", "[not recorded]", "[not in the log; the tape has it]"),
        ("a__TRUNCATED__", "a… [the rest was not recorded]", "a… [the rest is not in the log; the tape has it]"),
        (
            "a__TRUNCATED__z",
            "a… [the middle was not recorded] …z",
            "a… [the middle is not in the log; the tape has it] …z",
        ),
    ],
)
def test_a_cut_text_says_where_the_rest_is(text: str, said: str, said_with_a_tape: str) -> None:
    """Whoever misses it has to know whether it can be had."""
    assert text_in_words(text) == said
    assert text_in_words(text, on_tape=True) == said_with_a_tape


@pytest.mark.parametrize("item", [None, 1, "x__TRUNCATED__", {}, CUT, [GAP], {"__TRUNCATED__": 1}, {"a": GAP}])
def test_nothing_else_is_a_gap(item: Any) -> None:
    """A dict that was cut short is a dict."""
    assert not is_gap(item)
    assert not has_gap([item])


def test_what_the_redactor_writes_is_what_readers_know() -> None:
    """The two sides share nothing but the files."""
    items = Redactor(RedactionRules()).seal({"result": list(range(20_000))}).value["result"]
    (gap,) = filter(is_gap, items)

    assert missing_count(gap) == 20_000 - len(items) + 1
    assert items[items.index(gap) + 1] == items[items.index(gap) - 1] + 1 + (missing_count(gap) or 0)


def test_marks_in_texts_and_containers_are_said_in_words() -> None:
    """People who read an event should not have to know our markers."""
    image = f"__MEDIA__ image/png, 30123 bytes, sha256 {'ab' * 32}"

    assert text_in_words("head__TRUNCATED__") == "head… [the rest was not recorded]"
    assert text_in_words("head__TRUNCATED__tail") == "head… [the middle was not recorded] …tail"
    assert text_in_words(f"look: {image}") == "look: [image/png, 30 kB]"
    assert in_words({"rows": [1, GAP, 9], **CUT}) == {
        "rows": [1, "… 31 messages, 84 kB, were not recorded …", 9],
        "path": "a.py",
        "…": "more was not recorded",
    }


def test_an_image_in_a_result_is_said_in_words_not_in_letters() -> None:
    """The row of a screenshot that shows forty letters of base64 shows nothing."""
    png = "iVBORw0KGgo" + "A" * 400

    assert plain_text(value({"data": png})) == '{data: "[image/png, 308 bytes]"}'
    assert plain_text(value(f"data:image/jpeg;base64,/9j/{'A' * 400}")) == '"[image/jpeg, 303 bytes]"'
    assert media_in_words("/9j/ is how a JPEG begins") == "/9j/ is how a JPEG begins"


def test_missing_messages_are_a_turn_of_nobody() -> None:
    """They say nothing and call nothing."""
    before, missing, last = turns([{"role": "system", "content": "S"}, GAP, USER])

    assert (before.role, last.role) == ("system", "user")
    assert (missing.role, missing.text, missing.calls) == ("", "", [])
    assert missing.missing == "31 messages, 84 kB, were not recorded"


def test_rows_say_what_is_missing_in_a_few_words() -> None:
    """A row has the first of many alike, and how many there were."""
    story = Story()
    rows = [{"n": 1}, {"__TRUNCATED__": "1960 items, about 80 kB"}, {"n": 1962}]
    listed = story.tool("list", CUT, rows)
    numbers = story.tool("count", {"text": "head__TRUNCATED__tail"}, [1, {"__TRUNCATED__": "7 items"}, 9])
    asked = story.llm([{"role": "system", "content": "S"}, GAP, USER], "None.")

    assert _sentence(story, listed) == 'path: "a.py", cut → 1,962 × {n: 1}'
    assert _sentence(story, numbers) == 'text: "head cut tail" → [1, 7 items not recorded, 9]'
    assert _sentence(story, asked) == "user Which flights are there? → None."


def test_a_cut_state_has_lost_nothing_by_that() -> None:
    """An entry that was not stored was not removed."""
    story = Story()
    story.write("STATE_UPDATE", "state", {"state": {"a": 1, "b": 2}, "diff": None})
    cut = story.write("STATE_UPDATE", "state", {"state": {"a": 1, "__TRUNCATED__": "__TRUNCATED__"}, "diff": None})
    whole = story.write("STATE_UPDATE", "state", {"state": {"a": 2, "b": 3}, "diff": None})

    assert plain_text(story.row(cut)["preview"]["outcome"]) == "unchanged"
    assert plain_text(story.row(whole)["preview"]["outcome"]) == "a 1 → 2"


def test_exports_say_how_much_is_missing_and_send_no_such_message() -> None:
    """A collector would show the marker as something the user said."""
    story = Story()
    number = story.llm([{"role": "system", "content": "Be kind."}, GAP, USER], "None.")
    section = event_section(number, story.events[-1], 1, 4_000)

    assert "Of the prompt, 31 messages, 84 kB, were not recorded." in section
    assert [message["role"] for message in input_messages([GAP, USER])[1]] == ["user"]


def test_a_cut_table_differs_in_nothing_that_was_not_stored() -> None:
    """The marker is no argument, and what lies behind it may be the same."""
    whole = {"path": "a.py", "mode": "w"}

    assert value_changes(CUT, whole, "args") == []
    assert value_changes(whole, CUT, "args") == []
    assert [change.path for change in value_changes(CUT, {"path": "b.py"}, "args")] == ["args.path"]


def test_cut_lists_are_compared_by_their_ends_and_their_length() -> None:
    """A row more shifts everything behind the gap."""
    was = [1, 2, {"__TRUNCATED__": "10 items, 90 bytes"}, 13, 14]

    assert value_changes(was, [1, 2, 3, {"__TRUNCATED__": "10 items, 90 bytes"}, 14], "r") == []
    longer = value_changes(was, [1, 2, {"__TRUNCATED__": "11 items, 99 bytes"}, 14, 15], "r")
    assert [(change.path, change.was, change.now) for change in longer] == [
        ("r.length", 14, 15),
        ("r[-1]", 14, 15),
        ("r[-2]", 13, 14),
    ]
    assert value_changes(was, list(range(1, 15)), "r") == []


def _agent(talk: list[str], limit: int = 20_000) -> list[Event]:
    """A run in which the history grows past what is stored."""
    redactor = Redactor(RedactionRules(max_field_bytes=limit))
    history: list[dict[str, Any]] = [{"role": "system", "content": "You are kind. " * 300}]
    steps = []
    for at, words in enumerate(talk):
        history.append({"role": "user", "content": f"{words} " + f"detail {at}, " * 150})
        answer = {"role": "assistant", "content": f"Answer {at}: " + f"reason {at}. " * 100}
        stored = redactor.seal({"prompt": history, "response": answer}).value
        steps.append(llm(json.loads(encode_json(stored["prompt"])), stored["response"]))
        history.append(answer)
    return run(*steps)


def test_two_runs_alike_do_not_differ_where_their_histories_were_cut() -> None:
    """The same words are stored in larger and smaller parts, depending on what stands around them."""
    talk = [f"Question number {at}?" for at in range(25)]
    same = compare(_agent(talk), _agent(talk))
    other = compare(_agent(talk), _agent(["Please begin. " * 60, *talk[1:]]))

    assert same.first_divergence is None
    assert all(not row.changes for row in same.rows)
    changed = [at for at, row in enumerate(other.rows) if row.changes]
    assert len(changed) == 1


def test_a_prompt_that_was_cut_more_did_not_drop_anything() -> None:
    """What is missing in the log was there in the prompt."""
    story = Story()
    for event in _agent([f"Question {at}?" for at in range(25)]):
        if event["event_type"] == "LLM_CALL":
            story.llm(event["payload"]["prompt"], event["payload"]["response"])

    assert "context_dropped" not in [finding.kind for finding in find(story.events, story.meta("ok"))]


def test_cut_tools_and_arguments_prove_nothing() -> None:
    """A tool behind the gap may be the one that was called, and a cut argument may be right."""
    tools, is_whole = declared_tools([{"name": "a", "parameters": {}}, {"__TRUNCATED__": "9 items, 3 kB"}])
    schema = {"properties": {"path": {"type": "string", "enum": ["x", {"__TRUNCATED__": "9 items"}, "z"]}}}

    assert (list(tools), is_whole) == (["a"], False)
    assert misfit(CUT, {"properties": {"path": {"type": "string"}}, "required": ["mode"]}) is None
    assert misfit({"path": "y"}, schema) is None


def test_a_run_of_cut_arguments_compares_without_an_argument_of_that_name() -> None:
    """The same for the arguments of a tool in a diff."""
    diff = compare(run(tool("write", CUT, "ok")), run(tool("write", {"path": "a.py", "mode": "w"}, "ok")))

    assert "__TRUNCATED__" not in as_json([change.path for row in diff.rows for change in row.changes])
