"""What every integration relies on: start and end found again, in the right run and at the right place."""

from __future__ import annotations

import asyncio
import threading
from asyncio import CancelledError
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg import AgentDbgGuardrailExceeded, llm_call, record_state, tool_call, traced_run
from agentdbg.around import Call, Pairing, contained, enclosing_call
from agentdbg.exceptions import RunStopped
from agentdbg.integrations import INTEGRATIONS
from agentdbg.recorder import pairing as pairing_module
from agentdbg.recorder.context import current_scope, enter_scope

if TYPE_CHECKING:
    from tests.conftest import Recorded


@pytest.fixture
def pairing() -> Pairing:
    return Pairing("testing")


def in_thread(work: Any) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_an_end_on_another_thread_finds_its_start(pairing: Pairing, recorded: Recorded) -> None:
    """Frameworks report from pools; the event belongs to the run of the start all the same."""
    with traced_run("one"):
        pairing.start("a", "tool", "search", {"q": 1})
        thread = threading.Thread(target=pairing.end, args=("a", "found"))
        enter_scope(None)
        thread.start()
        thread.join()

    tool = recorded.only().one("TOOL_CALL")
    assert (tool["payload"]["args"], tool["payload"]["result"]) == ({"q": 1}, "found")
    assert tool["event_id"] == recorded.only().one("CALL_START")["payload"]["call_id"]


def test_children_hang_under_what_their_parent_key_began(pairing: Pairing, recorded: Recorded) -> None:
    """The framework's own tree wins over where the callback happened to run."""
    with traced_run("one"):
        pairing.start("agent", "span", "Agent")
        pairing.start("other", "span", "Other")
        pairing.start("model", "llm", "m", parent_key="agent")
        for key in ("model", "other", "agent"):
            pairing.end(key)

    run = recorded.only()
    spans = {span["name"]: span for span in run.of_type("STATE_UPDATE")}
    assert run.one("LLM_CALL")["parent_id"] == spans["Agent"]["event_id"]
    assert spans["Agent"]["meta"] == {"span": "Agent", "framework": "testing"}


def test_what_follows_a_step_stands_beside_it_although_models_were_asked_in_it(
    pairing: Pairing, recorded: Recorded
) -> None:
    """A model call leaves its mark for tools that follow; the mark goes with the step that it was made in."""
    clients = Pairing("clients")
    with traced_run("one"):
        for agent in ("first", "second"):
            pairing.start(agent, "span", agent)
            clients.start("asked", "llm", "m")
            clients.end("asked")
            pairing.end(agent)
        with tool_call("afterwards"):
            pass

    run = recorded.only()
    start = run.one("RUN_START")["event_id"]
    assert [span["parent_id"] for span in run.of_type("STATE_UPDATE")] == [start, start]
    assert run.one("TOOL_CALL")["parent_id"] == start


def test_whoever_stands_in_a_step_that_ended_elsewhere_stands_around_all_that_is_over(
    pairing: Pairing, recorded: Recorded
) -> None:
    """Frameworks begin a node in the task of the program and end it, and the graph, in a task of their own."""
    with traced_run("one"):
        pairing.start("graph", "span", "graph")
        pairing.start("node", "span", "node")
        for key in ("node", "graph"):
            in_thread(partial(pairing.end, key))
        record_state({"after": True})

    run = recorded.only()
    assert run.of_type("STATE_UPDATE")[-1]["parent_id"] == run.one("RUN_START")["event_id"]


@pytest.mark.parametrize("left", [GeneratorExit, CancelledError])
def test_what_is_left_half_way_is_cancelled_and_has_no_price(
    left: type[BaseException], pairing: Pairing, recorded: Recorded
) -> None:
    """Told one way for models and steps; a tool that was cancelled has not done what it was to do."""
    with traced_run("one"):
        pairing.start("agent", "span", "Agent")
        pairing.start("model", "llm", "gpt-4o")
        pairing.end("model", "Once up", error=left(), usage={"prompt_tokens": 9, "completion_tokens": 1})
        pairing.start("tool", "tool", "search")
        pairing.end("tool", error=left())
        pairing.end("agent", error=left())

    run = recorded.only()
    model, tool, agent = run.one("LLM_CALL"), run.one("TOOL_CALL"), run.one("STATE_UPDATE")
    assert [event["meta"]["cancelled"] for event in (model, tool, agent)] == [True] * 3
    assert (model["payload"]["status"], model["payload"]["response"], model["payload"]["cost_usd"]) == (
        "ok",
        "Once up",
        None,
    )
    assert (tool["payload"]["status"], agent["payload"]["error"]) == ("error", None)


