"""A batch asks the same of one item after the other; that many items get one answer does not make it a loop."""

from __future__ import annotations

import random
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.loop_quality import judge
from benchmarks.loop_traces import WORDS, Recorder

if TYPE_CHECKING:
    from collections.abc import Callable

_CHANCE = random.Random(4711)
_LONG_TEXT = " ".join(_CHANCE.choices(WORDS, k=600))
RULES = "Pay within thirty days, keep the receipt, and ask the office when in doubt."

ITEMS: dict[str, Callable[[int], str]] = {
    "invoice": lambda n: f"Is invoice {4711 + n} paid?",
    "ticket": lambda n: f"Classify ticket {1037 + n}: is it spam? Answer yes or no.",
    "longer and longer numbers": lambda n: f"Check ticket 1{'0' * n}",
    "date": lambda n: f"Write the report for 2025-03-{n + 1:02}.",
    "time": lambda n: f"Was the door open at 12:0{n}:00?",
    "uuid": lambda n: f"Look up {uuid.UUID(int=(n + 1) << 64)}.",
    "call id": lambda n: f"Was call_{n:024x} answered?",
    "commit": lambda n: f"Is {n:040x} a good commit?",
    "counted": lambda n: f"Grade question {n + 1} of 10: the answer is 42.",
    "one word": lambda n: f"Translate this sentence: the {WORDS[n]} is on the table",
    "two words far apart": lambda n: f"{WORDS[n]}: {_LONG_TEXT} {WORDS[-n - 1]} Sum it up.",
    "middle of a long text": lambda n: f"Total? {_LONG_TEXT[:3000]} {n}.50 EUR {_LONG_TEXT[3000:]}",
    "case": lambda n: f"Is {'Ab' * n + 'aB' * (9 - n)} a palindrome?",
}

SHAPES: dict[str, Callable[[str], Any]] = {
    "text": lambda text: text,
    "texts": lambda text: ["You are a clerk.", text],
    "message": lambda text: [{"role": "user", "content": text}],
    "system and user": lambda text: [
        {"role": "system", "content": "You are a clerk."},
        {"role": "user", "content": text},
    ],
    "in the system message": lambda text: [
        {"role": "system", "content": f"You are a clerk. {text}"},
        {"role": "user", "content": "Go."},
    ],
    "content blocks": lambda text: [{"role": "user", "content": [{"type": "text", "text": text}]}],
    "an instruction and a document": lambda text: [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Answer what the document asks."},
                {"type": "document", "source": {"type": "text", "data": text}},
            ],
        }
    ],
    "an image of a known hash": lambda text: [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is the total?"},
                {"type": "image", "size": 40_000, "sha256": f"{hash(text):x}"},
            ],
        }
    ],
    "in an earlier message": lambda text: [
        {"role": "user", "content": text},
        {"role": "user", "content": "Answer in one word."},
    ],
    "before a word of the model": lambda text: [
        {"role": "user", "content": text},
        {"role": "assistant", "content": "I have read it."},
        {"role": "user", "content": "Now answer in one word."},
    ],
    "with the answer begun": lambda text: [
        {"role": "user", "content": text},
        {"role": "assistant", "content": "{"},
    ],
    "after examples": lambda text: [
        {"role": "user", "content": "Is invoice 1 paid?"},
        {"role": "assistant", "content": "no"},
        {"role": "user", "content": text},
    ],
    "messages in a dict": lambda text: {"system": "You are a clerk.", "messages": [{"role": "user", "content": text}]},
    "system beside messages": lambda text: {"system": text, "messages": [{"role": "user", "content": "Go."}]},
    "responses, a text": lambda text: {"model": "gpt", "instructions": "You are a clerk.", "input": text},
    "responses, items": lambda text: {"input": [{"role": "user", "content": [{"type": "input_text", "text": text}]}]},
    "contents and parts": lambda text: {"contents": [{"role": "user", "parts": [{"text": text}]}]},
    "pairs": lambda text: [["system", "You are a clerk."], ["human", text]],
    "typed": lambda text: [{"type": "system", "content": "You are a clerk."}, {"type": "human", "content": text}],
    "written by LangChain": lambda text: [
        [{"lc": 1, "type": "constructor", "id": ["langchain", "HumanMessage"], "kwargs": {"content": text}}]
    ],
    "fields": lambda text: {"task": "answer it", "item": text},
    "fields inside fields": lambda text: {"task": "answer it", "item": {"question": text}},
    "a list of objects": lambda text: [{"task": "answer it", "item": text}],
    "only a number": lambda text: {"task": "is it paid?", "number": hash(text)},
    "request id": lambda text: {"task": "is it done?", "request_id": text},
}

