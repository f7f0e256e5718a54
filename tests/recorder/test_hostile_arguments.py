"""Values that break serialisers, given to the verbs wherever a verb takes a value: nothing is raised, nothing lost."""

from __future__ import annotations

import enum
import functools
import io
import time
import types
import warnings
from collections.abc import Iterator, Mapping
from itertools import count
from typing import TYPE_CHECKING, Any

import pydantic
import pytest

from agentdbg import (
    llm,
    record_error,
    record_event,
    record_llm_call,
    record_state,
    record_tool_call,
    tool,
    tool_call,
    trace,
    traced_run,
)
from agentdbg.events import validate_event
from agentdbg.storage import load_events, load_run_meta
from tests.redaction.hostile import VALUES

if TYPE_CHECKING:
    from tests.conftest import Recorded


@pytest.mark.slow
@pytest.mark.parametrize("name", VALUES)
def test_a_hostile_value_is_recorded_wherever_it_is_given(
    name: str, request: pytest.FixtureRequest, recorded: Recorded
) -> None:
    """A verb reads some of its arguments itself, before the redactor does, and must be as careful."""
    value: Any = VALUES[name]()
    if issubclass(type(value), io.IOBase):
        request.addfinalizer(value.close)

    with traced_run("hostile") as run:
        record_llm_call(model=value, prompt=value, response=value, provider=value, stop_reason=value)
        record_llm_call("m", usage={"prompt_tokens": value, "more": value}, meta=value)
        record_tool_call(value, args=value, result=value, error=value)
        record_tool_call("t", error={"message": value, "type": value, "stack": value, "details": value})
        record_state(value, name=value, meta=[value])
        record_error(value, context=value, details=value)
        record_event("MINE", value, value, meta={"a": value})
        with tool_call(value, args=value) as call:
            call.result = value
        assert tool(name=value)(_same)(value) is value
        assert llm(model=value)(_same)(value) is value
        with traced_run(value, meta=value, max_llm_calls=1000):
            pass

    meta = load_run_meta(run.run_id)
    assert meta["status"] == "ok"
    assert "dropped_events" not in meta or meta["dropped_events"] == 0
    events = list(load_events(run.run_id))
    assert len([event for event in events if event["event_type"] == "TOOL_CALL"]) == 4
    for event in events:
        validate_event(event)
    for path in recorded.run_dirs():
        assert all(len(line) <= 1_000_000 for line in (path / "events.jsonl").read_bytes().splitlines())


def _same(value: Any) -> Any:
    return value


class _Endless(Mapping[int, int]):
    def __getitem__(self, key: int) -> int:
        return key

    def __iter__(self) -> Iterator[int]:
        return count()

    def __len__(self) -> int:
        return 3


def test_a_meta_without_end_is_read_as_far_as_an_event_can_hold() -> None:
    """A lazy mapping of the user's own may go on for ever, and their program must not."""
    with traced_run("endless") as run:
        record_tool_call("t", meta=_Endless())

    assert [event["meta"]["0"] for event in load_events(run.run_id) if event["event_type"] == "TOOL_CALL"] == [0]


def test_an_error_that_holds_one_list_over_and_over_is_told_in_time() -> None:
    """The text of such a list doubles with each level, so writing it out would never end."""
    doubled: Any = ["the cause"]
    for _ in range(60):
        doubled = [doubled, doubled]

    with traced_run("doubled") as run:
        record_error(["small", ["inner"]])
        record_error(doubled)

    messages = [event["payload"]["message"] for event in load_events(run.run_id) if event["event_type"] == "ERROR"]
    assert messages[0] == "['small', ['inner']]"
    assert len(messages[1]) < 20_000


def test_an_exception_that_holds_one_list_over_and_over_is_told_in_time() -> None:
    """It reaches the caller as it came; only who writes it out would wait for ever."""
    doubled: Any = ["the cause"]
    for _ in range(60):
        doubled = [doubled, doubled]

    @tool
    def fail() -> None:
        raise ValueError(doubled)

    with traced_run("doubled") as run:
        with pytest.raises(ValueError) as raised:
            fail()
        record_tool_call("t", args=functools.partial(_same, doubled), result=raised.value)

    assert raised.value.args == (doubled,)
    error = next(event["payload"]["error"] for event in load_events(run.run_id) if event["event_type"] == "TOOL_CALL")
    assert error["error_type"] == "ValueError"
    assert "in fail" in error["stack"]


def test_an_error_dict_is_read_without_its_own_methods() -> None:
    """A dict that fails when it is asked is still a dict, and what it says of the error is worth keeping."""

    class Failing(dict[str, Any]):
        def get(self, *_: Any) -> Any:
            raise ValueError

        items = keys = __iter__ = get

    with traced_run("failing") as run:
        record_tool_call("t", error=Failing(type="Timeout", message="too late", attempt=3))

    error = next(event["payload"]["error"] for event in load_events(run.run_id) if event["event_type"] == "TOOL_CALL")
    assert error == {"error_type": "Timeout", "message": "too late", "stack": None, "details": {"attempt": 3}}


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_a_str_that_raises_what_ends_programs_ends_none(stop: type[BaseException]) -> None:
    """Only the program itself may decide that it is over."""

    class Loud:
        def __str__(self) -> str:
            raise stop

    with traced_run("loud") as run:
        record_llm_call(model=Loud(), error=Loud())  # type: ignore[arg-type]

    call = next(event for event in load_events(run.run_id) if event["event_type"] == "LLM_CALL")
    assert call["payload"]["error"]["message"] == f"<Loud: its str raised {stop.__name__}>"


