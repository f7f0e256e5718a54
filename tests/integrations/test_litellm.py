"""LiteLLM, asked for the story by a plain loop over `completion` and `acompletion`."""

from __future__ import annotations

import asyncio
import json
import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg import llm_call, tool, traced_run
from agentdbg.analysis.conversation import answer
from examples.fake_openai_server import Answer
from tests.integrations.story import GREETING, MODEL, QUESTION, Story, greet, read_weather

if TYPE_CHECKING:
    from collections.abc import Iterator

    from examples.fake_openai_server import FakeServer
    from tests.conftest import Recorded

# Without this LiteLLM asks the network for prices when it is imported.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
litellm = pytest.importorskip("litellm")
pytestmark = [pytest.mark.frameworks, pytest.mark.filterwarnings("default")]

get_weather = tool(read_weather, name="get_weather")
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": PARAMETERS}}]


@pytest.fixture(autouse=True)
def _enabled() -> Iterator[None]:
    from agentdbg.integrations import litellm as integration

    litellm.telemetry = False
    integration.enable()
    yield
    integration.disable()


def options(server: FakeServer) -> dict[str, Any]:
    return {"model": f"openai/{MODEL}", "api_base": server.openai_url, "api_key": "none", "num_retries": 0}


class Conversation:
    """The agent loop people write by hand."""

    def __init__(self, question: str) -> None:
        self.messages: list[Any] = [{"role": "user", "content": question}]

    def calls(self, response: Any) -> list[tuple[str, dict[str, Any]]]:
        message = response.choices[0].message
        self.messages.append(message.model_dump())
        return [(call.id, json.loads(call.function.arguments)) for call in message.tool_calls or []]

    def add_result(self, call_id: str, result: str) -> None:
        self.messages.append({"role": "tool", "tool_call_id": call_id, "content": result})


def call_tool(args: dict[str, Any]) -> str:
    try:
        return str(get_weather(**args))
    except ValueError as error:
        return f"failed: {error}"


class TestLiteLlm(Story):
    framework = "litellm"
    tools_have_framework = False
    outermost_call_is_an_agent = False

    def ask(self, server: FakeServer, question: str) -> str:
        talk = Conversation(question)
        while True:
            response = litellm.completion(messages=talk.messages, tools=TOOLS, **options(server))
            calls = talk.calls(response)
            if not calls:
                return str(response.choices[0].message.content)
            with ThreadPoolExecutor() as pool:
                for (call_id, _), result in zip(calls, pool.map(lambda call: call_tool(call[1]), calls), strict=True):
                    talk.add_result(call_id, result)

    async def aask(self, server: FakeServer, question: str) -> str:
        talk = Conversation(question)
        while True:
            response = await litellm.acompletion(messages=talk.messages, tools=TOOLS, **options(server))
            calls = talk.calls(response)
            if not calls:
                return str(response.choices[0].message.content)
            results = await asyncio.gather(*(asyncio.to_thread(call_tool, args) for _, args in calls))
            for (call_id, _), result in zip(calls, results, strict=True):
                talk.add_result(call_id, result)

    def ask_streaming(self, server: FakeServer, question: str, pieces: int | None = None) -> str:
        said = ""
        messages = Conversation(question).messages
        stream = litellm.completion(
            messages=messages, stream=True, stream_options={"include_usage": True}, **options(server)
        )
        for number, chunk in enumerate(stream, 1):
            said += (chunk.choices[0].delta.content or "") if chunk.choices else ""
            if number == pieces:
                break
        return said


def ask(server: FakeServer, **more: Any) -> Any:
    return litellm.completion(messages=[{"role": "user", "content": QUESTION}], **{**options(server), **more})


def test_an_async_stream_is_recorded_whole_and_dropped(server: FakeServer, recorded: Recorded) -> None:
    """LiteLLM's async streams are read by another method of the same object."""
    server.brain = greet

    async def main() -> str:
        said = ""
        async with traced_run("story"):
            messages = [{"role": "user", "content": QUESTION}]
            async for chunk in await litellm.acompletion(messages=messages, stream=True, **options(server)):
                said += chunk.choices[0].delta.content or ""
            stream = await litellm.acompletion(messages=messages, stream=True, **options(server))
            async for _ in stream:
                break
            await stream.aclose()
        return said

    assert asyncio.run(main()) == GREETING
    whole, part = recorded.only().of_type("LLM_CALL")
    assert answer(whole["payload"]["response"]).text == GREETING
    assert isinstance(whole["payload"]["first_token_ms"], int)
    assert part["meta"]["cancelled"] is True
    assert GREETING.startswith(answer(part["payload"]["response"]).text)


def test_what_was_sent_beside_the_words_is_kept_and_the_key_is_not(server: FakeServer, recorded: Recorded) -> None:
    """Why a model answered as it did often lies in the parameters; the key is nobody's business."""
    with traced_run("story"):
        ask(server, top_p=0.9, temperature=0.5, api_key="sk-very-secret-key-1234567890", tools=TOOLS)

    payload = recorded.only().one("LLM_CALL")["payload"]
    assert payload["temperature"] == 0.5
    assert payload["parameters"]["top_p"] == 0.9
    assert payload["tools"] == TOOLS
    assert payload["source"].startswith("tests/integrations/test_litellm.py:")
    assert b"very-secret" not in (recorded.only().path / "events.jsonl").read_bytes()


