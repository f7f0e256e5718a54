"""What closes a talk is no answer, and what may be one is left alone."""

from __future__ import annotations

import time

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


FAREWELLS = [
    "You're welcome! If you have any more questions in the future, feel free to reach out. Safe travels!",
    "You’re very welcome, Ada. Have a lovely weekend!",
    "Glad I could help. Let me know if anything else comes up.",
    "My pleasure, Dana!",
    "No problem at all. Take care!",
    "Thank you for contacting us. Have a nice day.",
    "Happy to help! 😊",
    "Great! I'm glad everything is sorted out now. Safe travels, and I hope your cat feels better soon!",
    "Sure thing! Bye!",
]
SAYINGS = [
    "You're welcome! Your order A-17 arrives Monday.",
    "You're welcome. It was the cache.",
    "Thank you for the file. It holds twelve rows.",
    "Let me know if you want the CSV instead of the table below: a,b",
    "Enjoy your trip plan: day one Rome.",
    "No problem was found in the log.",
    "If you need a refund, fill in form B.",
    "Take care of the open bracket in line three.",
    "I'm happy to confirm that your seat was upgraded.",
    "I'm glad you asked: the answer is yes.",
    "Good luck with that cache, it never expires.",
    "Thanks to your note I found the bug in parser.py.",
    "Your welcome gift is a mug.",
    "Sure.",
    "Of course, the cheapest one is HAT132.",
]


@pytest.mark.parametrize("farewell", FAREWELLS)
def test_the_answer_stands_before_the_farewell(farewell: str) -> None:
    """Whoever looks for what the agent did for a customer does not look for its good manners."""
    story = Story()
    story.llm("What is the capital?", ANSWER)
    story.llm("Thanks!", farewell)
    story.end()

    assert story.said() == [(None, f"Answered: {ANSWER}")]


@pytest.mark.parametrize("text", SAYINGS)
def test_one_sentence_that_says_something_is_an_answer(text: str) -> None:
    """Politeness around an answer takes nothing from it."""
    assert without_closing_word(text) == text


def test_long_texts_are_looked_at_in_no_time() -> None:
    """An answer may be a book, and a list asks for hundreds of them."""
    began = time.process_time()
    for text in (
        "you're welcome " * 30,
        "if you " * 70,
        "have a " * 70,
        "# " * 250,
        "a\n" * 100_000,
        "TERMINATE " * 20_000,
    ):
        without_closing_word(text)

    assert time.process_time() - began < 1
