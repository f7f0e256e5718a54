"""LangChain and LangGraph: the story played by an agent, with a handler in the config and without one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg import traced_run
from tests.integrations.story import GREETING, MODEL, QUESTION, SUMMARY, Story, check_tree, greet, read_weather

pytest.importorskip("langgraph")
pytest.importorskip("langchain_openai")

from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.language_models import FakeListLLM, GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnableParallel
from langchain_core.tools import ToolException, tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from agentdbg.integrations import AgentDbgLangChainCallbackHandler
from agentdbg.integrations import langchain as integration
from agentdbg.integrations import openai as client_integration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from examples.fake_openai_server import FakeServer
    from tests.conftest import Recorded

pytestmark = [pytest.mark.frameworks, pytest.mark.filterwarnings("default")]


get_weather = tool("get_weather")(read_weather)


def model(server: FakeServer, **options: Any) -> Any:
    return ChatOpenAI(
        model=MODEL, base_url=server.openai_url, api_key="none", stream_usage=True, max_retries=0, **options
    )


class LangChainStory(Story):
    framework = "langchain"

    def config(self) -> dict[str, Any]:
        return {}

    def ask(self, server: FakeServer, question: str) -> str:
        agent = create_agent(model(server), [get_weather])
        return str(agent.invoke({"messages": [("user", question)]}, self.config())["messages"][-1].content)

    async def aask(self, server: FakeServer, question: str) -> str:
        agent = create_agent(model(server), [get_weather])
        answered = await agent.ainvoke({"messages": [("user", question)]}, self.config())
        return str(answered["messages"][-1].content)

    def ask_streaming(self, server: FakeServer, question: str, pieces: int | None = None) -> str:
        said: list[str] = []
        stream = model(server).stream(question, self.config())
        for chunk in stream:
            said.append(chunk.content)
            if len(said) == pieces:
                stream.close()
                break
        return "".join(said)


class TestWithAHandler(LangChainStory):
    def config(self) -> dict[str, Any]:
        return {"callbacks": [AgentDbgLangChainCallbackHandler()]}


class TestEnabled(LangChainStory):
    """Nobody passes anything, and the client underneath is recorded too: one call is still one LLM_CALL."""

    @pytest.fixture(autouse=True)
    def _enabled(self) -> Iterator[None]:
        integration.enable()
        client_integration.enable()
        yield
        client_integration.disable()
        integration.disable()


@pytest.fixture
def handler() -> dict[str, Any]:
    return {"callbacks": [AgentDbgLangChainCallbackHandler()]}


def test_nodes_are_spans_and_hold_what_happened_in_them(
    server: FakeServer, recorded: Recorded, handler: dict[str, Any]
) -> None:
    """A graph is understood by its nodes, so the tree shows them, named as the program named them."""
    with traced_run("story"):
        create_agent(model(server), [get_weather]).invoke({"messages": [("user", QUESTION)]}, handler)

    run = recorded.only()
    spans = {event["event_id"]: event for event in run.of_type("STATE_UPDATE")}
    graph = next(span for span in spans.values() if span["meta"]["span"] == "LangGraph")
    assert graph["parent_id"] == run.one("RUN_START")["event_id"]
    assert graph["meta"]["chain_type"] == "LangGraph"
    built_by = graph["meta"].get("agent_type", "langchain_create_agent")  # older releases do not say
    assert built_by == "langchain_create_agent"
    assert graph["payload"]["output"]["messages"][-1] == {"role": "assistant", "content": SUMMARY}
    for call in run.of_type("LLM_CALL"):
        node = spans[call["parent_id"]]
        assert (node["name"], node["meta"]["langgraph_node"], node["parent_id"]) == (
            "model",
            "model",
            graph["event_id"],
        )


def test_enabled_and_given_a_handler_records_once(
    server: FakeServer, recorded: Recorded, handler: dict[str, Any]
) -> None:
    """A program that already passes a handler may also run where everything is enabled."""
    server.brain = greet
    integration.enable()
    try:
        with traced_run("story"):
            model(server, callbacks=[AgentDbgLangChainCallbackHandler()]).invoke(QUESTION, handler)
    finally:
        integration.disable()

    assert len(recorded.only().of_type("LLM_CALL")) == 1


def test_streaming_an_agent_records_every_call_of_it(
    server: FakeServer, recorded: Recorded, handler: dict[str, Any]
) -> None:
    """`stream` is how graphs are run in chat programs."""
    with traced_run("story"):
        for _ in create_agent(model(server), [get_weather]).stream(
            {"messages": [("user", QUESTION)]}, handler, stream_mode="messages"
        ):
            pass

    run = recorded.only()
    assert len(run.of_type("LLM_CALL")) == len(server.requests) == 2
    assert len(run.of_type("TOOL_CALL")) == 2
    check_tree(run)


def test_streaming_an_agent_in_async_code(server: FakeServer, recorded: Recorded, handler: dict[str, Any]) -> None:
    """The same where every callback comes from a task of its own."""

    async def main() -> None:
        async with traced_run("story"):
            agent = create_agent(model(server), [get_weather])
            async for _ in agent.astream({"messages": [("user", QUESTION)]}, handler, stream_mode="messages"):
                pass

    asyncio.run(main())
    assert len(recorded.only().of_type("LLM_CALL")) == len(server.requests) == 2
    check_tree(recorded.only())


def test_a_batch_is_as_many_calls_as_it_has_inputs(
    server: FakeServer, recorded: Recorded, handler: dict[str, Any]
) -> None:
    """Batches run on a pool; each input is a call of its own."""
    server.brain = greet
    with traced_run("story"):
        model(server).batch(["one", "two", "three"], handler)

    calls = recorded.only().of_type("LLM_CALL")
    assert sorted(call["payload"]["prompt"][0]["content"] for call in calls) == ["one", "three", "two"]
    assert {call["parent_id"] for call in calls} == {recorded.only().one("RUN_START")["event_id"]}


def test_what_a_tool_records_hangs_under_the_tool(recorded: Recorded, handler: dict[str, Any]) -> None:
    """Plain recording and the framework's make one tree."""
    from agentdbg import record_state

    def find(word: str) -> str:
        """Look a word up."""
        record_state({"word": word})
        return "found"

    look_up = tool("look_up")(find)

    async def main() -> None:
        async with traced_run("async"):
            await look_up.ainvoke({"word": "b"}, handler)

    with traced_run("sync"):
        look_up.invoke({"word": "a"}, handler)
        record_state({"word": "after"})
    asyncio.run(main())

    first, second = recorded.all()
    inside, after = first.of_type("STATE_UPDATE")
    assert inside["parent_id"] == first.one("TOOL_CALL")["event_id"]
    assert after["parent_id"] == first.one("RUN_START")["event_id"]
    assert second.one("STATE_UPDATE")["parent_id"] == second.one("TOOL_CALL")["event_id"]


