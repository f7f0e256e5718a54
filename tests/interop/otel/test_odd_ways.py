"""Collectors, addresses, logs and disks that are not as they should be."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.interop.otel.delivery import Delivery, collector_at
from tests.analysis.story import Story
from tests.commands.stored import store
from tests.interop.otel.collector import Answer, Collector, partial_success

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.commands.stored import Ran

_LATEST_NS = (2**64 - 1) // 1_000_000 * 1_000_000


def _story(calls: int = 3) -> Story:
    story = Story()
    for number in range(calls):
        story.llm(f"question {number}", f"answer {number}", tokens=(10, 2))
    story.end()
    return story


def _log(data_dir: Path, run_id: str) -> Path:
    return data_dir / "runs" / run_id / "events.jsonl"


@pytest.mark.parametrize("url", ["http://a..b:4318", "http://.example", f"http://{'a' * 300}.example", "http://h:0"])
def test_a_host_that_cannot_be_is_wrong_use_and_no_fault(push: Callable[..., Ran], data_dir: Path, url: str) -> None:
    """A dot too many is a typing mistake, and its message should not be a stack."""
    ran = push(store(data_dir, _story()), to=url)

    assert ran.code == 2
    assert "it looks like http://localhost:4318" in ran.err


def test_a_path_in_any_language_goes_as_a_browser_sends_it(
    push: Callable[..., Ran], data_dir: Path, collector: Collector
) -> None:
    """Projects are called anything, and some backends put the project into the path."""
    assert push(store(data_dir, _story()), to=f"{collector.url}/büro/a%20b?key=ä&b=1").code == 0

    assert collector.paths == ["/b%C3%BCro/a%20b/v1/traces?key=%C3%A4&b=1"]


def test_a_header_name_in_another_alphabet_is_refused(push: Callable[..., Ran], data_dir: Path) -> None:
    """It cannot be sent, and the push would end in the middle of itself."""
    ran = push(store(data_dir, _story()), "--header", "ключ=sesame")

    assert ran.code == 2
    assert "header 1 is not name=value" in ran.err
    assert "sesame" not in ran.err


@pytest.mark.parametrize("status", [201, 202, 204, 207])
def test_every_kind_of_yes_is_a_yes(
    push: Callable[..., Ran], data_dir: Path, collector: Collector, status: int
) -> None:
    """Gateways in front of a backend answer what they like."""
    collector.answers = [Answer(status, keeps=True)]

    assert push(store(data_dir, _story())).code == 0


def test_a_web_page_is_no_collector(push: Callable[..., Ran], data_dir: Path, collector: Collector) -> None:
    """The port of a backend's pages answers 200 to everything, and nothing arrives."""
    run_id = store(data_dir, _story())
    collector.answers = [Answer(200, b"<!doctype html>", {"Content-Type": "text/html; charset=utf-8"})]
    ran = push(run_id)

    assert ran.code == 10
    assert "is a web page and not a collector" in ran.err
    assert "4 spans sent" in push(run_id).out


@pytest.mark.parametrize("secret", ["Bearer sesame-0815-open", "sesame-0815-open"])
def test_a_collector_that_repeats_a_header_does_not_bring_it_into_the_output(
    push: Callable[..., Ran], data_dir: Path, collector: Collector, secret: str
) -> None:
    """`invalid token …` is a common answer, and the output of CI is read by many."""
    said = f"{'x' * 385} no access for {secret} at /v1/traces?api_key=open-4711"
    collector.answers = [Answer(401, said[370:].encode()), partial_success(1, said), Answer(400, said.encode())]
    for _ in range(3):
        ran = push(
            store(data_dir, _story()), "--header", f"authorization={secret}", to=f"{collector.url}?api_key=open-4711"
        )

        assert ran.code == 10
        for hidden in ("sesame", "0815", "4711"):
            assert hidden not in ran.out + ran.err


def test_spans_refused_below_nought_are_none(push: Callable[..., Ran], data_dir: Path, collector: Collector) -> None:
    """The field is signed, and anybody may answer."""
    collector.answers = [partial_success(-5, "")]
    ran = push(store(data_dir, _story()), "--json")

    assert ran.code == 0
    assert (ran.json["runs"][0]["spans_sent"], ran.json["runs"][0]["spans_refused"]) == (4, 0)


def test_a_program_hears_why_spans_were_refused(push: Callable[..., Ran], data_dir: Path, collector: Collector) -> None:
    """The numbers are on stdout; the reason is for whoever reads the log."""
    collector.answers = [partial_success(1, "quota")]
    ran = push(store(data_dir, _story()), "--json")

    assert ran.code == 10
    assert ran.json["runs"][0]["spans_refused"] == 1
    assert "the collector refused 1 span: quota" in ran.err


