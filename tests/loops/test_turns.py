"""A person who speaks explains why a call is repeated; a tool's result in a user's clothes does not."""

from __future__ import annotations

import random
import re
from itertools import takewhile
from typing import Any

import pytest

from agentdbg.events import TRUNCATED
from agentdbg.loops.questions import ask_differently
from agentdbg.loops.turns import UserTurns
from benchmarks.loop_quality import judge
from benchmarks.loop_traces import Recorder

LONG = "the order is on its way and will arrive on Tuesday"


def _severities(run: Recorder) -> set[str]:
    return {finding.severity for finding in judge(run.events)}


@pytest.mark.parametrize("role", ["user", "human"])
@pytest.mark.parametrize("shape", ["growing list", "only the question", "in a dict", "parts"])
def test_repeating_a_call_because_the_user_asked_again_is_no_loop(role: str, shape: str) -> None:
    """A chat about one order looks that order up again and again."""
    run = Recorder()
    messages: list[dict[str, Any]] = []
    for question in ("where is my order", "is it there yet", "and when will it come", "what does the carrier say"):
        content: Any = [{"type": "text", "text": question}] if shape == "parts" else question
        messages.append({"role": role, "content": content})
        prompt: Any = list(messages) if shape != "only the question" else messages[-1:]
        run.model("Let me look that up for you right away.", {"messages": prompt} if shape == "in a dict" else prompt)
        run.tool("get_order", {"id": 1}, LONG)
        messages.append({"role": "assistant", "content": "It is on its way."})

    assert _severities(run) <= {"info"}


@pytest.mark.parametrize(
    "observation",
    [
        {"role": "user", "content": f"Observation: {LONG}"},
        {"role": "user", "content": f"{LONG}\n(Open file: n/a)\nbash-$"},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": LONG}]},
        {"role": "tool", "content": LONG},
    ],
)
def test_a_result_handed_back_as_a_user_message_is_no_turn(observation: dict[str, Any]) -> None:
    """Agents without tool roles put the result into a user message; their loops must be found too."""
    run = Recorder()
    messages: list[dict[str, Any]] = [{"role": "user", "content": "where is my order"}]
    for number in range(4):
        run.model(f"thought {number}", list(messages))
        run.tool("get_order", {"id": 1}, LONG)
        messages += [{"role": "assistant", "content": f"thought {number}"}, observation]

    assert "critical" in _severities(run)


def test_a_counter_in_the_instruction_is_no_turn() -> None:
    """ "Step 4 of 10" is the harness counting."""
    run = Recorder()
    for number in range(4):
        run.model(f"thought {number}", [{"role": "user", "content": f"Step {number} of 10: what do you do next?"}])
        run.tool("get_order", {"id": 1}, LONG)

    assert "critical" in _severities(run)


REVIEWS = (
    "the delivery was late and the box damaged",
    "great phone, my mother loves it",
    "cannot log in since the update",
    "where is my refund for order nine",
    "dog",
)


@pytest.mark.parametrize("shape", ["text", "texts", "fields", "responses"])
@pytest.mark.parametrize("answer", ["positive", '{"label": "spam"}', "The customer is content with what was bought."])
def test_the_same_answer_to_other_questions_is_no_loop(shape: str, answer: str) -> None:
    """Sorting a hundred reviews makes a hundred calls with few answers, and must not be stopped after three."""
    run = Recorder()
    for review in REVIEWS:
        question: Any = f"Classify what this customer says: {review}. One word."
        if shape == "texts":
            question = [question]
        elif shape == "fields":
            question = {"text": review, "style": "one word"}
        elif shape == "responses":
            question = {"model": "gpt", "instructions": "Classify it.", "input": review}
        run.model(answer, question)

    assert _severities(run) <= {"info"}


@pytest.mark.parametrize(
    "prompt",
    [
        "What do you do next?",
        "Step {number} of 10: what do you do next?",
        "Request 3f{number}b8c1e-9d4a at 12:0{number}: what do you do next?",
        "What do you do next?{grown}",
        "Improve it: we will meet at the{number} old harbour and then walk over to the{number} new town hall",
    ],
)
def test_one_question_asked_again_is_a_loop(prompt: str) -> None:
    """Numbers, ids, clocks and what the agent said itself do not make it another one."""
    run = Recorder()
    for number in range(5):
        text = prompt.format(number=number, grown=" I will go on with the plan as told." * number)
        run.model("I will go on with the plan as told.", text)

    assert "critical" in _severities(run)


def test_a_result_inside_a_text_prompt_is_no_turn() -> None:
    """Agents that write their prompt as one text put the tool's result at its end."""
    run = Recorder()
    for review in REVIEWS:
        run.model("I will look again.", f"Answer the question. Observation: {review}")
        run.tool("get_order", {"id": 1}, LONG)

    assert "critical" in _severities(run)