def test_what_runs_after_an_awaited_model_is_not_inside_it(
    server: FakeServer, recorded: Recorded, handler: dict[str, Any]
) -> None:
    """LangChain reports an awaited end from another context; the tree must not grow ever deeper for it."""
    from agentdbg import record_state

    server.brain = greet

    async def main() -> None:
        async with traced_run("story"):
            for _ in range(3):
                await model(server).ainvoke(QUESTION, handler)
            record_state({"done": True})

    asyncio.run(main())
    run = recorded.only()
    parents = {event["parent_id"] for event in (*run.of_type("LLM_CALL"), *run.of_type("STATE_UPDATE"))}
    assert parents == {run.one("RUN_START")["event_id"]}


def test_an_interrupt_is_no_failure(recorded: Recorded, handler: dict[str, Any]) -> None:
    """A graph that waits for a person has done nothing wrong, and goes on later."""

    def approve(state: MessagesState) -> dict[str, Any]:
        return {"messages": [("ai", f"approved: {interrupt('may I?')}")]}

    builder = StateGraph(MessagesState)
    builder.add_node("approve", approve)
    builder.add_edge(START, "approve")
    graph = builder.compile(checkpointer=InMemorySaver())
    config = {**handler, "configurable": {"thread_id": "7"}}
    with traced_run("story"):
        graph.invoke({"messages": [("user", "go")]}, config)
        graph.invoke(Command(resume="yes"), config)

    run = recorded.only()
    assert run.meta["status"] == "ok"
    nodes = [span for span in run.of_type("STATE_UPDATE") if span["name"] == "approve"]
    assert [span["payload"]["error"] for span in nodes] == [None, None]
    assert [span["meta"].get("interrupted", False) for span in nodes] == [True, False]