@pytest.mark.parametrize("after", ["soon", "-3", "9" * 500, "Mon, 01 Jan 0001 00:00:00 -0000", "Mon, 99 Foo", ""])
def test_a_strange_time_to_wait_is_no_reason_to_give_up(
    push: Callable[..., Ran], data_dir: Path, collector: Collector, pauses: list[float], after: str
) -> None:
    """A collector that is busy writes anything there."""
    collector.answers = [Answer(503, headers={"Retry-After": after})]

    assert push(store(data_dir, _story())).code == 0
    assert all(0 <= pause <= 60 for pause in pauses)


@pytest.mark.parametrize("year", ["0001", "1950", "2560", "9999"])
def test_a_clock_that_was_wrong_stops_no_push(
    push: Callable[..., Ran], data_dir: Path, collector: Collector, year: str
) -> None:
    """The wire knows the times from 1970 to 2554; a device without a battery knows others."""
    story = _story()
    story.loop("stall", "warning", "LLM_CALL:m", [2])
    for event in story.events:
        event["ts"] = f"{year}-03-01T00:00:00.000Z"
    story.events[1]["duration_ms"] = 10**15
    ran = push(store(data_dir, story, started_at=story.events[0]["ts"]))

    assert ran.code == 0
    assert len(collector.spans) == 4
    times = {span.end_ns for span in collector.spans} | {at for span in collector.spans for _, at, _ in span.events}
    assert times == {0 if year < "1970" else _LATEST_NS}


def test_what_cannot_be_remembered_was_sent_all_the_same(
    push: Callable[..., Ran], data_dir: Path, collector: Collector
) -> None:
    """A full disk, or a folder that may only be read: the collector has the spans, and the exit code says so."""
    run_id = store(data_dir, _story())
    shutil.rmtree(data_dir / "index", ignore_errors=True)
    (data_dir / "index").write_text("in the way")
    ran = push(run_id)

    assert ran.code == 0
    assert len(collector.spans) == 4
    assert "could not be remembered (Not a directory); the next push sends it once more" in ran.err


@pytest.mark.parametrize("changed", [{"spans": 10**9}, {"run_id": "another"}, {"collector": "http://elsewhere"}])
def test_a_memory_that_cannot_be_true_proves_nothing(
    push: Callable[..., Ran], data_dir: Path, collector: Collector, changed: dict[str, Any]
) -> None:
    """Believed, it would keep a run from its collector for good, under the words `already there`."""
    run_id = store(data_dir, _story())
    push(run_id)
    [memory] = (data_dir / "index" / "push").iterdir()
    memory.write_text(json.dumps({**json.loads(memory.read_text()), **changed}))

    assert "4 spans sent" in push(run_id).out
    assert len(collector.spans) == 8
    assert "nothing new, 4 spans already there" in push(run_id).out


def test_damaged_lines_are_said_and_what_follows_them_is_sent(
    push: Callable[..., Ran], data_dir: Path, collector: Collector
) -> None:
    """What is missing over there should be no riddle."""
    run_id = store(data_dir, _story())
    log = _log(data_dir, run_id)
    lines = log.read_text().splitlines(keepends=True)
    log.write_text("".join([*lines[:2], f"{'no event ' * 60}\n" * 600, *lines[2:]]))
    os.utime(log, (1_700_000_000, 1_700_000_000))
    ran = push(run_id)

    assert len(collector.spans) == 4
    assert "  600 lines of its log could not be read.\n" in ran.out


def test_a_run_that_is_deleted_meanwhile_does_not_hide_what_arrived(
    push: Callable[..., Ran], data_dir: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two runs were named; the first is over there, and the second is gone."""
    first, second = store(data_dir, _story(), name="first"), store(data_dir, _story(), name="second")
    real = Delivery.send

    def deleting(delivery: Delivery, body: bytes) -> bytes:
        shutil.rmtree(data_dir / "runs" / second, ignore_errors=True)
        return real(delivery, body)

    monkeypatch.setattr(Delivery, "send", deleting)
    ran = push(first, second)

    assert ran.code == 2
    assert "first" in ran.out
    assert "4 spans sent" in ran.out
    assert f"no run matches '{second}'" in ran.err


def test_what_is_secret_in_an_address_is_not_in_what_is_shown() -> None:
    """The query is sent, and no more than that."""
    collector = collector_at("https://otlp.example/in?api_key=open-4711")

    assert collector.path.endswith("?api_key=open-4711")
    assert "4711" not in collector.shown
    assert collector.secrets == ["open-4711"]