def test_a_tool_hangs_under_the_model_call_that_asked_for_it(pairing: Pairing, recorded: Recorded) -> None:
    """By the id of the request where there is one, else under the last model call of the same step."""
    with traced_run("one"):
        pairing.start("step", "span", "Step")
        pairing.start("first", "llm", "m", parent_key="step")
        pairing.end("first", asks_for=["call_1"])
        pairing.start("second", "llm", "m", parent_key="step")
        pairing.end("second")
        pairing.start("asked", "tool", "by id", parent_key="step", asked_by="call_1")
        pairing.end("asked")
        pairing.start("next", "tool", "by order", parent_key="step")
        pairing.end("next")
        pairing.end("step")

    run = recorded.only()
    first, second = run.of_type("LLM_CALL")
    by_id, by_order = run.of_type("TOOL_CALL")
    assert (by_id["parent_id"], by_order["parent_id"]) == (first["event_id"], second["event_id"])


@pytest.mark.parametrize("has_own_step", [False, True])
def test_agents_beside_each_other_may_ask_with_the_same_ids(
    pairing: Pairing, recorded: Recorded, *, has_own_step: bool
) -> None:
    """Some servers count their calls anew in every answer; a tool hangs in its own agent all the same."""
    agents = ("a", "b", "c")
    with traced_run("one"):
        pairing.start("crew", "span", "crew")
        for agent in agents:
            pairing.start(agent, "span", agent, parent_key="crew")
        for agent in agents:
            pairing.start(("asks", agent), "span", "asks", parent_key=agent)
            pairing.start(("model", agent), "llm", "m", parent_key=("asks", agent))
            pairing.end(("model", agent), asks_for=["call_1"])
            pairing.end(("asks", agent))
        for agent in agents:
            pairing.start(("works", agent), "span", "works", parent_key=agent)
            around = ("works", agent) if has_own_step else agent
            pairing.start(("tool", agent), "tool", agent, parent_key=around, asked_by="call_1")
            pairing.end(("tool", agent))
            pairing.end(("works", agent))
        for agent in (*agents, "crew"):
            pairing.end(agent)

    run = recorded.only()
    assert [tool["parent_id"] for tool in run.of_type("TOOL_CALL")] == [
        call["event_id"] for call in run.of_type("LLM_CALL")
    ]


def test_an_id_that_comes_again_belongs_to_the_newest_that_asks(pairing: Pairing, recorded: Recorded) -> None:
    """Turn after turn with one id; and a later agent, which has not asked yet, is not answered by an earlier one."""
    with traced_run("one"):
        for agent in ("first", "later"):
            pairing.start(agent, "span", agent)
            for turn in (1, 2) if agent == "first" else ():
                pairing.start(("model", turn), "llm", "m", parent_key=agent)
                pairing.end(("model", turn), asks_for=["call_1"])
                for _ in range(turn):  # a tool that is tried again is asked for by the same call
                    pairing.start("tool", "tool", "t", parent_key=agent, asked_by="call_1")
                    pairing.end("tool")
            pairing.start("tool", "tool", "last", parent_key=agent, asked_by="call_1")
            pairing.end("tool")
            pairing.end(agent)

    run = recorded.only()
    first, second = (call["event_id"] for call in run.of_type("LLM_CALL"))
    later = run.of_type("STATE_UPDATE")[1]["event_id"]
    assert [tool["parent_id"] for tool in run.of_type("TOOL_CALL")] == [first, second, second, second, later]