ANSWERS: list[Any] = [
    "yes",
    "",
    "The document says that it was paid in full and on time.",
    {"role": "assistant", "content": "no"},
    {"choices": [{"message": {"content": '{"label": "spam"}'}}]},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "x", "function": {"name": "ok", "arguments": "{}"}}]},
]


def _severe(run: Recorder, window: int = 12) -> list[str]:
    return [finding.explanation for finding in judge(run.events, window) if finding.severity != "info"]


@pytest.mark.parametrize("shape", list(SHAPES))
def test_one_answer_to_many_items_is_no_loop(shape: str) -> None:
    """Such a batch was stopped after three items, and its user found out the next morning."""
    for item, ask in ITEMS.items():
        for answer in ANSWERS:
            run = Recorder()
            for number in range(7):
                run.model(answer, SHAPES[shape](ask(number)))

            assert _severe(run) == [], (item, answer)


@pytest.mark.parametrize("shape", list(SHAPES))
def test_the_same_item_again_and_again_is_a_loop(shape: str) -> None:
    """What tells a batch from a loop is the item, and not the shape of the prompt."""
    for answer in ANSWERS:
        run = Recorder()
        for _ in range(4):
            run.model(answer, SHAPES[shape]("Is invoice 4711 paid?"))

        assert len(_severe(run)) == 1


@pytest.mark.parametrize("shape", list(SHAPES))
def test_going_round_over_a_few_items_is_a_loop(shape: str) -> None:
    """The agent that asks about three invoices in turn, for ever, is stuck as well."""
    run = Recorder()
    for number in range(15):
        run.model("yes", SHAPES[shape](f"Is invoice {number % 3} paid?"))

    assert len(_severe(run)) == 1


@pytest.mark.parametrize("verdict", ["PASS", "The section is fine as it is and may be published."])
@pytest.mark.parametrize("shape", ["text", "message", "system and user", "messages in a dict"])
@pytest.mark.parametrize("model", ["gpt-4", "judge"])
def test_a_judge_who_passes_every_section_is_no_loop(model: str, shape: str, verdict: str) -> None:
    """A writer and a judge in turn: all is well, which is why the judge always says the same."""
    for words in ("Section {}: all the details are in the annex of the report.", "{}", "Done."):
        run = Recorder()
        for number in range(6):
            section = words.format(number)
            run.model(section, SHAPES[shape](f"Write section {number}."))
            run.model(verdict, SHAPES[shape](f"Is section {number} good? {section}"), model)

        assert _severe(run) == []


@pytest.mark.parametrize("where", ["before", "after", "in the prompt"])
@pytest.mark.parametrize("item", ["invoice", "uuid", "date"])
def test_the_same_look_up_for_every_item_is_no_loop(item: str, where: str) -> None:
    """A pipeline that reads its rules anew for every invoice is wasteful and not stuck."""
    for shape, put in SHAPES.items():
        run = Recorder()
        for number in range(6):
            question = ITEMS[item](number)
            if where != "after":
                run.tool("read_rules", {"path": "rules.md"}, RULES)
            run.model("yes", put(f"{RULES}\n\n{question}" if where == "in the prompt" else question))
            if where == "after":
                run.tool("notify", {}, None)

        assert _severe(run) == [], shape


