"""Another answer in the provider's own form: a client reads it as if the provider had sent it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentdbg.control import provider_answers
from agentdbg.control.edits import edited_answer, edited_input, parse_edit
from agentdbg.control.forking import check_edits
from agentdbg.control.provider_answers import answer_in_form
from agentdbg.exceptions import UsageError
from agentdbg.recorder.deciders import Answer

USAGE = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
CHAT: dict[str, Any] = {"id": "c1", "model": "gpt-4o", "object": "chat.completion", "usage": USAGE}
CHAT |= {"choices": [{"index": 0, "message": {"role": "assistant", "content": "old"}, "finish_reason": "stop"}]}


def outcome(*chunks: bytes, kind: str = "application/json") -> dict[str, Any]:
    headers = {"content-type": kind, "content-length": "999", "content-encoding": "gzip", "x-request-id": "r"}
    return {"status": 200, "headers": headers, "chunks": list(chunks), "at": [1] * len(chunks), "cut": None}


def whole(url: str, body: Any, value: Any) -> Any:
    new = answer_in_form({"url": url}, outcome(json.dumps(body).encode()), (), value)
    assert new["headers"] == {"content-type": "application/json", "x-request-id": "r"}
    return json.loads(b"".join(new["chunks"]))


def streamed(url: str, events: list[Any], value: Any) -> list[Any]:
    lines = [f"data: {json.dumps(event)}\n\n".encode() for event in events]
    new = answer_in_form({"url": url}, outcome(*lines, kind="text/event-stream"), (), value)
    text = b"".join(new["chunks"]).decode()
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]


def test_chat_whole() -> None:
    """The answer is another, ids and usage are what was recorded."""
    body = whole("https://x/v1/chat/completions", CHAT, "new")

    assert body["choices"][0]["message"] == {"role": "assistant", "content": "new"}
    assert (body["id"], body["usage"]) == ("c1", USAGE)


def test_chat_with_a_tool_call() -> None:
    """What if the model had called the tool?"""
    said = {"content": "", "tool_calls": [{"name": "refund", "arguments": {"amount": 40}}]}
    message = whole("https://x/v1/chat/completions", CHAT, said)["choices"][0]["message"]

    assert message["tool_calls"][0]["function"] == {"name": "refund", "arguments": '{"amount": 40}'}


def test_chat_streamed() -> None:
    """One delta with the text, then the end, then the usage as it was."""
    form = {"id": "c1", "model": "m", "object": "chat.completion.chunk"}
    events = [
        {**form, "choices": [{"index": 0, "delta": {"role": "assistant", "content": "o"}, "finish_reason": None}]},
        {**form, "choices": [{"index": 0, "delta": {"content": "ld"}, "finish_reason": "stop"}]},
        {**form, "choices": [], "usage": USAGE},
    ]
    new = streamed("https://x/v1/chat/completions", events, "new")

    assert [e["choices"][0]["delta"].get("content") for e in new if e["choices"]] == ["new", None]
    assert new[-1]["usage"] == USAGE


def test_responses_whole_and_streamed() -> None:
    """OpenAI's newer form."""
    body = {"id": "r1", "object": "response", "output": [], "usage": USAGE}
    url = "https://x/v1/responses"

    assert whole(url, body, "new")["output"][0]["content"][0]["text"] == "new"
    new = streamed(url, [{"type": "response.created", "response": body}], "new")
    assert [e["delta"] for e in new if e["type"] == "response.output_text.delta"] == ["new"]
    assert new[-1]["type"] == "response.completed"
    assert [e["sequence_number"] for e in new] == list(range(len(new)))


def test_messages_whole_and_streamed() -> None:
    """Anthropic's form, tool use included."""
    body = {"id": "m1", "type": "message", "content": [{"type": "text", "text": "old"}], "usage": {"input_tokens": 3}}
    url = "https://x/v1/messages"
    said = {"content": "new", "tool_calls": [{"name": "refund", "arguments": '{"amount": 1}'}]}

    new_body = whole(url, body, said)
    assert [block["type"] for block in new_body["content"]] == ["text", "tool_use"]
    assert new_body["content"][1]["input"] == {"amount": 1}
    new = streamed(url, [{"type": "message_start", "message": body}, {"type": "message_stop"}], "new")
    assert [e["delta"]["text"] for e in new if e["type"] == "content_block_delta"] == ["new"]
    assert new[-1] == {"type": "message_stop"}


