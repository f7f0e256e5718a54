"""A row is a sentence: what each kind of event says without being opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.analysis.value_text import plain_text
from tests.analysis.story import Story

if TYPE_CHECKING:
    from agentdbg.analysis.rows import Row


def sentence(row: Row) -> tuple[str, str]:
    """Input and outcome as plain text; an error stands for the outcome."""
    shown = row["preview"]
    return plain_text(shown["input"]), shown["error"] or plain_text(shown["outcome"])


def calling(name: str, arguments: str = "{}") -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": name, "arguments": arguments}}]}


USER = {"role": "user", "content": "Cancel my flight"}


@pytest.mark.parametrize(
    "prompt",
    [
        "Cancel my flight",
        [{"role": "system", "content": "Be kind"}, USER],
        {"messages": [USER]},
        {
            "system": "Be kind",
            "messages": [{"role": "user", "content": [{"type": "text", "text": "Cancel my flight"}]}],
        },
        {"input": "Cancel my flight", "instructions": "Be kind"},
        {"input": [{"role": "user", "content": [{"type": "input_text", "text": "Cancel my flight"}]}]},
        {"contents": [{"role": "user", "parts": [{"text": "Cancel my flight"}]}]},
        [[{"type": "human", "content": "Cancel my flight"}]],
        [["user", "Cancel my flight"]],
        [{"type": "text", "text": "Cancel my flight"}],
    ],
    ids=[
        "text",
        "chat",
        "kwargs",
        "anthropic",
        "responses",
        "responses-items",
        "gemini",
        "langchain",
        "pairs",
        "blocks",
    ],
)
def test_a_model_row_shows_the_new_user_message(prompt: Any) -> None:
    """Every provider nests the same sentence differently; the reader wants the sentence."""
    story = Story()
    number = story.llm(prompt, "Done")

    assert sentence(story.row(number)) == ("user Cancel my flight", "Done")


@pytest.mark.parametrize(
    "response",
    [
        "It **is** done",
        {"role": "assistant", "content": "It is done"},
        {"choices": [{"message": {"role": "assistant", "content": "It is done"}, "finish_reason": "stop"}]},
        {
            "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "It is done"}],
            "role": "assistant",
        },
        {
            "output": [
                {"type": "reasoning", "summary": []},
                {"type": "message", "content": [{"type": "output_text", "text": "It is done"}]},
            ]
        },
        {"candidates": [{"content": {"parts": [{"text": "It is done"}], "role": "model"}}]},
        {"generations": [[{"text": "It is done"}]]},
        {"message": {"role": "assistant", "content": "It is done"}},
        [{"type": "text", "text": "It is done"}],
    ],
    ids=["text", "chat", "choices", "anthropic", "responses", "gemini", "langchain", "ollama", "blocks"],
)
def test_a_model_row_shows_the_answer(response: Any) -> None:
    """What the model said is the outcome of its row, not the envelope it came in."""
    story = Story()
    number = story.llm("q", response)

    assert sentence(story.row(number))[1] == "It is done"


@pytest.mark.parametrize(
    "response",
    [
        calling("search", '{"q": "a"}'),
        {"choices": [{"message": calling("search", '{"q": "a"}')}]},
        {"content": [{"type": "tool_use", "name": "search", "input": {"q": "a"}}]},
        {"output": [{"type": "function_call", "name": "search", "arguments": '{"q": "a"}'}]},
        {"candidates": [{"content": {"parts": [{"functionCall": {"name": "search", "args": {"q": "a"}}}]}}]},
        {"type": "ai", "content": "", "tool_calls": [{"name": "search", "args": {"q": "a"}}]},
        {"role": "assistant", "function_call": {"name": "search", "arguments": '{"q": "a"}'}},
    ],
    ids=["chat", "choices", "anthropic", "responses", "gemini", "langchain", "legacy"],
)
def test_a_model_row_names_the_tool_it_calls(response: Any) -> None:
    """The arguments stand in the tool's own row below; said once is enough."""
    story = Story()
    number = story.llm(None, response)
    story.tool("search", {"q": "a"}, "b", parent=number)

    assert sentence(story.row(number)) == ("", "calls search")
    assert story.row(number)["preview"]["outcome"][-1].get("args") == '(q: "a")'


