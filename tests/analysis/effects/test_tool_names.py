"""What tools' names say, held against names of public MCP servers and agents that were labelled by hand."""

from __future__ import annotations

import itertools
import re
import zlib
from pathlib import Path

import pytest

from agentdbg.analysis.effect_guess import tool_names as name_words
from agentdbg.analysis.effect_guess.tool_names import name_effect

LIST = Path(__file__).with_name("tool_names.txt")


def _labelled() -> dict[str, str]:
    lines = [line for line in LIST.read_text().splitlines() if line and line[0] not in "#["]
    return {name: label for line in lines for label, _, names in [line.partition(":")] for name in names.split()}


def _half(which: str) -> dict[str, str]:
    """The words were chosen by looking at one half; the other one was measured afterwards."""
    held = which == "held out"
    return {name: label for name, label in _labelled().items() if (zlib.crc32(name.encode()) % 2 == 1) == held}


def test_the_list_is_long_enough() -> None:
    """Rates of a few names say nothing."""
    assert len(_labelled()) >= 600


@pytest.mark.parametrize("half", ["tuned on", "held out"])
def test_writes_are_known_and_none_is_called_a_read(half: str) -> None:
    """A write that is called a read passes every gate without a word."""
    names = _half(half)
    writes = [name for name, label in names.items() if label == "write"]
    known = [name for name in writes if name_effect(name) == "write"]
    missed = [name for name, label in names.items() if label != "read" and name_effect(name) == "read"]
    print(f"{half}: {len(known)} of {len(writes)} writes known ({len(known) / len(writes):.1%}), {len(missed)} missed")

    assert missed == []
    assert len(known) >= 0.95 * len(writes), sorted(set(writes) - set(known))


@pytest.mark.parametrize("half", ["tuned on", "held out"])
def test_hardly_any_read_is_called_a_write_and_most_are_known(half: str) -> None:
    """An alarm for each other lookup would be switched off."""
    reads = [name for name, label in _half(half).items() if label == "read"]
    alarms = [name for name in reads if name_effect(name) == "write"]
    known = [name for name in reads if name_effect(name) == "read"]
    print(f"{half}: {len(alarms)} of {len(reads)} reads called writes, {len(known) / len(reads):.1%} known")

    assert len(alarms) <= 0.02 * len(reads), alarms
    assert len(known) >= 0.85 * len(reads)


_THINGS = ("user", "order", "status", "list", "data", "report", "view", "search_index", "message", "balance")


def test_a_verb_that_writes_never_reads_whatever_it_is_done_to() -> None:
    """`set_status`, `clear_search_index`, `delete_view`: a thing that is often read can be changed too."""
    for verb, thing in itertools.product(sorted(name_words.WRITES), _THINGS):
        assert name_effect(f"{verb}_{thing}") == "write"
        assert name_effect(f"{thing}_{verb}") != "read"
        assert name_effect(f"get_and_{verb}_{thing}") == "write"


@pytest.mark.parametrize("verb", sorted(name_words.WRITES_OR_THINGS | name_words.THINGS_OR_WRITES))
def test_a_word_that_may_write_is_only_a_read_beside_a_clearer_one(verb: str) -> None:
    """`transfer_balance` moves money, `exchange_rate` tells something, and of `lock_price` nobody knows."""
    for thing in ("balance", "data", "schema", "version", "price", "details", "time"):
        assert name_effect(f"{verb}_{thing}") != "read"


@pytest.mark.parametrize("verb", sorted(name_words.READS - {"evaluate"}))
def test_a_verb_that_reads_never_writes(verb: str) -> None:
    """Also where the thing has a verb in its name."""
    for thing in ("users", "order_status", "customer_orders", "user_by_email"):
        assert name_effect(f"{verb}_{thing}") == "read"


@pytest.mark.parametrize(
    ("name", "effect"),
    [
        ("mark_as_read", "write"),
        ("resolve_ticket", "write"),
        ("resolve_path", "read"),
        ("sql_db_query", "unknown"),
        ("look_up_order", "read"),
        ("open_file", "read"),
        ("open_account", "write"),
        ("check_in_guest", "write"),
        ("schedule_visit", "unknown"),
        ("poll_create", "write"),
        ("list_add_member", "write"),
        ("list_update_jobs", "unknown"),
        ("workflow_list", "read"),
        ("browser_check", "unknown"),
        ("requests_post", "write"),
        ("blog_post", "unknown"),
        ("node_management", "write"),
        ("download_invoice", "unknown"),
        ("findOneAndUpdate", "write"),
        ("search_replace", "write"),
        ("wibble_list", "unknown"),
        ("arxiv_search", "read"),
        ("save_search", "write"),
        ("is_order_cancelled", "read"),
        ("can_delete_account", "read"),
        ("is_open_then_close", "write"),
        ("download_workflow_run_artifact", "unknown"),
        ("hgetall", "read"),
        ("hset", "write"),
        ("acme_list_orders", "read"),
        ("transfer_to_savings", "write"),
        ("transfer_to_human_agents", "read"),
        ("mcp__github__list_issues", "read"),
        ("github.deleteBranch", "write"),
        ("unstar_repository", "write"),
        ("return_policy", "read"),
        ("filter_log_events", "read"),
        ("generate_trigger_code", "unknown"),
        ("message_from_link", "unknown"),
        ("message_permalink", "unknown"),
        ("text_to_speech", "unknown"),
        ("lights_control", "write"),
        ("kind_build_node_image", "write"),
        ("export_doc_to_pdf", "write"),
        ("resolve_alerts", "write"),
        ("json_del", "write"),
        ("snapshot_volume", "write"),
        ("browser_snapshot", "read"),
        ("navigate_to_waypoint", "unknown"),
        ("check_walk_in_availability", "read"),
        ("moveCardToList", "write"),
        ("pipeline_run_create", "write"),
        ("vacuum_analyze", "unknown"),
        ("refund_get", "read"),
        ("review_suggest", "unknown"),
        ("hail_ride", "write"),
        ("", "unknown"),
        ("工具", "unknown"),
    ],
)
def test_names_that_are_easily_misread(name: str, effect: str) -> None:
    """Each was, or could be, a mistake."""
    assert name_effect(name) == effect


_PLAIN = [name for name in sorted(_labelled()) if re.fullmatch(r"[a-z]{2,}(?:_[a-z]{2,})+", name)]


def test_how_words_are_joined_says_nothing() -> None:
    """One tool is called `create_issue`, `createIssue` and `create-issue`, and servers put their own name before it."""
    for name in _PLAIN:
        words = name.split("_")
        camel = words[0] + "".join(word.capitalize() for word in words[1:])

        assert name_effect("-".join(words)) == name_effect(camel) == name_effect(f"mcp__a__{name}") == name_effect(name)