def test_gemini_whole_and_streamed() -> None:
    """Google's form."""
    body = {"candidates": [], "usageMetadata": {"totalTokenCount": 3}}
    url = "https://x/v1beta/models/gemini-pro:generateContent"

    assert whole(url, body, "new")["candidates"][0]["content"]["parts"] == [{"text": "new"}]
    assert (
        streamed(url.replace("generate", "streamGenerate"), [body], "new")[0]["usageMetadata"]["totalTokenCount"] == 3
    )


def test_a_path_edits_the_providers_own_json() -> None:
    """For everything that is no text."""
    recorded = outcome(json.dumps(CHAT).encode())
    new = answer_in_form({"url": "https://x/v1/chat/completions"}, recorded, ("choices", 0, "finish_reason"), "length")

    assert json.loads(new["chunks"][0])["choices"][0]["finish_reason"] == "length"
    with pytest.raises(UsageError):
        answer_in_form({"url": "https://x/v1/chat/completions"}, recorded, ("choices", 7), 1)


def test_inputs_are_edited_where_the_provider_has_them() -> None:
    """`system` means the system prompt, whatever the provider calls it."""
    request = {"url": "u", "body": {"model": "m", "messages": [{"role": "user", "content": "hi"}]}}
    system = [parse_edit("system=Be brief.")]

    assert edited_input("http", request, system)["body"]["messages"][0] == {"role": "system", "content": "Be brief."}
    assert edited_input("http", {"body": {"input": "x"}}, system)["body"]["instructions"] == "Be brief."
    assert edited_input("http", request, [parse_edit("model=mini")])["body"]["model"] == "mini"
    assert edited_input("tool", {"q": 1}, [parse_edit("args.q=2")]) == {"q": 2}
    assert edited_input("llm", [{"content": "x"}], [parse_edit("messages[0].content+=y")]) == [{"content": "xy"}]


def test_outcomes_are_edited() -> None:
    """A value, a part of it, an exception in its place."""
    answer = Answer({"hits": [1], "ok": True}, served="recorded")

    assert edited_answer(answer, [parse_edit("result.hits=[]")]).value == {"hits": [], "ok": True}
    assert isinstance(edited_answer(answer, [parse_edit("error=TimeoutError: slow")]).error, TimeoutError)
    assert edited_answer(Answer(error=KeyError("x")), [parse_edit("result=1")]).value == 1


@pytest.mark.parametrize("text", ["", "x", "=1", "a b=1", "result={"])
def test_an_edit_that_cannot_be_read_is_refused(text: str) -> None:
    """Before anything runs."""
    with pytest.raises(UsageError):
        parse_edit(text)


FORMS: dict[str, tuple[str, str, list[Any]]] = {
    "chat": (
        "https://x/v1/chat/completions",
        "choices[0].message.content",
        [
            {"id": "c1", "model": "m", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "o"}}]},
            {
                "id": "c1",
                "choices": [{"index": 0, "delta": {"content": "ld"}, "finish_reason": "stop"}],
                "usage": USAGE,
            },
        ],
    ),
    "responses": (
        "https://x/v1/responses",
        "output[0].content[0].text",
        [
            {"type": "response.created", "response": {"id": "r1", "output": [], "status": "in_progress"}},
            {
                "type": "response.completed",
                "response": {
                    "id": "r1",
                    "status": "completed",
                    "usage": USAGE,
                    "output": [
                        {"id": "m1", "type": "message", "content": [{"type": "output_text", "text": "old"}]},
                    ],
                },
            },
        ],
    ),
    "messages": (
        "https://x/v1/messages",
        "content[1].text",
        [
            {"type": "message_start", "message": {"id": "a1", "content": [], "usage": {"input_tokens": 1}}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
            {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "o"}},
            {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "ld"}},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}},
        ],
    ),
    "generateContent": (
        "https://x/v1beta/models/g:streamGenerateContent?alt=sse",
        "candidates[0].content.parts[0].text",
        [
            {"candidates": [{"content": {"role": "model", "parts": [{"text": "o"}]}, "index": 0}]},
            {
                "candidates": [{"content": {"parts": [{"text": "ld"}]}, "finishReason": "STOP", "index": 0}],
                "usageMetadata": {"totalTokenCount": 12},
            },
        ],
    ),
}