@pytest.mark.parametrize("told", [None, {"input_tokens": 0, "output_tokens": 7}])
def test_a_usage_without_its_input_is_known_better_inside(pairing: Pairing, recorded: Recorded, told: Any) -> None:
    """No prompt has no tokens: who says so does not know, and who stands nearer to the server may."""
    for inside in ({"input_tokens": 5, "output_tokens": 7}, None):
        with traced_run("one"):
            pairing.start("m", "llm", "m")
            around = enclosing_call("llm")
            assert around is not None
            around.complete("from inside", usage=inside)
            pairing.end("m", "said", usage=told)

    known, unknown = (run.one("LLM_CALL")["payload"] for run in recorded.all())
    assert (known["usage"]["prompt_tokens"], known["usage"]["completion_tokens"]) == (5, 7)
    assert unknown["usage"] == (told and {"prompt_tokens": 0, "completion_tokens": 7, "total_tokens": 7, **told})
    assert {known["response"], unknown["response"]} == {"said"}


def test_an_id_of_another_run_is_not_mixed_up(pairing: Pairing, recorded: Recorded) -> None:
    """Providers count their tool calls anew in every conversation."""
    with traced_run("one"):
        pairing.start("m", "llm", "m")
        pairing.end("m", asks_for=["call_1"])
    with traced_run("two"):
        pairing.start("t", "tool", "t", asked_by="call_1")
        pairing.end("t")

    second = recorded.all()[1]
    assert second.one("TOOL_CALL")["parent_id"] == second.one("RUN_START")["event_id"]


def test_a_skipped_step_is_seen_through(pairing: Pairing, recorded: Recorded) -> None:
    """Inner machinery of a framework is not worth an event, but what it does is."""
    with traced_run("one"):
        pairing.start("agent", "span", "Agent")
        pairing.skip("machinery", "agent")
        pairing.start("tool", "tool", "t", parent_key="machinery")
        for key in ("tool", "machinery", "agent"):
            pairing.end(key)

    run = recorded.only()
    assert run.one("TOOL_CALL")["parent_id"] == run.one("STATE_UPDATE")["event_id"]


def test_the_same_key_reported_twice_is_one_call(pairing: Pairing, recorded: Recorded) -> None:
    """Two handlers in one program see the same call."""
    with traced_run("one"):
        for _ in range(2):
            pairing.start("a", "llm", "m")
        for _ in range(2):
            pairing.end("a", "said")

    assert recorded.only().types() == ["RUN_START", "LLM_CALL", "RUN_END"]


def test_outside_a_run_the_outermost_step_is_the_run(pairing: Pairing, recorded: Recorded) -> None:
    """And only the outermost: what is inside joins it, and its own end closes it."""
    pairing.start("agent", "span", "Agent", "question")
    pairing.start("model", "llm", "m", parent_key="agent")
    pairing.end("model", "said")
    pairing.end("agent", "answer")

    run = recorded.only()
    assert run.types() == ["RUN_START", "LLM_CALL", "RUN_END"]
    assert run.one("RUN_START")["payload"]["args"] == {"input": "question"}
    assert run.one("RUN_END")["payload"]["result"] == "answer"
    assert current_scope() is None


def test_a_step_that_is_only_a_run_is_nothing_inside_one(pairing: Pairing, recorded: Recorded) -> None:
    """A framework's trace around its agents says nothing that the run does not say."""
    with traced_run("one"):
        assert not pairing.start("trace", "run", "Workflow")
        pairing.end("trace")

    assert recorded.only().types() == ["RUN_START", "RUN_END"]


def test_an_error_ends_a_run_of_its_own_as_error(pairing: Pairing, recorded: Recorded) -> None:
    """The failure is the program's exception, counted once."""
    pairing.start("agent", "span", "Agent")
    pairing.end("agent", error=ValueError("no"))

    run = recorded.only()
    assert run.meta["status"] == "error"
    assert run.one("ERROR")["payload"]["error_type"] == "ValueError"


