"""What closes a talk is no answer, and what may be one is left alone."""

from __future__ import annotations

import pytest

from agentdbg.analysis.closing_words import without_closing_word
from tests.analysis.story import Story

ANSWER = "The capital of Norway is Oslo."
LABELS = [
    "YES",
    "42",
    "PARIS",
    "STOP",
    "OK",
    "A",
    "APPROVE",
    "REJECT",
    "Done.",
    "end",
    "The lamp shows STOP",
    "AAPL",
    "null",
]


@pytest.mark.parametrize(
    "closing",
    [
        "TERMINATE",
        "Terminate.",
        "**TERMINATE**",
        "`TERMINATE`",
        "###STOP###",
        "[DONE]",
        "<END>",
        "<|end|>",
        "TASK_COMPLETE",
        "TASK DONE",
        "===END===",
        "[TERMINATE]",
        "DONE",
        "exit",
        "<<END>>",
        "/quit",
        "<promise>COMPLETE</promise>",
        "CAMEL_TASK_DONE",
        "<CAMEL_TASK_DONE>",
    ],
)
def test_the_answer_of_a_talk_stands_before_the_word_that_closes_it(closing: str) -> None:
    """A team stops by a word; nobody asked for that word."""
    alone, after, last = Story(), Story(), Story()
    alone.llm("What is the capital?", ANSWER)
    alone.llm("Anything else?", closing)
    after.llm("What is the capital?", f"{ANSWER}\n\n{closing}")
    last.llm("What is the capital?", ANSWER)
    talk = [{"role": "assistant", "content": ANSWER}, {"role": "assistant", "content": closing}]
    for story, result in ((alone, None), (after, None), (last, {"messages": talk})):
        story.end(result=result)

        assert story.said() == [(None, f"Answered: {ANSWER}")]


@pytest.mark.parametrize("label", LABELS)
def test_a_word_that_may_be_the_answer_is_the_answer(label: str) -> None:
    """A model that classifies answers with one word, often in capitals."""
    story = Story()
    story.llm("And the first?", "The first one is a lorry.")
    story.llm("And this?", label)
    story.end()

    assert story.said() == [(None, f"Answered: {label}")]


def test_where_there_is_nothing_else_the_closing_word_is_said() -> None:
    """It is all that the run has to show."""
    story = Story()
    story.llm("Anything?", "TERMINATE")
    story.end()

    assert story.said() == [(None, "Answered: TERMINATE")]


def test_a_request_behind_a_closing_word_is_no_answer() -> None:
    """What a person said last is theirs."""
    story = Story()
    talk = [{"role": "assistant", "content": "Which one?"}, {"role": "user", "content": "The red one."}]
    story.llm("One?", "TERMINATE")
    story.end(result={"messages": [*talk, {"role": "assistant", "content": "TERMINATE"}]})

    assert "The red one." not in str(story.said())


@pytest.mark.parametrize("text", ["Reply with:\nTERMINATE", "The keyword is TERMINATE", "You may say 'TERMINATE' now."])
def test_a_text_that_speaks_of_the_word_keeps_it(text: str) -> None:
    """Behind a colon, and inside a sentence, it belongs to what is said."""
    assert without_closing_word(text) == text