def test_a_model_row_keeps_the_arguments_when_no_tool_row_follows() -> None:
    """A recorder that sees only model calls would lose them otherwise."""
    story = Story()
    number = story.llm(None, calling("search", '{"q": "a"}'))
    story.end()

    assert sentence(story.row(number))[1] == 'calls search(q: "a")'


def test_after_a_tool_result_a_model_row_has_no_input() -> None:
    """The line above just said the result."""
    story = Story()
    number = story.llm([USER, calling("search"), {"role": "tool", "tool_call_id": "1", "content": "found"}], "Done")
    anthropic = story.llm([USER, {"role": "user", "content": [{"type": "tool_result", "content": "found"}]}], "Done")

    assert sentence(story.row(number))[0] == ""
    assert sentence(story.row(anthropic))[0] == ""


def test_a_prompt_cut_to_its_first_messages_claims_no_input() -> None:
    """What came last was cut away, and the first message would be the wrong one."""
    story = Story()
    number = story.llm([USER, "__TRUNCATED__"], "Done")

    assert sentence(story.row(number))[0] == ""


def test_a_failed_model_row_shows_the_error() -> None:
    """Failed calls look failed."""
    story = Story()
    number = story.llm("q", error={"error_type": "RateLimitError", "message": "429, retry after 20 s"})

    assert sentence(story.row(number))[1] == "RateLimitError: 429, retry after 20 s"
    assert story.row(number)["status"] == "error"


def test_a_tool_row_shows_arguments_and_result_new_keys_first() -> None:
    """Result keys that only repeat an argument tell nothing and go last."""
    story = Story()
    number = story.tool("get", {"id": "K1"}, {"id": "K1", "origin": "JFK", "seats": [{"n": 1}, {"n": 2}]})

    assert sentence(story.row(number)) == ('id: "K1"', 'origin: "JFK", seats: 2 × {n: 1}, id: "K1"')


def test_an_argument_without_a_name_is_shown_as_one() -> None:
    """Some models call a tool with an argument named "", which is why the call fails."""
    story = Story()
    called = story.tool("page_down", {"": 1}, {"a": {"": 2}})
    state = story.write("STATE_UPDATE", "state", {"state": {"": 1, " ": 2}, "diff": None})

    assert sentence(story.row(called)) == ('"": 1', 'a: {"": 2}')
    assert sentence(story.row(state)) == ("", '"", " "')


def test_a_result_that_is_json_in_a_text_is_read_as_json() -> None:
    """Most tools hand the model a JSON text; quoting quotes would be unreadable."""
    story = Story()
    number = story.tool("get", {}, '{"origin": "JFK", "bags": 2}')

    assert sentence(story.row(number))[1] == 'origin: "JFK", bags: 2'


@pytest.mark.parametrize("result", [None, "", "  ", [], {}])
def test_nothing_as_a_result_is_called_empty(result: Any) -> None:
    """A blank cell looks like a bug of the page."""
    story = Story()

    assert sentence(story.row(story.tool("think", {"a": 1}, result)))[1] == "empty"


def test_a_repeated_call_points_at_the_first_of_its_kind() -> None:
    """So a loop is visible as text."""
    story = Story()
    first = story.tool("book", {"user": "mohamed_silva", "bags": 1}, "no")
    story.tool("think", {"x": 1})
    again = story.tool("book", {"bags": 1, "user": "mohamed_silva"}, "no")

    assert story.row(again)["preview"]["same_as"] == first
    assert story.row(again)["preview"]["input"] == []
    assert story.row(again)["label"] == f"{again}, tool book, same call as {first}, no, 50 ms"


def test_a_nearly_repeated_call_shows_what_changed() -> None:
    """The one argument that differs is what the reader looks for."""
    story = Story()
    args = {"user": "mohamed_silva_9265", "flights": ["HAT023", "HAT134"], "bags": 1}
    first = story.tool("book", args, "no")
    second = story.tool("book", {**args, "bags": 2}, "no")

    assert sentence(story.row(second))[0] == "bags: 2"
    assert story.row(second)["preview"]["rest_as"] == first