def _said(url: str, chunks: list[bytes]) -> tuple[str, list[Any]]:
    """What the model says in a stream, read again as an edit reads it, and the events."""
    text = b"".join(chunks).decode()
    events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
    form = provider_answers._form_of(url)
    assert form is not None
    return form.said(form.gathered(events)).text, events


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize(
    ("edit", "said"),
    [("response=new", "new"), ("response+= more", "old more"), ("response.content=new", "new"), ("own=new", "new")],
)
def test_a_stream_is_edited_as_the_whole_that_it_makes(name: str, edit: str, said: str) -> None:
    """A path of the provider's own JSON, or of what is shown; usage and what else was said stay."""
    url, own, events = FORMS[name]
    lines = [f"data: {json.dumps(event)}\n\n".encode() for event in events]
    change = parse_edit(edit.replace("own=", f"response.{own}="))
    answer = edited_answer(Answer(outcome(*lines, kind="text/event-stream")), [change], {"url": url})

    text, new = _said(url, answer.value["chunks"])
    assert text == said
    assert "7" in json.dumps(new) or "12" in json.dumps(new)
    assert ("hm" in json.dumps(new)) == (name == "messages" and edit.startswith("own"))


@pytest.mark.parametrize(
    "edit", ["response.contnet=x", "response.choices[4].message.content=x", "response.nope.deep=1"]
)
def test_a_path_that_an_answer_does_not_have_is_refused(edit: str) -> None:
    """Nothing is added where no client would look for it."""
    url = "https://x/v1/chat/completions"
    with pytest.raises(UsageError):
        edited_answer(Answer(outcome(json.dumps(CHAT).encode())), [parse_edit(edit)], {"url": url})


def test_an_answer_whose_form_is_not_known_is_not_guessed() -> None:
    """A text for another kind of server would reach nobody; a path of its own JSON does."""
    request, ollama = {"url": "http://x/api/chat"}, outcome(b'{"message": {"content": "old"}}')
    with pytest.raises(UsageError, match="message"):
        edited_answer(Answer(ollama), [parse_edit("response=new")], request)

    changed = edited_answer(Answer(ollama), [parse_edit("response.message.content=new")], request)
    assert json.loads(changed.value["chunks"][0]) == {"message": {"content": "new"}}


def test_a_request_that_had_failed_can_have_worked() -> None:
    """What if the server had been up?"""
    failed = {**outcome(b'{"error": {"message": "down"}}'), "status": 500}
    request = {"url": "https://x/v1/chat/completions", "body": {"model": "m"}}
    changed = edited_answer(Answer(failed), [parse_edit("response=new")], request).value

    assert changed["status"] == 200
    assert json.loads(changed["chunks"][0])["choices"][0]["message"]["content"] == "new"


@pytest.mark.parametrize(
    ("url", "body"),
    [
        ("https://x/v1/chat/completions", {"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]}]}),
        ("https://x/v1/messages", {"messages": [{"role": "user", "content": "a"}], "system": [{"type": "text"}]}),
        ("https://x/v1/responses", {"input": [{"role": "user", "content": [{"type": "input_text", "text": "a"}]}]}),
        ("https://x/v1beta/models/g:generateContent", {"contents": [{"role": "user", "parts": [{"text": "a"}]}]}),
    ],
)
@pytest.mark.parametrize("edit", ["messages[-1].content+= b", "system=b", "system+= b", "temperature=0.5", "model=b"])
def test_one_name_for_each_part_of_a_request(url: str, body: dict[str, Any], edit: str) -> None:
    """Whatever the provider calls it, and however it writes texts; what was there stays."""
    new = edited_input("http", {"method": "POST", "url": url, "body": body}, [parse_edit(edit)])

    told = json.dumps([new["url"], new["body"]])
    assert edit.partition("=")[2] in told
    assert '"a"' in told or "a b" in told
    parts = new["body"].get("system")
    assert not isinstance(parts, list) or all(isinstance(part, dict) for part in parts)


@pytest.mark.parametrize("edit", ["modle=b", "temprature=1", "messages[7].content=b", "args.x=1", "messges=[]"])
def test_a_part_that_a_request_does_not_have_is_refused(edit: str) -> None:
    """Before anything is sent, with what was probably meant."""
    body = {"model": "m", "messages": [{"role": "user", "content": "a"}]}
    with pytest.raises(UsageError):
        given = {"url": "https://x/v1/chat/completions", "body": body}
        edited_input("http", given, [parse_edit(edit)])
        check_edits([parse_edit(edit)], "llm", "gpt-4o")