def test_what_failed_before_the_user_spoke_still_fails() -> None:
    """The user says "please do it" again and the agent makes the same wrong call again: worth a warning, no stop."""
    run = Recorder()
    messages: list[dict[str, Any]] = []
    for question in ("book it please", "could you try once more", "I think you are confused"):
        messages.append({"role": "user", "content": question})
        run.model("I will make the change now.", list(messages))
        run.tool("book", {"flight": "X1", "seat": 4}, "Error: flight X1 is not available on that day")
        messages.append({"role": "assistant", "content": "It did not work."})

    findings = [finding for finding in judge(run.events) if finding.severity != "info"]

    assert [(finding.kind, finding.pattern) for finding in findings] == [("stall", "TOOL_CALL:book")]


def test_a_prompt_whose_end_was_cut_off_is_not_held_against_the_agent() -> None:
    """Long prompts are stored without their end, where the user's new message would be."""
    run = Recorder()
    for number in range(4):
        prompt = [{"role": "user", "content": "where is my order"}, TRUNCATED]
        run.model({"content": None, "tool_calls": [{"function": {"name": "get_order", "arguments": "{}"}}]}, prompt)
        run.tool("get_order", {"id": 1}, LONG)
        run.model(f"Here is what I found in the books, dear customer number {number}.", prompt)
        run.tool(f"log_{number}", {}, f"{LONG} {number}")
        run.model(f"{number} goodbye then and thank you for calling us", prompt)

    assert _severities(run) <= {"info"}


def _ask_differently_plainly(before: str, prompt: str) -> bool:
    """The same question, answered without haste."""
    start = _common(before, prompt)
    end = _common(before[start:][::-1], prompt[start:][::-1])
    begun = re.search(r"\S{0,40}\Z", before[:start])
    ended = re.match(r"\S{0,40}", prompt[len(prompt) - end :]) if end else None
    start -= len(begun[0]) if begun else 0
    end -= len(ended[0]) if ended else 0
    word = re.compile(r"(?<![\w-])[^\W\d_]{2,}(?![\w-])")
    old = set(word.findall(before, start, len(before) - end))
    new = set(word.findall(prompt, start, len(prompt) - end))
    return bool(before) and not prompt.startswith(before) and bool(new - old) and 2 * len(old & new) < len(old | new)


def _common(one: str, other: str) -> int:
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))))


def _random_prompt(chance: random.Random) -> str:
    pieces = ["sum up", "the river", "x1", "step-4", "naïve", "7", "a", "\n", "  ", "_", "w" * 60, "letter to France "]
    return " ".join(chance.choices(pieces, k=chance.randint(0, 30)))


@pytest.mark.parametrize("seed", range(100))
def test_another_question_is_known_the_quick_way_as_the_plain_way_knows_it(seed: int) -> None:
    """What is compared character by character, and what in halves, must not show."""
    chance = random.Random(seed)
    for _ in range(20):
        before, prompt = _random_prompt(chance), _random_prompt(chance)
        if chance.random() < 0.7:
            cut = chance.randrange(len(before) + 1)
            prompt = before[:cut] + chance.choice(["", " and", "7", prompt]) + before[cut + chance.randrange(9) :]

        assert ask_differently(before, prompt) == _ask_differently_plainly(before, prompt)


@pytest.mark.parametrize("seed", range(40))
def test_when_a_person_spoke_may_be_asked_late(seed: int) -> None:
    """Whether a prompt asks for something else is left open until something repeats, and the answer is the same."""
    chance = random.Random(seed)
    prompts = [_random_prompt(chance) if chance.random() < 0.3 else f"step {n} of the river" for n in range(60)]
    turns = UserTurns()
    first, before = 1, ""
    for number, prompt in enumerate(prompts, 1):
        if turns.note(turns.hear(prompt, None), number):
            turns.close(chance.choice([0, first - 1]))
        if ask_differently(before, prompt):
            first = number
        before = prompt
        if chance.random() < 0.1:
            assert turns.first == first

    assert (turns.first, turns.spoken) == (first, first)


def test_prompts_are_compared_only_when_something_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch over long documents would pay more for comparing them than for recording them."""
    compared = []

    def watched(before: str, prompt: str) -> bool:
        compared.append(prompt)
        return ask_differently(before, prompt)

    monkeypatch.setattr("agentdbg.loops.turns.ask_differently", watched)
    run, chance = Recorder(), random.Random(3)
    for _ in range(100):
        text = " ".join("".join(chance.choices("abcdefgh", k=6)) for _ in range(40))
        run.model(f"It is about {text[:80]}", f"Sum up this document: {text}")

    assert _severities(run) == {"info"}
    assert len(compared) <= 2  # when the names were told to repeat
