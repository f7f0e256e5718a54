"""The anthropic client, asked for the story by a plain loop over Messages."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg import tool, traced_run
from agentdbg.analysis.conversation import answer
from examples.fake_openai_server import Answer, Request
from tests.integrations.story import GREETING, QUESTION, Story, greet, read_weather

if TYPE_CHECKING:
    from collections.abc import Iterator

    from examples.fake_openai_server import FakeServer
    from tests.conftest import Recorded

anthropic = pytest.importorskip("anthropic")
pytestmark = [pytest.mark.frameworks, pytest.mark.filterwarnings("default")]

MODEL = "claude-of-the-story"
get_weather = tool(read_weather, name="get_weather")
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = [{"name": "get_weather", "description": "The weather.", "input_schema": SCHEMA}]


@pytest.fixture(autouse=True)
def _enabled() -> Iterator[None]:
    from agentdbg.integrations import anthropic as integration

    integration.enable()
    yield
    integration.disable()


def client(server: FakeServer, **options: Any) -> Any:
    return anthropic.Anthropic(base_url=server.anthropic_url, api_key="none", **options)


def request(messages: list[Any]) -> dict[str, Any]:
    return {"model": MODEL, "max_tokens": 100, "messages": messages, "tools": TOOLS}


def call_tool(block: Any) -> dict[str, Any]:
    try:
        content, failed = get_weather(**block.input), False
    except ValueError as error:
        content, failed = str(error), True
    return {"type": "tool_result", "tool_use_id": block.id, "content": content, "is_error": failed}


class TestMessages(Story):
    framework = "anthropic"
    provider = "anthropic"
    model = MODEL
    tools_have_framework = False
    outermost_call_is_an_agent = False

    def ask(self, server: FakeServer, question: str) -> str:
        messages: list[Any] = [{"role": "user", "content": question}]
        with client(server) as asking:
            while True:
                said = asking.messages.create(**request(messages))
                calls = [block for block in said.content if block.type == "tool_use"]
                if not calls:
                    return str(said.content[0].text)
                messages += [{"role": "assistant", "content": said.content}]
                messages += [{"role": "user", "content": [call_tool(block) for block in calls]}]

    async def aask(self, server: FakeServer, question: str) -> str:
        messages: list[Any] = [{"role": "user", "content": question}]
        async with anthropic.AsyncAnthropic(base_url=server.anthropic_url, api_key="none") as asking:
            while True:
                said = await asking.messages.create(**request(messages))
                calls = [block for block in said.content if block.type == "tool_use"]
                if not calls:
                    return str(said.content[0].text)
                results = await asyncio.gather(*(asyncio.to_thread(call_tool, block) for block in calls))
                messages += [{"role": "assistant", "content": said.content}]
                messages += [{"role": "user", "content": list(results)}]

    def ask_streaming(self, server: FakeServer, question: str, pieces: int | None = None) -> str:
        said: list[str] = []
        with (
            client(server) as asking,
            asking.messages.stream(**request([{"role": "user", "content": question}])) as stream,
        ):
            for text in stream.text_stream:
                said.append(text)
                if len(said) == pieces:
                    break
        return "".join(said)


def ask(server: FakeServer, **options: Any) -> Any:
    with client(server) as asking:
        return asking.messages.create(**request([{"role": "user", "content": QUESTION}]), **options)


def test_thinking_is_kept_beside_the_answer(server: FakeServer, recorded: Recorded) -> None:
    """What the model thought explains what it said, but is not what it said."""
    server.brain = lambda _: Answer(thinking="Polite first.", text=GREETING)
    with traced_run("story"):
        ask(server)
        with client(server) as asking:
            for _ in asking.messages.create(**request([{"role": "user", "content": QUESTION}]), stream=True):
                pass

    for call in recorded.only().of_type("LLM_CALL"):
        thought, said = call["payload"]["response"]
        assert thought["thinking"] == "Polite first."
        assert said == {"type": "text", "text": GREETING}
        assert answer(call["payload"]["response"]).text == GREETING


def test_streamed_tool_use_has_its_arguments_as_an_object(server: FakeServer, recorded: Recorded) -> None:
    """Arguments come as crumbs of JSON; a reader wants them whole."""
    with traced_run("story"), client(server) as asking:
        for _ in asking.messages.create(**request([{"role": "user", "content": QUESTION}]), stream=True):
            pass

    payload = recorded.only().one("LLM_CALL")["payload"]
    assert [block["input"] for block in payload["response"]] == [{"city": "Oslo"}, {"city": "Lima"}]
    assert payload["stop_reason"] == "tool_use"
    assert payload["usage"]["prompt_tokens"] == 20


def test_an_async_stream_dropped_half_way_is_recorded_as_far_as_it_came(server: FakeServer, recorded: Recorded) -> None:
    """A user who closes the page mid-answer leaves such a stream behind."""
    server.brain = greet

    async def main() -> None:
        async with (
            anthropic.AsyncAnthropic(base_url=server.anthropic_url, api_key="none") as asking,
            traced_run("story"),
            asking.messages.stream(**request([{"role": "user", "content": QUESTION}])) as stream,
        ):
            async for _ in stream.text_stream:
                break

    asyncio.run(main())
    call = recorded.only().one("LLM_CALL")
    assert call["payload"]["response"].startswith("Good ")
    assert call["meta"]["cancelled"] is True


def test_system_and_parameters_are_kept(server: FakeServer, recorded: Recorded) -> None:
    """The system prompt is the first thing anybody looks for."""
    server.brain = greet
    with traced_run("story"):
        ask(server, system="Be polite.", extra_body={"temperature": 0.25})

    payload = recorded.only().one("LLM_CALL")["payload"]
    assert payload["prompt"][0] == {"role": "system", "content": "Be polite."}
    assert (payload["temperature"], payload["parameters"]) == (0.25, {"max_tokens": 100})
    assert payload["tools"] == TOOLS


def test_attempts_that_were_repeated_stand_in_the_event(server: FakeServer, recorded: Recorded) -> None:
    """An overloaded provider is slow in a way only the attempts explain."""

    def overloaded_once(request: Request) -> Answer:
        return Answer(text="overloaded", status=529) if request.number == 1 else greet(request)

    server.brain = overloaded_once
    with traced_run("story"):
        ask(server)

    payload = recorded.only().one("LLM_CALL")["payload"]
    assert (payload["retries"], payload["response"]) == ([{"status_code": 529}], GREETING)
    assert len(server.requests) == 2


def test_a_refused_request_is_recorded_as_it_was_raised(server: FakeServer, recorded: Recorded) -> None:
    """The commonest fault of all: the provider says no."""
    server.brain = lambda _: Answer(text="no such model", status=404)
    with pytest.raises(anthropic.NotFoundError), traced_run("story"):
        ask(server)

    payload = recorded.only().one("LLM_CALL")["payload"]
    assert (payload["status"], payload["error"]["error_type"]) == ("error", "NotFoundError")


def test_the_beta_endpoint_and_raw_responses_are_recorded_too(server: FakeServer, recorded: Recorded) -> None:
    """Other libraries call the client in every way it can be called."""
    server.brain = greet
    with traced_run("story"), client(server) as asking:
        asking.beta.messages.create(**request([{"role": "user", "content": QUESTION}]))
        raw = asking.messages.with_raw_response.create(**request([{"role": "user", "content": QUESTION}]))

    assert raw.parse().content[0].text == GREETING
    responses = [call["payload"]["response"] for call in recorded.only().of_type("LLM_CALL")]
    assert responses == [GREETING, GREETING]


def test_disable_restores_the_client(server: FakeServer, recorded: Recorded) -> None:
    """What was changed has to be changed back, or nobody dares to try it."""
    from agentdbg.integrations import anthropic as integration

    integration.disable()
    with traced_run("story"):
        ask(server)

    assert not hasattr(anthropic.Anthropic.request, "__wrapped__")
    assert recorded.only().of_type("LLM_CALL") == []