def test_a_failed_tool_leaves_out_a_class_that_says_nothing() -> None:
    """`Exception: no seats` is `no seats`."""
    story = Story()
    number = story.tool("book", {}, error={"error_type": "Exception", "message": "no seats"})

    assert sentence(story.row(number))[1] == "no seats"


def test_redacted_and_cut_values_are_marked_apart() -> None:
    """A marker shown as ordinary text could be taken for the program's own data."""
    story = Story()
    row = story.row(story.tool("login", {"user": "dana", "password": "__REDACTED__", "body": "Lorem__TRUNCATED__"}))

    styles = {piece["style"]: piece["text"] for piece in row["preview"]["input"]}
    assert styles["redacted"] == "redacted"
    assert styles["cut"] == "cut"
    assert "__" not in plain_text(row["preview"]["input"])


def test_a_state_row_shows_what_changed_since_the_state_before() -> None:
    """The stored diff has only new values; the state before it has the old ones."""
    story = Story()
    story.write("STATE_UPDATE", "state", {"state": {"stage": "find", "id": 1}, "diff": None})
    story.write("STATE_UPDATE", "other", {"state": {"stage": "x"}, "diff": None})
    number = story.write(
        "STATE_UPDATE",
        "state",
        {
            "state": {"stage": "rebook", "cancelled": ["K1"]},
            "diff": {"stage": "rebook", "cancelled": ["K1"], "id": None},
        },
    )

    assert sentence(story.row(number))[1] == 'stage "find" → "rebook" · + cancelled ["K1"] · - id'
    assert sentence(story.row(2))[1] == "stage, id"


def test_a_span_row_counts_what_happened_inside() -> None:
    """Its children stand above it in the file, so they have to be found backwards, at any depth."""
    story = Story()
    span_id = "00000000-0000-4000-8000-00000000aaaa"
    story.tool("before", {}, "x")
    llm = story.llm("Please proceed", calling("book"), parent=span_id, tokens=(10, 5))
    story.tool("book", {}, error="no", parent=llm)
    story.llm(None, "Sorry", parent=span_id, tokens=(20, 5))
    span = story.write(
        "STATE_UPDATE",
        "handle_turn",
        {"state": None, "diff": None, "error": None},
        duration_ms=0,
        meta={"span": "handle_turn"},
        event_id=span_id,
    )

    row = story.row(span)
    assert (row["kind"], row["tokens"]) == ("span", 40)
    assert sentence(row)[1] == "2 LLM · 1 tool · 1 failed"
    assert plain_text(row["preview"]["tree"]["input"]) == "user Please proceed"
    assert plain_text(row["preview"]["tree"]["outcome"]) == "1 of 1 tool call failed"
    assert [story.row(number)["depth"] for number in (1, 2, llm, llm + 1, span)] == [0, 0, 1, 2, 0]


def test_error_loop_start_and_end_rows_say_the_one_thing_that_matters() -> None:
    """These have no input and no outcome, only a sentence."""
    story = Story(stop_on_loop=True, stop_on_loop_min_repetitions=5, max_llm_calls=60)
    stack = '  File "/home/me/agents/invoice.py", line 41, in parse_invoice\n    x\n'
    error = story.error("KeyError", "'due_date'", stack=stack)
    loop = story.loop("error_retry", "critical", "TOOL_CALL:book", [1], "book failed 3 times.")
    end = story.write("RUN_END", "run_end", {"status": "ok", "summary": {"duration_ms": 4200, "llm_calls": 1}})

    assert sentence(story.row(1))[1] == "stop_on_loop at 5 · max_llm_calls 60 · Python 3.12.7 on linux"
    assert sentence(story.row(error))[1] == "'due_date' in parse_invoice, agents/invoice.py:41"
    assert (story.row(loop)["name"], sentence(story.row(loop))[1]) == ("retry loop", "book failed 3 times.")
    assert sentence(story.row(end))[1] == "ok · 4.2 s · 1 LLM call"


