"""Which calls change something: the tool's own word, the settings, a guess from the name."""

from __future__ import annotations

import pytest

from agentdbg.analysis.effects import UNKNOWN, Effect, EffectRules, effect_of, guess, read_effects
from agentdbg.config import load_config
from tests.analysis.diff.events import call_start, run, tool


def test_the_tools_own_word_beats_the_settings_and_the_name() -> None:
    """Only its author knows for sure, and has said so in the code."""
    rules = EffectRules(write_tools=("get_*",))

    assert effect_of(tool("get_quote", meta={"effect": "read"}), rules) == Effect("read", "declared")
    assert effect_of(tool("get_quote"), rules) == Effect("write", "configured")
    assert effect_of(tool("get_quote")) == Effect("read", "guessed")
    assert effect_of(tool("get_quote", meta={"effect": "maybe"})) == Effect("read", "guessed")


def test_an_exact_name_beats_a_pattern_and_write_beats_read() -> None:
    """`update_*` with one exception is how people write such lists."""
    rules = EffectRules(write_tools=("update_*", "both"), read_tools=("update_view", "both", "up*"))

    assert rules.kind_of("update_user") == "write"
    assert rules.kind_of("update_view") == "read"
    assert rules.kind_of("both") == "write"
    assert rules.kind_of("upper") == "read"
    assert rules.kind_of("other") is None


@pytest.mark.parametrize(
    "name",
    [
        "book_reservation",
        "cancel_order",
        "updateUser",
        "SendEmail",
        "github.create_issue",
        "stripe__refund",
        "pay_invoice",
        "order_pizza",
        "get_or_create_user",
        "post_message",
        "write-file",
        "transfer_money",
        "UPDATE_ROW",
    ],
)
def test_names_that_say_they_do_something_are_guessed_to_write(name: str) -> None:
    """Most tools are named by what they do, and a missed write is a missed difference."""
    assert guess(name) == Effect("write", "guessed")


@pytest.mark.parametrize(
    "name",
    [
        "get_user",
        "list_orders",
        "search_flights",
        "calculate",
        "think",
        "file_search",
        "getUpdates",
        "order_status",
        "exchange_rate",
        "transfer_to_human_agents",
        "find_user_id_by_email",
        "readFile",
        "check_update",
    ],
)
def test_names_that_say_they_look_are_guessed_to_read(name: str) -> None:
    """Two good runs look things up differently; that must not count as a different result."""
    assert guess(name) == Effect("read", "guessed")


@pytest.mark.parametrize("name", ["bash", "weather", "run_python", "", "工具", "x1"])
def test_a_name_that_says_nothing_is_neither_a_write_nor_a_read(name: str) -> None:
    """Called a read it would be harmless, and a deleted disk would pass."""
    assert guess(name) == UNKNOWN
    assert UNKNOWN.changes_something is None


def test_a_failed_call_is_no_effect_and_a_call_that_never_returned_is() -> None:
    """What raised did nothing; what the process died in may have been done."""
    lost = tool("send_mail", {"to": "a@example.com"})
    done = tool("book_room", {"room": 7})
    events = run(tool("book_room", {"room": 6}, error="taken"), call_start(done), done, call_start(lost))
    found = read_effects(events).found()

    assert [(effect.number, effect.name, effect.returned) for effect in found] == [
        (4, "book_room", True),
        (5, "send_mail", False),
    ]


def test_the_same_call_written_differently_is_the_same_effect() -> None:
    """Frameworks hand arguments over as objects or as JSON text, models write 2 or 2.0."""
    events = run(tool("pay", {"a": 2.0, "b": [1]}), tool("pay", '{"b": [1], "a": 2}'), tool("pay", {"a": 3, "b": [1]}))
    first, second, third = (effect.signature for effect in read_effects(events).found())

    assert first == second != third


def test_the_settings_name_tools_that_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """A team says it once for the project."""
    monkeypatch.setenv("AGENTDBG_WRITE_TOOLS", "bash, deploy_*")
    config = load_config()
    rules = EffectRules(config.write_tools, config.read_tools)

    assert config.problems == ()
    assert [effect.name for effect in read_effects(run(tool("bash"), tool("think")), rules).found()] == ["bash"]