def test_a_tool_that_tells_of_its_failure_is_a_failed_call(recorded: Recorded, handler: dict[str, Any]) -> None:
    """LangChain can turn an exception into a message for the model; it is a failure all the same."""

    def fail(word: str) -> str:
        """Fail."""
        raise ToolException("out of order")

    broken = tool("broken")(fail)
    broken.handle_tool_error = True
    call = {"name": "broken", "args": {"word": "a"}, "id": "call_1", "type": "tool_call"}
    with traced_run("story"):
        broken.invoke(call, handler)

    payload = recorded.only().one("TOOL_CALL")["payload"]
    assert payload["status"] == "error"
    assert payload["error"]["message"] == "out of order"


def test_an_mcp_result_that_says_it_failed_is_a_failed_call(recorded: Recorded, handler: dict[str, Any]) -> None:
    """MCP tools give their content to the model and keep the result itself beside it."""

    def read(path: str) -> Any:
        """Read."""
        content = [{"type": "text", "text": "no such file"}]
        return content, {"content": content, "isError": path == "gone"}

    reading = tool("read", response_format="content_and_artifact")(read)
    with traced_run("story"):
        for path in ("gone", "here"):
            reading.invoke({"name": "read", "args": {"path": path}, "id": f"c {path}", "type": "tool_call"}, handler)

    bad, good = (event["payload"] for event in recorded.only().of_type("TOOL_CALL"))
    assert (bad["status"], bad["error"]["message"]) == ("error", "no such file")
    assert (good["status"], good["error"]) == ("ok", None)


def test_the_words_of_a_failure_in_blocks_are_its_message(recorded: Recorded, handler: dict[str, Any]) -> None:
    """Adapters for MCP answer with a list of blocks, which nobody wants to read as one."""

    def fail(word: str) -> str:
        """Fail."""
        raise ToolException("unused")

    broken = tool("broken")(fail)
    broken.handle_tool_error = lambda _: [{"type": "text", "text": "no such file"}]
    with traced_run("story"):
        broken.invoke({"name": "broken", "args": {"word": "a"}, "id": "call_1", "type": "tool_call"}, handler)

    assert recorded.only().one("TOOL_CALL")["payload"]["error"]["message"] == "no such file"


@pytest.mark.parametrize("way", ["invoke", "stream", "completion"])
def test_what_a_run_is_called_is_not_its_model(recorded: Recorded, handler: dict[str, Any], way: str) -> None:
    """A model that does not say what it is must not be grouped, priced and compared under a name of the program's."""
    config = {**handler, "run_name": "summarise the news"}
    fake = GenericFakeChatModel(messages=iter([AIMessage("hello")]), name="a name of my own")
    with traced_run("story"):
        if way == "invoke":
            fake.invoke("hi", config)
        elif way == "stream":
            list(fake.stream("hi", config))
        else:
            FakeListLLM(responses=["hello"]).invoke("hi", config)

    call = recorded.only().one("LLM_CALL")
    assert (
        call["name"] == call["payload"]["model"] == ("FakeListLLM" if way == "completion" else "GenericFakeChatModel")
    )


