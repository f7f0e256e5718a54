"""A person who speaks explains why a call is repeated; a tool's result in a user's clothes does not."""

from __future__ import annotations

from typing import Any

import pytest

from agentdbg.events import TRUNCATED
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


ANSWER = "I will go on with the plan as told."


@pytest.mark.parametrize(
    "prompt",
    [
        "What do you do next?",
        "What do you do next?{grown}",
        "{grown}What do you do next?",
        "What do you do next?{grown}\nAssistant:",
        "What do you do next?{nagged}",
    ],
)
def test_one_question_asked_again_is_a_loop(prompt: str) -> None:
    """What the agent said itself, and what was said before, does not make it another one."""
    run = Recorder()
    for number in range(6):
        grown, nagged = f"\nAssistant: {ANSWER}", f"\nAssistant: {ANSWER}\nUser: go on"
        run.model(ANSWER, prompt.format(grown=grown * number, nagged=nagged * number))

    assert "critical" in _severities(run)


@pytest.mark.parametrize("with_tool", [False, True])
def test_the_id_of_a_request_beside_its_messages_is_no_turn(with_tool: bool) -> None:
    """Where there are messages, they are what is said."""
    run = Recorder()
    for number in range(4):
        message = {"role": "user", "content": "where is my order"}
        run.model("Let me look.", {"messages": [message], "request_id": f"r{number}", "timestamp": number})
        if with_tool:
            run.tool("get_order", {"id": 1}, LONG)

    assert "critical" in _severities(run)


@pytest.mark.parametrize("answer", ["", "I am sorry, I do not know what you mean by that."])
def test_a_talk_in_which_nothing_new_is_said_is_a_loop(answer: str) -> None:
    """An agent that says the same to the same "continue" is stuck, however long its history has grown."""
    run = Recorder()
    messages: list[dict[str, Any]] = [{"role": "system", "content": "Help."}, {"role": "user", "content": "Book 2."}]
    for _ in range(5):
        run.model(answer, list(messages))
        messages += [{"role": "assistant", "content": answer}, {"role": "user", "content": "continue"}]

    assert "critical" in _severities(run)


def test_asking_for_the_same_calls_again_is_a_loop_where_only_the_model_is_recorded() -> None:
    """Then the tools' results stand in the prompts alone, with the ids of the single calls."""
    run = Recorder()
    messages: list[dict[str, Any]] = [{"role": "user", "content": "where is my order"}]
    for number in range(4):
        call = {"id": f"call_{number}abcdef0123", "function": {"name": "get_order", "arguments": '{"id": 1}'}}
        answer = {"role": "assistant", "content": None, "tool_calls": [call]}
        run.model(answer, list(messages))
        result = {"role": "tool", "tool_call_id": call["id"], "content": f"{LONG}, as of 10:3{number}:07"}
        messages += [answer, result]

    assert "critical" in _severities(run)


def test_other_results_are_progress_where_only_the_model_is_recorded() -> None:
    """The next page is asked for in the same words each time."""
    run = Recorder()
    messages: list[dict[str, Any]] = [{"role": "user", "content": "find the cheapest flight"}]
    for number in range(6):
        answer = {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "next_page"}}]}
        run.model(answer, list(messages))
        messages += [answer, {"role": "tool", "content": f"page {number}: {REVIEWS[number % 5]}"}]

    assert _severities(run) <= {"info"}


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