def test_a_model_named_by_an_enum_is_its_value() -> None:
    """People keep their model names in an enum of texts; the text is the name, whatever the enum prints."""

    class Models(str, enum.Enum):
        SMALL = "gpt-4o-mini"

    with traced_run("enum") as run:
        record_llm_call(model=Models.SMALL)

    call = next(event for event in load_events(run.run_id) if event["event_type"] == "LLM_CALL")
    assert (call["name"], call["payload"]["model"]) == ("gpt-4o-mini", "gpt-4o-mini")


def test_the_fields_of_a_namespace_are_judged_by_their_names() -> None:
    """Settings are often kept in one, and its text would hide which part of it is the secret."""
    with traced_run("namespace") as run:
        record_state(types.SimpleNamespace(password=["hunter2"], host="db"))

    state = next(event["payload"]["state"] for event in load_events(run.run_id) if event["payload"].get("state"))
    assert state == {"password": "__REDACTED__", "host": "db"}


def test_a_model_with_a_field_of_another_type_warns_nobody() -> None:
    """A provider's answer often differs from its declared type; recording it must not print into the program."""

    class Answer(pydantic.BaseModel):
        count: int = 0

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with traced_run("warned") as run:
            record_tool_call("t", result=Answer.model_construct(count="three"))

    call = next(event for event in load_events(run.run_id) if event["event_type"] == "TOOL_CALL")
    assert call["payload"]["result"] == {"count": "three"}


def test_a_nested_trace_may_have_any_name() -> None:
    """An array has no truth, and a name that is asked for it would raise into the program."""

    class Untrue:
        def __bool__(self) -> bool:
            raise ValueError

    untrue: Any = Untrue()
    with traced_run("outer"), traced_run(untrue, max_llm_calls=3):
        assert trace(name=untrue)(_same)(1) == 1


class _Unnamed(type):
    def __getattribute__(cls, name: str) -> Any:
        if name == "__name__":
            raise ValueError(name)
        return super().__getattribute__(name)


class _Nameless(Exception, metaclass=_Unnamed):
    pass


class _Classless(Exception):
    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise ValueError


@pytest.mark.parametrize("hidden", ["name", "class"])
def test_an_exception_that_hides_what_it_is_still_ends_its_run(hidden: str) -> None:
    """Asking it raises, and the run it ends would otherwise stay open for ever."""
    error: Exception = _Nameless() if hidden == "name" else _Classless()
    reached: list[Exception] = []
    try:
        with traced_run("hidden") as run:
            raise error
    except Exception as same:
        reached.append(same)

    assert reached[0] is error
    meta = load_run_meta(run.run_id)
    assert (meta["status"], meta["counts"]["errors"]) == ("error", 1)


@pytest.mark.parametrize(("code", "status"), [(None, "ok"), (0, "ok"), (False, "ok"), (1, "error"), ("bye", "error")])
def test_a_program_that_exits_ends_its_run_as_its_exit_status_says(code: Any, status: str) -> None:
    """What the shell sees and what the trace says are the same."""
    with pytest.raises(SystemExit), traced_run("exit") as run:
        raise SystemExit(code)

    assert load_run_meta(run.run_id)["status"] == status


def test_a_usage_of_any_kind_of_mapping_is_read_and_one_that_raises_is_left_out() -> None:
    """Providers hand out read-only views, and an object that raises must not end the program it is recorded in."""

    class Loud:
        def __getattribute__(self, name: str) -> Any:
            raise KeyboardInterrupt

    with traced_run("usage") as run:
        record_llm_call(usage=types.MappingProxyType({"input_tokens": 3, "output_tokens": 4}))
        record_llm_call(usage=Loud())
        record_llm_call(usage=_Endless())

    usages = [event["payload"]["usage"] for event in load_events(run.run_id) if event["event_type"] == "LLM_CALL"]
    assert usages[0]["total_tokens"] == 7
    assert usages[1] is None


def test_an_endless_text_where_a_word_or_number_belongs_takes_no_time() -> None:
    """A whole document may end up in any argument, and none is worth holding the agent up for."""
    text: Any = "x" * 50_000_000
    with traced_run("long") as run:
        began = time.process_time()
        record_tool_call("t", status=text, duration_ms=text)
        record_llm_call(temperature=text, cost_usd=text, duration_ms=bytearray(50_000_000))  # type: ignore[arg-type]
        record_event(text, "named")
        seconds = time.process_time() - began

    assert seconds < 0.3
    assert max(map(len, (run.path / "events.jsonl").read_bytes().splitlines())) <= 1_000_000


def test_a_secret_in_the_name_of_a_source_file_is_not_stored() -> None:
    """Notebooks and generated code are named by whoever makes them."""
    code = "from agentdbg import record_tool_call\nrecord_tool_call('t')"
    with traced_run("named") as run:
        exec(compile(code, "/x/password=hunter2-Xq9.py", "exec"), {})
        exec(compile(code, "/x/reset_password.py", "exec"), {})

    log = (run.path / "events.jsonl").read_bytes()
    assert b"hunter2-Xq9" not in log
    assert b"/x/reset_password.py:2" in log