def test_a_call_without_an_end_runs_or_never_returned() -> None:
    """The last line of a dead run is the most important one."""
    story = Story()
    number = story.call_start("fetch_page", given={"url": "https://example.org"})

    assert sentence(story.row(number, running=True)) == ('url: "https://example.org"', "running…")
    assert story.row(number, running=True)["status"] == "running"
    assert sentence(story.row(number))[1] == "never returned: the process ended during this call"
    assert story.row(number)["status"] == "never_returned"


def test_a_call_that_ended_hides_its_start() -> None:
    """Two rows for one call would double everything."""
    story = Story()
    number = story.call_start("fetch_page")
    story.tool("fetch_page", {}, "x", event_id=story.events[-1]["payload"]["call_id"])

    assert story.row(number)["ended"] is True
    assert sentence(story.row(number))[1] == ""
    assert story.row(number)["status"] is None


def test_an_unknown_type_shows_its_payload() -> None:
    """People record their own events, and later versions will have more."""
    story = Story()
    number = story.write("APPROVAL", "approve_refund", {"approved": True, "by": "dana", "waited_s": 41})

    assert sentence(story.row(number))[1] == 'approved: true, by: "dana", waited_s: 41'
    assert story.row(number)["kind"] == "other"


def test_a_side_of_a_preview_stays_small() -> None:
    """A row is sent for every event on screen; a megabyte of arguments is not a preview."""
    story = Story()
    row = story.row(story.tool("big", {"text": "x" * 100_000, "more": list(range(10_000))}, {"a": "y" * 100_000}))

    assert len(plain_text(row["preview"]["input"])) <= 420
    assert len(plain_text(row["preview"]["outcome"])) <= 420
    assert plain_text(row["preview"]["input"]).endswith("…") or "…" in plain_text(row["preview"]["input"])


def test_a_call_that_was_cut_is_not_called_the_same() -> None:
    """Two long arguments that agree as far as they were stored may differ after that."""
    story = Story()
    story.tool("write", {"path": "a", "text": "same beginning__TRUNCATED__"}, "ok")
    again = story.tool("write", {"path": "a", "text": "same beginning__TRUNCATED__"}, "ok")
    other = story.tool("write", {"path": "b", "text": "same beginning__TRUNCATED__"}, "ok")

    assert story.row(again)["preview"]["same_as"] is None
    assert story.row(other)["preview"]["rest_as"] is None
    assert sentence(story.row(again))[0] == 'path: "a", text: "same beginning cut'


def test_containers_that_were_cut_say_so_once() -> None:
    """The marker is ours and must not look like a key or an item of the program."""
    story = Story()
    rows = [{"n": 1}, {"n": 2}, "__TRUNCATED__"]
    number = story.tool("list", {"a": 1, "__TRUNCATED__": "__TRUNCATED__"}, rows)

    assert sentence(story.row(number)) == ("a: 1, cut", "over 2 × {n: 1}")


def test_an_error_inside_a_result_is_a_problem_of_its_row() -> None:
    """The call counts as done, and the reader has to see that it was not."""
    story = Story()
    refused = story.tool("get_order", {"id": "A17"}, {"ok": False, "status_code": 404, "error": "no order A17"})
    fine = story.tool("get_order", {"id": "A-17"}, {"id": "A-17", "total": 4000})
    raised = story.tool("get_order", {}, error={"error_type": "KeyError", "message": "'id'"})

    rows = {number: story.row(number) for number in (refused, fine, raised)}
    assert rows[refused]["problem"] == "no order A17"
    assert rows[refused]["label"].startswith(f'{refused}, tool get_order, id: "A17", reports an error: no order A17')
    assert rows[fine]["problem"] is None
    assert rows[raised]["problem"] is None  # it failed, which its status says


def test_what_a_model_thinks_aloud_is_not_its_answer() -> None:
    """Some models put their thoughts into the text; the words after them are what they said."""
    story = Story()
    thought = story.llm([USER], "<think>The user wants\nout.</think>\n\nCancelled.")
    asked = story.llm([USER], {**calling("cancel"), "content": "<think>I cancel.</think>"})

    assert sentence(story.row(thought))[1] == "Cancelled."
    assert sentence(story.row(asked))[1] == "calls cancel()"