def test_switched_off_it_starts_nothing(pairing: Pairing, recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    """AGENTDBG_ENABLED=0 holds for frameworks too."""
    monkeypatch.setenv("AGENTDBG_ENABLED", "0")

    assert not pairing.start("a", "llm", "m")
    pairing.end("a", "said")
    assert recorded.all() == []


def test_a_refused_call_raises_and_is_not_recorded(pairing: Pairing, recorded: Recorded) -> None:
    """Without a place no call is made; that is all a guardrail is for."""
    with pytest.raises(AgentDbgGuardrailExceeded), traced_run("one", max_llm_calls=1):
        pairing.start("a", "llm", "m")
        pairing.end("a")
        pairing.start("b", "llm", "m")

    assert len(recorded.only().of_type("LLM_CALL")) == 1
    assert not pairing.is_open("b")


def test_in_a_run_of_its_own_every_refusal_is_the_public_exception(
    pairing: Pairing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody stands at the edge of such a run to turn the unswallowable one back, so it must not get out."""
    monkeypatch.setenv("AGENTDBG_MAX_LLM_CALLS", "1")
    pairing.start("agent", "span", "Agent")
    pairing.start("a", "llm", "m", parent_key="agent")
    pairing.end("a")
    for attempt in range(3):
        with pytest.raises(AgentDbgGuardrailExceeded):
            pairing.start(attempt, "llm", "m", parent_key="agent")


def test_in_a_traced_run_a_swallowed_refusal_comes_back_unswallowable(pairing: Pairing) -> None:
    """`except Exception` around a framework must not switch the guardrail off."""
    with traced_run("one", max_tool_calls=0):
        with pytest.raises(AgentDbgGuardrailExceeded):
            pairing.start("a", "tool", "t")
        with pytest.raises(RunStopped):
            pairing.start("b", "tool", "t")


def test_what_is_recorded_inside_a_call_hangs_under_it_and_after_it_beside(
    pairing: Pairing, recorded: Recorded
) -> None:
    """Also where the end is reported from another context than the start."""
    with traced_run("one"):
        pairing.start("t", "tool", "t")
        record_state({"inside": True})
        in_thread(lambda: pairing.end("t"))
        record_state({"after": True})

    run = recorded.only()
    inside, after = run.of_type("STATE_UPDATE")
    assert inside["parent_id"] == run.one("TOOL_CALL")["event_id"]
    assert after["parent_id"] == run.one("RUN_START")["event_id"]


def test_a_prepared_call_is_stood_in_once_it_starts_elsewhere(pairing: Pairing, recorded: Recorded) -> None:
    """Hooks that run in tasks of their own cannot set the context of the code they are about."""
    with traced_run("one"):
        pairing.prepare("t")
        in_thread(lambda: pairing.start("t", "tool", "t"))
        record_state({"inside": True})
        pairing.end("t")

    run = recorded.only()
    assert run.one("STATE_UPDATE")["parent_id"] == run.one("TOOL_CALL")["event_id"]


def test_a_prepared_call_that_never_starts_is_nothing(pairing: Pairing, recorded: Recorded) -> None:
    """A tool that was not approved did not run."""
    with traced_run("one"):
        pairing.prepare("t")
        pairing.end("t", "refused")

    assert recorded.only().types() == ["RUN_START", "RUN_END"]


def test_a_request_inside_a_recorded_model_call_is_that_call(pairing: Pairing) -> None:
    """The client's hook asks this before it records; between the pieces of a stream the answer is no."""
    with traced_run("one"):
        assert enclosing_call("llm") is None
        pairing.start("a", "llm", "m")
        assert enclosing_call("llm") is not None
        in_thread(lambda: None)
        pairing.answering("a")
        assert enclosing_call("llm") is None
        pairing.end("a")
        with llm_call("m"):
            assert enclosing_call("llm") is not None
        with pytest.raises(ValueError, match="x"), llm_call("m"):
            raise ValueError("x")
        assert enclosing_call("llm") is None


def test_a_request_made_on_a_thread_inside_a_model_call_is_that_call(pairing: Pairing) -> None:
    """Clients hop threads; the scope goes along."""
    found: list[Any] = []
    with traced_run("one"):
        pairing.start("a", "llm", "m")
        in_thread(lambda: found.append(enclosing_call("llm")))
        pairing.end("a")

    assert found[0] is not None


def test_what_is_open_when_the_run_ends_is_kept_as_far_as_it_came(pairing: Pairing, recorded: Recorded) -> None:
    """Steps and half-heard streams are facts; a call that never returned is shown by its CALL_START."""
    with traced_run("one"):
        pairing.start("step", "span", "Step")
        pairing.start("stream", "llm", "m", parent_key="step")
        pairing.answering("stream", lambda: {"result": "half an ans"})
        pairing.start("lost", "tool", "t", parent_key="step")

    run = recorded.only()
    assert run.one("LLM_CALL")["payload"]["response"] == "half an ans"
    assert run.one("STATE_UPDATE")["name"] == "Step"
    assert run.of_type("TOOL_CALL") == []
    assert run.types()[-1] == "RUN_END"
    assert not any(pairing.is_open(key) for key in ("step", "stream", "lost"))


def test_a_call_whose_request_was_cancelled_is_one_that_was_left(pairing: Pairing, recorded: Recorded) -> None:
    """LangChain says nothing of a model that it was asking when its task was cancelled; the server was asked."""

    async def never(**_: Any) -> None:
        raise CancelledError

    async def ask(key: str) -> None:
        pairing.start(key, "llm", "m")
        request = Call("http", "POST /chat", {"method": "POST", "url": "x", "body": None}, None, {})
        assert request.begin()
        with pytest.raises(CancelledError):
            await request.make_async(never, **request.input)
        request.fail(CancelledError())

    with traced_run("one"):
        asyncio.run(ask("left"))
        pairing.start("lost", "llm", "n")

    (call,) = recorded.only().of_type("LLM_CALL")
    assert (call["name"], call["meta"]["cancelled"], call["payload"]["status"]) == ("m", True, "ok")


def test_what_nobody_ever_ends_does_not_pile_up(pairing: Pairing, monkeypatch: pytest.MonkeyPatch) -> None:
    """A framework that forgets to report ends must not fill the memory, nor keep places taken."""
    monkeypatch.setattr(pairing_module, "_MOST_OPEN", 10)
    with traced_run("one", max_tool_calls=11):
        for number in range(100):
            pairing.start(number, "tool", "t")

        assert [number for number in range(100) if pairing.is_open(number)] == list(range(90, 100))


def test_a_fault_of_ours_does_not_reach_the_framework(swallow_faults: None) -> None:
    """A recorder that breaks its program is worse than none; only the stop of a run may leave."""

    @contained
    def callback(error: Exception) -> None:
        raise error

    callback(KeyError("ours"))
    with pytest.raises(AgentDbgGuardrailExceeded):
        callback(AgentDbgGuardrailExceeded("max_llm_calls", 1, 2))


def test_many_threads_pair_exactly(pairing: Pairing, recorded: Recorded) -> None:
    """Counts are exact however many tools run at once."""

    def work(number: int) -> None:
        for step in range(20):
            pairing.start((number, step), "tool", "t", {"n": number})
            pairing.end((number, step), number)

    with traced_run("one"):
        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    tools = recorded.only().of_type("TOOL_CALL")
    assert len(tools) == 160
    assert all(tool["payload"]["args"]["n"] == tool["payload"]["result"] for tool in tools)
    assert recorded.only().meta["counts"]["tool_calls"] == 160


def test_a_plain_tool_hangs_under_the_model_call_before_it(pairing: Pairing, recorded: Recorded) -> None:
    """A loop written by hand over a recorded client: the tool was called because of that answer."""
    with traced_run("one"):
        pairing.start("a", "llm", "m")
        pairing.end("a", "call the tool")
        with tool_call("t"):
            pass

    run = recorded.only()
    assert run.one("TOOL_CALL")["parent_id"] == run.one("LLM_CALL")["event_id"]


def test_what_follows_a_step_with_a_model_call_in_it_is_not_inside(pairing: Pairing, recorded: Recorded) -> None:
    """The step is over; whatever the model call in it left behind must be over too."""
    with traced_run("one"):
        pairing.start("step", "span", "Step")
        pairing.start("model", "llm", "m", parent_key="step")
        pairing.end("model")
        record_state({"inside": True})
        pairing.end("step")
        record_state({"after": True})

    run = recorded.only()
    inside, step, after = run.of_type("STATE_UPDATE")
    assert (inside["parent_id"], after["parent_id"]) == (step["event_id"], run.one("RUN_START")["event_id"])


NEED_NOTHING = {f"agentdbg.integrations.{name}" for name in ("frameworks", "http", "web")}


@pytest.mark.parametrize("module", sorted({ours for ours in INTEGRATIONS.values() if find_spec(ours)} - NEED_NOTHING))
def test_a_missing_framework_says_what_to_install(module: str) -> None:
    """The first thing a user of an integration may see is that its framework is not there."""
    package = next(name for name, ours in INTEGRATIONS.items() if ours == module)
    if find_spec(package) is not None:
        pytest.skip(f"{package} is installed here")
    with pytest.raises(ImportError, match="pip install"):
        import_module(module).enable()