def test_any_chat_model_is_recorded_by_what_it_says_of_itself(recorded: Recorded, handler: dict[str, Any]) -> None:
    """A model nobody knows has at least the name of its class, and no invented usage."""
    fake = GenericFakeChatModel(messages=iter([AIMessage("hello")]))
    with traced_run("story"):
        fake.invoke("hi", handler)

    payload = recorded.only().one("LLM_CALL")["payload"]
    assert payload["model"] == "GenericFakeChatModel"
    assert (payload["response"], payload["usage"]) == ("hello", None)


def test_steps_in_parallel_keep_their_own_children(recorded: Recorded, handler: dict[str, Any]) -> None:
    """Two branches run on two threads; what each did has to hang under it."""

    def branch(name: str) -> Any:
        fake = GenericFakeChatModel(messages=iter([AIMessage(name)]))
        return RunnableLambda(lambda text: fake.invoke(text).content).with_config(run_name=name)

    with traced_run("story"):
        RunnableParallel(left=branch("left"), right=branch("right")).invoke("hi", handler)

    run = recorded.only()
    spans = {span["event_id"]: span["name"] for span in run.of_type("STATE_UPDATE")}
    assert {call["payload"]["response"]: spans[call["parent_id"]] for call in run.of_type("LLM_CALL")} == {
        "left": "left",
        "right": "right",
    }
    check_tree(run)


def test_a_chain_that_fails_says_so_once(recorded: Recorded, handler: dict[str, Any]) -> None:
    """The exception that ends the run stands in the span it came from, and is the program's own."""

    def fail(_: str) -> str:
        raise KeyError("nothing there")

    with pytest.raises(KeyError), traced_run("story"):
        RunnableLambda(fail).invoke("hi", handler)

    run = recorded.only()
    assert run.one("STATE_UPDATE")["payload"]["error"]["error_type"] == "KeyError"
    assert run.meta["counts"]["errors"] == 1


def test_a_retriever_is_a_tool_that_was_asked(recorded: Recorded, handler: dict[str, Any]) -> None:
    """What was looked up, and the outcome, is half of every agent that reads documents."""

    class Shelf(BaseRetriever):  # type: ignore[misc]
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Any]:
            if query == "burn":
                raise LookupError("no such shelf")
            return [Document(page_content="Oslo is cold.", metadata={"page": 7})]

    with traced_run("story"):
        Shelf().invoke("Oslo", handler)
        with pytest.raises(LookupError):
            Shelf().invoke("burn", handler)

    found, failed = recorded.only().of_type("TOOL_CALL")
    assert (found["name"], found["payload"]["args"]) == ("Shelf", {"query": "Oslo"})
    assert found["payload"]["result"][0]["page_content"] == "Oslo is cold."
    assert failed["payload"]["error"]["error_type"] == "LookupError"


def _retrying(runnable: Any) -> Any:
    return runnable.with_retry(stop_after_attempt=5, wait_exponential_jitter=False)


def _falling_back(runnable: Any) -> Any:
    return runnable.with_fallbacks([runnable, runnable])


@pytest.mark.parametrize("stubborn", [_retrying, _falling_back])
def test_trying_again_does_not_get_around_a_guardrail(
    stubborn: Any, server: FakeServer, recorded: Recorded, handler: dict[str, Any]
) -> None:
    """`with_retry` and `with_fallbacks` catch every Exception; the limit must hold against them."""
    from agentdbg import AgentDbgGuardrailExceeded

    server.brain = greet
    with pytest.raises(AgentDbgGuardrailExceeded), traced_run("story", max_llm_calls=1):
        model(server).invoke("one", handler)
        stubborn(model(server)).invoke("two", handler)

    assert len(server.requests) == 1
    assert recorded.only().one("LLM_CALL")["payload"]["response"] == GREETING