@pytest.mark.parametrize("item", list(ITEMS))
def test_an_agent_that_does_the_same_for_every_item_is_no_loop(item: str) -> None:
    """Each item is a task of its own, whose history begins anew."""
    run = Recorder()
    for number in range(5):
        messages: list[dict[str, Any]] = [{"role": "system", "content": "Help."}]
        messages.append({"role": "user", "content": ITEMS[item](number)})
        call = {"id": f"call_{number}", "function": {"name": "read_rules", "arguments": "{}"}}
        answer = {"role": "assistant", "content": None, "tool_calls": [call]}
        run.model(answer, list(messages))
        run.tool("read_rules", {}, RULES)
        messages += [answer, {"role": "tool", "tool_call_id": call["id"], "content": RULES}]
        run.model("The invoice is paid as it should be.", list(messages))

    assert _severe(run, 30) == []


@pytest.mark.parametrize("seed", range(20))
def test_items_worked_on_at_once_are_no_loop(seed: int) -> None:
    """What is awaited together is recorded in any order."""
    chance = random.Random(seed)
    shape, item = SHAPES[chance.choice(list(SHAPES))], ITEMS[chance.choice(list(ITEMS))]
    waiting = [[("model", number), ("judge", number)] for number in range(8)]
    run = Recorder()
    while waiting:
        task = chance.choice(waiting)
        kind, number = task.pop(0)
        run.model("yes", shape(f"{kind}: {item(number)}"), kind)
        if not task:
            waiting.remove(task)

    assert _severe(run) == []


def test_a_chat_in_one_text_in_which_a_person_asks_on_is_no_loop() -> None:
    """The text grows by the answer, which is no news, and by the next question, which is."""
    run = Recorder()
    prompt = ""
    for number in range(6):
        prompt += f"Human: Is invoice {number} paid?\nAI:"
        run.model("yes", prompt)
        prompt += " yes\n"

    assert _severe(run) == []


@pytest.mark.parametrize("key", ["id", "timestamp", "ts", "request_id", "trace_id", "created_at", "call_id", "took_ms"])
@pytest.mark.parametrize("result", ["pending", "No entry was found.", None])
def test_a_tool_called_for_one_item_after_the_other_is_no_loop(key: str, result: Any) -> None:
    """What a result carries along may be what a call is about."""
    run = Recorder()
    for number in range(6):
        run.tool("look_up", {key: f"{1_700_000_000 + number}"}, result)

    assert _severe(run) == []


@pytest.mark.parametrize(
    "result",
    [
        None,
        True,
        "",
        "ok",
        {},
        [],
        {"error": None},
        {"ok": True, "error": None},
        {"success": True, "errors": [], "warnings": []},
        "{'error': None, 'written': True}",
        {"exit_code": 0, "stdout": "", "stderr": ""},
        {"isError": False, "content": []},
        {"content": [{"type": "text", "text": ""}], "isError": False},
        "(no output)",
        "Command completed with no output.",
        "Tool ran without output or errors",
        "Your command ran successfully and did not produce any output.",
        "The file has been written successfully to the disk of this machine.",
        "204 No Content",
    ],
)
def test_silent_success_with_different_inputs_is_no_stall(result: Any) -> None:
    """Three files written without a word were called a stall."""
    content = "import os\nimport sys\n\n\ndef main() -> None:\n    print(sys.argv)\n    return 0\n"
    for thinks in (False, True):
        run = Recorder()
        for name in ("parser", "lexer", "printer", "checker", "linker", "loader"):
            if thinks:
                run.model(f"Now I will write the {name}, which is next on the list.")
            run.tool("write_file", {"path": f"src/{name}.py", "content": content}, result)

        assert _severe(run) == []
