"""record_*: what lands in the payload, in whatever words and types it was given."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg import record_error, record_event, record_llm_call, record_state, record_tool_call, trace, traced_run
from agentdbg.recorder.prices import PriceTable

if TYPE_CHECKING:
    from tests.conftest import Recorded


def test_a_recorded_tool_call_can_declare_its_effect(recorded: Recorded) -> None:
    """Who records afterwards knows as well as who stands around the call whether it wrote."""
    with traced_run("r"):
        record_tool_call("checkout", {"cart": 7}, "done", effect="write", meta={"team": "shop"})
        record_tool_call("peek", effect="read")

    first, second = recorded.only().of_type("TOOL_CALL")
    assert first["meta"] == {"team": "shop", "effect": "write"}
    assert second["meta"] == {"effect": "read"}
    assert "effect" not in first["payload"]


def test_a_model_call_has_every_field_of_the_format(recorded: Recorded) -> None:
    """Readers rely on the fields being there, null or not."""
    with traced_run("r"):
        event_id = record_llm_call(
            model="gpt-4",
            prompt="Summarize.",
            response="There are 42.",
            usage={"prompt_tokens": 12, "completion_tokens": 8, "total_tokens": 20},
            provider="openai",
            temperature=0.7,
            stop_reason="stop",
            duration_ms=12.6,
            meta={"framework": "langchain"},
            tools=[{"name": "search"}],
        )

    event = recorded.only().one("LLM_CALL")
    payload = event["payload"]
    assert event["event_id"] == event_id
    assert event["name"] == "gpt-4"
    assert event["duration_ms"] == 13
    assert event["meta"] == {"framework": "langchain"}
    assert payload.pop("source").startswith("tests/recorder/test_recording.py:")
    assert payload.pop("cost_usd") == pytest.approx(12 * 30e-6 + 8 * 60e-6)
    assert payload == {
        "model": "gpt-4",
        "prompt": "Summarize.",
        "response": "There are 42.",
        "usage": {"prompt_tokens": 12, "completion_tokens": 8, "total_tokens": 20},
        "provider": "openai",
        "temperature": 0.7,
        "stop_reason": "stop",
        "status": "ok",
        "error": None,
        "tools": [{"name": "search"}],
    }


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        (None, None),
        ({}, None),
        ({"input_tokens": 5, "output_tokens": 2}, (5, 2, 7)),
        ({"prompt_tokens": 5}, (5, None, None)),
        ({"total_tokens": 9}, (None, None, 9)),
        ({"prompt_tokens": "5", "completion_tokens": 2.0}, (5, 2, 7)),
        ({"prompt_tokens": -1, "completion_tokens": True}, None),
        ({"input_tokens": 5, "output_tokens": 2, "cache_read_input_tokens": 100}, (105, 2, 107)),
        ({"prompt_token_count": 5, "candidates_token_count": 2, "thoughts_token_count": 3}, (5, 5, 10)),
        (
            {"promptTokenCount": 5, "candidatesTokenCount": 2, "thoughtsTokenCount": 3, "totalTokenCount": 10},
            (5, 5, 10),
        ),
        ({"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 90}}, (100, 5, 105)),
    ],
)
def test_usage_is_normalised_and_unknown_stays_null(
    recorded: Recorded, given: Any, stored: tuple[int | None, ...] | None
) -> None:
    """Totals, limits and costs are built on these three numbers; a 0 that means "unknown" would spoil them."""
    with traced_run("r"):
        record_llm_call("m", usage=given)

    usage = recorded.only().one("LLM_CALL")["payload"]["usage"]
    if stored is None:
        assert usage is None
    else:
        assert tuple(usage[key] for key in ("prompt_tokens", "completion_tokens", "total_tokens")) == stored


def test_what_the_provider_said_beyond_the_totals_is_kept(recorded: Recorded) -> None:
    """Cached and reasoning tokens explain a bill."""
    with traced_run("r"):
        record_llm_call(
            "m", usage={"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 4}}
        )

    usage = recorded.only().one("LLM_CALL")["payload"]["usage"]
    assert usage["prompt_tokens_details"] == {"cached_tokens": 4}


@pytest.mark.parametrize(
    ("status", "error", "stored"),
    [
        ("ok", None, "ok"),
        ("success", None, "ok"),
        ("completed", None, "ok"),
        ("failed", None, "error"),
        ("aborted", None, "error"),
        ("ok", "boom", "error"),
        ("ok", ValueError("boom"), "error"),
        ("ok", {"type": "RateLimit", "message": "slow down", "stack_trace": "tb", "code": 429}, "error"),
        (None, None, "error"),
    ],
)
def test_status_and_error_in_whatever_words(recorded: Recorded, status: Any, error: Any, stored: str) -> None:
    """Code that records by hand uses its own words for success and failure."""
    with traced_run("r"):
        record_tool_call("t", status=status, error=error)

    payload = recorded.only().one("TOOL_CALL")["payload"]
    assert payload["status"] == stored
    assert (payload["error"] is None) == (error is None)
    if isinstance(error, dict):
        assert payload["error"] == {
            "error_type": "RateLimit",
            "message": "slow down",
            "stack": "tb",
            "details": {"code": 429},
        }


def test_a_state_says_what_changed(recorded: Recorded) -> None:
    """The whole state is the truth; the difference is what one reads."""
    with traced_run("r"):
        record_state({"step": 1, "gone": True})
        record_state({"step": 2, "new": [1]})
        record_state("a text")
        record_state({"other": 1}, name="memory")
        record_state({"step": 2}, diff={"given": "by hand"})

    diffs = [event["payload"]["diff"] for event in recorded.only().of_type("STATE_UPDATE")]
    assert diffs == [None, {"step": 2, "new": [1], "gone": None}, None, None, {"given": "by hand"}]


def test_a_state_changed_after_recording_stays_as_it_was(recorded: Recorded) -> None:
    """Agents mutate one dict all the time; the log must not."""
    state = {"step": 1, "items": ["a"]}
    with traced_run("r"):
        record_state(state)
        state["step"] = 2
        state["items"].append("b")  # type: ignore[attr-defined]
        record_state(state)

    events = recorded.only().of_type("STATE_UPDATE")
    assert events[0]["payload"]["state"] == {"step": 1, "items": ["a"]}
    assert events[1]["payload"]["diff"] == {"step": 2, "items": ["a", "b"]}


def test_an_error_handled_by_the_program_can_be_recorded(recorded: Recorded) -> None:
    """Not every failure ends a run."""
    with traced_run("r"):
        try:
            raise ConnectionError("refused")
        except ConnectionError as error:
            record_error(error, context={"host": "db"}, details={"retries": 3})

    run = recorded.only()
    payload = run.one("ERROR")["payload"]
    assert run.meta["status"] == "ok"
    assert run.meta["counts"]["errors"] == 1
    assert payload["error_type"] == "ConnectionError"
    assert payload["fatal"] is False
    assert payload["context"] == {"host": "db"}
    assert payload["details"] == {"retries": 3}
    assert "in test_an_error_handled" in payload["stack"]


def test_own_event_types_are_written_in_capitals_and_built_in_ones_refused(
    recorded: Recorded, capsys: pytest.CaptureFixture[str]
) -> None:
    """A hand-made RUN_END in the middle of a run would confuse every reader."""
    with traced_run("r"):
        assert record_event("CHECKPOINT", "c1", {"n": 1}, duration_ms=5) is not None
        assert record_event("my-type", "c2", payload="just text") is not None
        assert record_event("RUN_END", "no") is None
        assert record_event("", "no") is None
        assert record_event("naïve ☃", "no") is None

    run = recorded.only()
    assert run.types() == ["RUN_START", "CHECKPOINT", "MY_TYPE", "RUN_END"]
    assert run.events[1]["payload"]["n"] == 1
    assert run.events[2]["payload"]["value"] == "just text"
    assert "RUN_END is a built-in type" in capsys.readouterr().err


@pytest.mark.parametrize(
    "wrong",
    [
        {"model": 5, "usage": "many", "temperature": "hot", "duration_ms": "long", "meta": "text", "provider": None},
        {"model": None, "usage": 5, "temperature": [], "duration_ms": -5, "meta": [1, 2], "stop_reason": 7},
        {"model": {"a": 1}, "usage": [1], "duration_ms": float("nan"), "meta": {1: 2}, "status": 5},
        {"model": object(), "usage": object(), "duration_ms": float("inf"), "error": object()},
    ],
)
def test_a_wrong_type_is_recorded_as_best_it_can_be(recorded: Recorded, wrong: dict[str, Any]) -> None:
    """A debugger that raises at a typo in a call to the debugger is no help."""
    with traced_run("r"):
        assert record_llm_call(**wrong) is not None
        assert record_tool_call(wrong["model"], wrong, wrong, wrong.get("meta")) is not None
        assert record_state(wrong, name=wrong["model"]) is not None
        assert record_error(wrong) is not None

    assert recorded.only().types() == ["RUN_START", "LLM_CALL", "TOOL_CALL", "STATE_UPDATE", "ERROR", "RUN_END"]


def test_totals_are_kept_and_unknown_is_not_zero(recorded: Recorded) -> None:
    """ "No tokens" and "nobody told us" are different answers."""
    with traced_run("known"):
        record_llm_call("gpt-4", usage={"prompt_tokens": 10, "completion_tokens": 5})
        record_llm_call("gpt-4")
    with traced_run("unknown"):
        record_llm_call("my-model")

    known, unknown = recorded.all()
    assert known.meta["total_tokens"] == 15
    assert known.meta["cost_usd"] == pytest.approx(0.0006)
    assert known.one("RUN_END")["payload"]["summary"]["cost_usd"] == pytest.approx(0.0006)
    assert unknown.meta["total_tokens"] is None
    assert unknown.meta["cost_usd"] is None


@pytest.mark.parametrize(
    ("model", "dollars"),
    [
        ("claude-opus-4-5", 5.0),
        ("anthropic/claude-opus-4.5", 5.0),
        ("claude-opus-4-5-20251101", 5.0),
        ("claude-opus-4-5@20251101", 5.0),
        ("anthropic.claude-opus-4-5-20251101-v1:0", 5.0),
        ("us.anthropic.claude-opus-4-5-20251101-v1:0", 5.0),
        ("claude-opus-4-1-20250805", 15.0),
        ("claude-opus-4-20250514", 15.0),
        ("openai/gpt-5.4-mini", 0.75),
        ("gpt-4o-2024-08-06", 2.5),
        ("claude-opus-4-99", None),
        ("claude-opus-4-5@default", 5.0),
        ("claude-3-5-sonnet-v2@20241022", 3.0),
        ("global.anthropic.claude-sonnet-4-5-20250929-v1:0", 3.0),
        ("us-gov.anthropic.claude-3-5-sonnet-20240620-v1:0", 3.0),
        ("anthropic.claude-3-haiku-20240307-v1:0:200k", 0.25),
        ("arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-opus-4-5-20251101-v1:0", 5.0),
        ("bedrock/converse/us.amazon.nova-lite-v1:0", 0.06),
        ("publishers/google/models/gemini-2.0-flash-001", 0.1),
        ("amazon.titan-embed-text-v2:0", 0.02),
        ("amazon.titan-embed-text-v1", None),
        ("ft:gpt-4o-2024-08-06:org::id", None),
        ("gpt-5.4-mega", None),
    ],
)
def test_a_model_has_the_price_of_its_version_or_none(model: str, dollars: float | None) -> None:
    """One version costs a third of the one before it; a guess from the name would be off by that."""
    assert PriceTable().cost_usd(model, {"prompt_tokens": 1_000_000, "completion_tokens": 0}) == dollars


_MILLION = 1_000_000


@pytest.mark.parametrize(
    ("model", "usage", "dollars"),
    [
        # As Anthropic counts: what is read from the cache and written to it stands beside the input.
        ("claude-sonnet-4-5", {"input_tokens": 0, "cache_read_input_tokens": _MILLION, "output_tokens": 0}, 0.3),
        ("claude-sonnet-4-5", {"input_tokens": 0, "cache_creation_input_tokens": _MILLION, "output_tokens": 0}, 3.75),
        (
            "claude-sonnet-4-5",
            {
                "input_tokens": _MILLION,
                "cache_creation_input_tokens": _MILLION,
                "cache_creation": {"ephemeral_5m_input_tokens": 500_000, "ephemeral_1h_input_tokens": 500_000},
                "output_tokens": _MILLION,
            },
            3 + 1.875 + 3 + 15,
        ),
        (
            "claude-sonnet-4-5",
            {"input_tokens": _MILLION, "output_tokens": _MILLION, "service_tier": "batch"},
            9.0,
        ),
        ("claude-sonnet-4-5", {"input_tokens": _MILLION, "output_tokens": 0, "service_tier": "priority"}, None),
        # As LiteLLM and LangChain count.
        (
            "claude-sonnet-4-5",
            {
                "prompt_tokens": _MILLION,
                "completion_tokens": 0,
                "prompt_tokens_details": {"cached_tokens": 400_000, "cache_creation_tokens": 600_000},
            },
            0.12 + 2.25,
        ),
        (
            "claude-sonnet-4-5",
            {"input_tokens": _MILLION, "output_tokens": 0, "input_token_details": {"cache_creation": _MILLION}},
            3.75,
        ),
        # Audio, and a model whose price for it is not known.
        (
            "gpt-audio",
            {
                "prompt_tokens": _MILLION,
                "completion_tokens": _MILLION,
                "prompt_tokens_details": {"audio_tokens": 500_000},
                "completion_tokens_details": {"audio_tokens": _MILLION},
            },
            1.25 + 16 + 64,
        ),
        (
            "gpt-4o",
            {"prompt_tokens": 9, "completion_tokens": 9, "prompt_tokens_details": {"audio_tokens": 1}},
            None,
        ),
        (
            "gemini-2.5-flash",
            {
                "promptTokenCount": _MILLION,
                "candidatesTokenCount": 0,
                "promptTokensDetails": [
                    {"modality": "TEXT", "tokenCount": 0},
                    {"modality": "AUDIO", "tokenCount": _MILLION},
                ],
            },
            1.0,
        ),
        # An embedding writes nothing; a chat that does not say what it wrote has no known cost.
        ("text-embedding-3-small", {"prompt_tokens": _MILLION, "total_tokens": _MILLION}, 0.02),
        ("gpt-4o", {"prompt_tokens": _MILLION, "total_tokens": _MILLION}, None),
    ],
)
def test_what_the_usage_tells_of_is_paid_at_its_own_price(
    model: str, usage: dict[str, Any], dollars: float | None
) -> None:
    """A write to the cache costs more than the input, an hour of audio ten times; taken as input, the bill is wrong."""
    assert PriceTable().measured(model, usage)[1] == (None if dollars is None else pytest.approx(dollars))


class _Hostile:
    """An object whose every method raises; arrays, proxies and half-closed clients come close."""

    def __eq__(self, other: object) -> bool:
        raise ValueError("eq")

    def __bool__(self) -> bool:
        raise ValueError("bool")

    def __str__(self) -> str:
        raise ValueError("str")

    def __repr__(self) -> str:
        raise ValueError("repr")

    def __hash__(self) -> int:
        raise ValueError("hash")

    def __float__(self) -> float:
        raise ZeroDivisionError

    def __getattr__(self, name: str) -> Any:
        raise ValueError(name)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise ValueError("class")


_VERBS: list[tuple[Any, dict[str, Any], list[str]]] = [
    (record_llm_call, {}, ["model", "prompt", "usage", "meta", "provider", "temperature", "stop_reason", "status"]),
    (record_llm_call, {}, ["error", "duration_ms", "cost_usd", "tools"]),
    (record_tool_call, {"name": "t"}, ["name", "args", "result", "meta", "status", "error", "duration_ms"]),
    (record_state, {}, ["state", "meta", "diff", "name"]),
    (record_error, {"error": "e"}, ["error", "context", "details", "fatal", "meta"]),
    (record_event, {"event_type": "OWN", "name": "n"}, ["name", "payload", "meta", "duration_ms"]),
]


_ODD: dict[str, Any] = {
    "hostile": _Hostile(),  # by name: pytest itself cannot hold it
    "huge": 10**400,
    "nan": float("nan"),
    "infinite": float("inf"),
    "surrogate": "\ud800",
    "iterator": iter([1]),
}


@pytest.mark.parametrize("odd", list(_ODD))
def test_no_argument_is_so_odd_that_the_event_is_lost(recorded: Recorded, odd: str) -> None:
    """The event is worth more than the one field that could not be read."""
    value = _ODD[odd]
    with traced_run("r", meta=value):
        for verb, needed, names in _VERBS:
            for name in names:
                assert verb(**{**needed, name: value}) is not None, (verb.__name__, name)

    run = recorded.only()
    assert len(run.events) >= 2 + sum(len(names) for _, _, names in _VERBS)
    assert run.meta["dropped_events"] == 0


def test_an_iterator_given_as_meta_is_not_used_up(recorded: Recorded) -> None:
    """Whatever the place, the user's iterators stay the user's."""
    pairs = iter([("a", 1)])
    with traced_run("r", meta=pairs):  # type: ignore[arg-type]
        record_tool_call("t", meta=pairs)

    assert next(pairs) == ("a", 1)


def test_a_count_nobody_can_have_counted_is_unknown(recorded: Recorded) -> None:
    """One absurd number would spoil the totals, and the arithmetic behind the limits."""
    with traced_run("r", max_tokens=100, max_cost_usd=5):
        record_llm_call("gpt-4o", usage={"prompt_tokens": 10**400, "completion_tokens": 1, "total_tokens": 10**400})

    run = recorded.only()
    assert run.one("LLM_CALL")["payload"]["usage"]["total_tokens"] is None
    assert run.meta["total_tokens"] == 1


def test_states_that_fit_alone_fit_a_line_together_with_their_difference(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """State and diff, result and final state share one line, and no line is over a megabyte."""
    monkeypatch.setenv("AGENTDBG_MAX_FIELD_BYTES", "5000000")

    @trace
    def agent() -> str:
        for letter in "ab":
            record_state({"text": letter * 900_000})
        return "r" * 900_000

    agent()
    run = recorded.only()
    lines = (run.path / "events.jsonl").read_bytes().splitlines(keepends=True)
    assert max(map(len, lines)) <= 1_000_000
    assert run.of_type("STATE_UPDATE")[1]["payload"]["diff"]["text"].startswith("bbb")
    assert run.one("RUN_END")["payload"]["final_state"]["text"].startswith("bbb")
    assert run.one("RUN_END")["payload"]["result"].startswith("rrr")


def test_what_a_program_does_to_os_leaves_the_recorder_alone(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`langgraph dev` refuses whatever may block an event loop; others put a file system in memory there."""

    def refused(*_: Any, **__: Any) -> Any:
        raise BlockingIOError("Blocking call")

    for name in ("write", "getcwd", "replace", "rename", "mkdir", "unlink", "listdir"):
        monkeypatch.setattr(os, name, refused)
    with traced_run("guarded"):
        record_tool_call("search", {"q": "x"}, "found")
    monkeypatch.undo()

    assert recorded.only().one("TOOL_CALL")["payload"]["result"] == "found"
    assert recorded.only().meta["status"] == "ok"