def test_the_price_is_the_one_litellm_knows(server: FakeServer, recorded: Recorded) -> None:
    """LiteLLM has the price of a thousand models; nobody should have to type them in again."""
    server.brain = greet
    with traced_run("story"):
        response = ask(server)

    assert recorded.only().one("LLM_CALL")["payload"]["cost_usd"] == response._hidden_params["response_cost"] > 0


def test_a_refused_request_is_recorded_as_it_was_raised(server: FakeServer, recorded: Recorded) -> None:
    """The commonest fault of all: the provider says no."""
    server.brain = lambda request: Answer(text="no such model", status=404)
    with pytest.raises(litellm.NotFoundError) as caught, traced_run("story"):
        ask(server)

    call = recorded.only().one("LLM_CALL")
    assert call["payload"]["error"]["error_type"] == "NotFoundError"
    assert call["payload"]["model"] == "gpt-4o-mini"  # without the provider that LiteLLM puts before it
    assert recorded.only().meta["counts"]["errors"] == 1
    assert "agentdbg" not in str(caught.value)


def test_embeddings_and_responses_are_model_calls_too(server: FakeServer, recorded: Recorded) -> None:
    """Whatever costs tokens is in the trace."""
    server.brain = greet
    with traced_run("story"):
        litellm.embedding(input=["a", "b"], **options(server))
        litellm.responses(input=QUESTION, **options(server))

    embedding, response = recorded.only().of_type("LLM_CALL")
    assert embedding["payload"]["response"] == {"embeddings": 2, "dimensions": 3}
    assert embedding["payload"]["prompt"] == ["a", "b"]
    assert answer(response["payload"]["response"]).text == GREETING
    assert response["payload"]["usage"]["total_tokens"] == 27


def test_a_router_is_recorded_once(server: FakeServer, recorded: Recorded) -> None:
    """The Router is how LiteLLM is used in production; it calls the same functions inside."""
    server.brain = greet
    router = litellm.Router(model_list=[{"model_name": "mine", "litellm_params": options(server)}])
    with traced_run("story"):
        router.completion(model="mine", messages=[{"role": "user", "content": QUESTION}])

    assert recorded.only().one("LLM_CALL")["payload"]["model"] == MODEL
    assert len(server.requests) == 1


def test_the_client_below_and_the_call_around_are_one_call(server: FakeServer, recorded: Recorded) -> None:
    """LiteLLM uses the openai client, and frameworks use LiteLLM: the outermost hook records."""
    from agentdbg.integrations import openai as client_integration

    server.brain = greet
    client_integration.enable()
    try:
        with traced_run("story"):
            ask(server)
            list(ask(server, stream=True))
            asyncio.run(litellm.acompletion(messages=[{"role": "user", "content": QUESTION}], **options(server)))
            with llm_call("mine", QUESTION):
                ask(server)
    finally:
        client_integration.disable()

    names = [call["meta"].get("framework") for call in recorded.only().of_type("LLM_CALL")]
    assert names == ["litellm", "litellm", "litellm", None]
    assert len(server.requests) == 4


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_that_was_made_up_costs_nothing(server: FakeServer, recorded: Recorded, stream: bool) -> None:
    """LiteLLM gives a `mock_response` the tokens of a real one, and no model was asked."""
    with traced_run("story"):
        answer = ask(server, mock_response="Fine.", stream=stream)
        assert "".join(piece.choices[0].delta.content or "" for piece in answer) if stream else answer

    call = recorded.only().one("LLM_CALL")
    assert (call["payload"]["response"], call["payload"]["usage"]) == ("Fine.", None)
    assert call["meta"]["mock"] is True
    assert server.requests == []


def test_a_name_imported_before_is_recorded_too(server: FakeServer, recorded: Recorded) -> None:
    """`from litellm import completion` at the top of a module is how most programs use it."""
    import types

    from agentdbg.integrations import litellm as integration

    integration.disable()
    program = types.ModuleType("program_of_this_test")
    exec("from litellm import completion", program.__dict__)
    import sys

    sys.modules[program.__name__] = program
    try:
        integration.enable()
        with traced_run("story"):
            program.__dict__["completion"](messages=[{"role": "user", "content": QUESTION}], **options(server))
        integration.disable()

        assert len(recorded.only().of_type("LLM_CALL")) == 1
        assert program.__dict__["completion"] is litellm.completion
    finally:
        del sys.modules[program.__name__]


def test_what_a_request_is_said_to_be_about_is_in_its_meta(server: FakeServer, recorded: Recorded) -> None:
    """Sessions, users and tags are what runs are searched by."""
    server.brain = lambda request: Answer(text="hello")
    told = {
        "session_id": "s1",
        "trace_user_id": "ada",
        "tags": ["night"],
        "ticket": 7,
        "framework": "no",
        "x": object(),
    }
    with traced_run("story"):
        litellm.completion(
            "openai/gpt-4o-mini",
            [{"role": "user", "content": "hi"}],
            api_base=server.openai_url,
            api_key="none",
            metadata=told,
        )

    meta = recorded.only().one("LLM_CALL")["meta"]
    assert {key: meta.get(key) for key in ("session_id", "user_id", "tags", "ticket", "framework")} == {
        "session_id": "s1",
        "user_id": "ada",
        "tags": ["night"],
        "ticket": 7,
        "framework": "litellm",
    }
    assert "x" not in meta
