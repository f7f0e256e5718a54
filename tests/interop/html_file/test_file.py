"""One HTML file: what it holds, what it says about itself, and what it may do."""

from __future__ import annotations

import gzip
import json
import uuid
from base64 import b64encode
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest

import agentdbg
from agentdbg.config import Config, load_config
from agentdbg.index.column_cache import pack_skeleton
from agentdbg.index.events import EventIndex
from agentdbg.interop.html_file import html_pieces
from agentdbg.interop.html_file.page import page_script, page_styles
from agentdbg.storage.reader import load_events
from tests.interop.html_file.opened import OpenedFile, opened
from tests.storage.handmade import event, llm_call, run_end, run_json, run_start, tool_call, write_run

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = "</title></script><script>window.pwned=1</script><img src=x onerror=window.pwned=1>"


@pytest.fixture
def config(data_dir: Path) -> Config:
    return load_config({})._replace(data_dir=data_dir)


def exported(run_id: str, config: Config) -> OpenedFile:
    return opened(b"".join(html_pieces(run_id, config)))


def conversation(run_id: str, turns: int) -> list[dict[str, Any]]:
    """An agent that is sent all it said before, as agents are."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You help people with their flights. " * 20}]
    events = [run_start(run_id)]
    for turn in range(turns):
        messages.append({"role": "user", "content": f'Question {turn}: what does "\\{turn}" mean in row {turn * 7}?'})
        answer = f"Answer {turn}: it is the {turn}th thing we looked up for you, and it costs {turn * 13} dollars."
        events.append(llm_call(run_id, turn * 10, payload={"prompt": list(messages), "response": answer}))
        events.append(tool_call(run_id, turn * 10 + 5, payload={"args": {"turn": turn}, "result": answer}))
        messages.append({"role": "assistant", "content": answer})
    return [*events, run_end(run_id, turns * 10)]


def test_the_file_holds_every_event_as_it_was_recorded(data_dir: Path, config: Config) -> None:
    """What is given away is the run, not a picture of it: escapes, quotes and letters of every script included."""
    run_id = str(uuid.uuid4())
    odd = 'a "quoted" \\ path\\n, a line\nbreak, \x01\x1f, é 漢字 😀, ' * 5
    events = [*conversation(run_id, 40), event(run_id, "NOTE", 500, payload={"text": odd, odd: [odd, {"deep": odd}]})]
    write_run(data_dir, run_id, events=events)

    assert [json.loads(line) for line in exported(run_id, config).events()] == events


def test_a_run_of_another_dialect_is_put_in_ours(data_dir: Path, config: Config) -> None:
    """The page reads one form, whatever the log was written by; damaged lines are counted and left out."""
    run_id = str(uuid.uuid4())
    foreign = event(run_id, "TOOL_CALL", 5, name="search", payload={"args": {}, "result": 1})
    foreign |= {"ts": "2026-04-12T12:30:00.000001+02:00", "payload": {"status": "success", "error": None}}
    folder = data_dir / "runs" / write_run(data_dir, run_id, events=[run_start(run_id), foreign])
    with (folder / "events.jsonl").open("a") as log:
        log.write("{torn")
    file = exported(run_id, config)

    assert [json.loads(line) for line in file.events()] == list(load_events(run_id, data_dir))
    assert file.receipt["source"]["damaged_lines"] == 1


def test_the_file_answers_what_the_server_would(data_dir: Path, config: Config) -> None:
    """Rows, columns and summary come from the same functions, so the page cannot tell the difference."""
    run_id = str(uuid.uuid4())
    write_run(data_dir, run_id, events=conversation(run_id, 150))
    index = EventIndex(data_dir / "runs" / run_id, run_id)
    index.extend()
    file = exported(run_id, config)

    assert [json.loads(line)["n"] for line in file.lines("rows")] == list(range(1, 303))
    assert len(file.blocks("rows")) == 2
    assert file.blocks("skeleton")[0][2] == pack_skeleton(index)[0]
    assert file.only("types") == index.types
    assert file.only("summary")["total_events"] == 302
    assert file.blocks("report")[0][2].startswith(b"#")


@pytest.mark.parametrize("event_id", [SCRIPT, "x" * 64, "short", 'quo"ted'])
def test_a_row_says_the_id_that_cannot_be_taken_from_its_event(data_dir: Path, config: Config, event_id: str) -> None:
    """A file with one odd id in it showed nothing at all."""
    run_id = str(uuid.uuid4())
    odd = {**tool_call(run_id, 1), "event_id": event_id}
    write_run(data_dir, run_id, events=[run_start(run_id), odd])
    file = exported(run_id, config)

    usual, said = (json.loads(row).get("event_id") for row in file.lines("rows"))
    assert (usual, said) == (None, event_id)
    assert json.loads(file.events()[1])["event_id"] == event_id


def test_long_texts_are_stored_once(data_dir: Path, config: Config) -> None:
    """An agent's prompts repeat the whole conversation; the file does not, and is a small part of the JSON."""
    run_id = str(uuid.uuid4())
    write_run(data_dir, run_id, events=conversation(run_id, 120))
    log = (data_dir / "runs" / run_id / "events.jsonl").stat().st_size
    html = b"".join(html_pieces(run_id, config))
    strings = opened(html).lines("strings", 0)

    assert len(strings) == len(set(strings))
    page = len(page_script()) + len(page_styles())  # the same for every run, fonts included
    assert len(html) - page < log / 5


def test_the_policy_allows_the_one_script_and_style_and_nothing_else(data_dir: Path, config: Config) -> None:
    """Whatever slips into the page, it is not run, and nothing can be sent anywhere."""
    run_id = str(uuid.uuid4())
    write_run(data_dir, run_id, events=[run_start(run_id)])
    file = exported(run_id, config)
    (script,) = file.scripts()
    (style,) = file.all("style")

    def named(text: str) -> str:
        return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"

    assert file.policy == {
        "default-src": "'none'",
        "script-src": named(script),
        "style-src": named(style.text),
        "img-src": "data:",
        "media-src": "data:",
        "font-src": "data:",
        "connect-src": "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    loads = [element.attributes.get(name) for element in file.elements for name in ("src", "href", "srcset", "action")]
    assert all(address.startswith("data:image/svg+xml,") for address in loads if address)
    assert not [name for element in file.elements for name in element.attributes if name.startswith("on")]


def test_nothing_recorded_becomes_markup(data_dir: Path, config: Config) -> None:
    """Names are the only recorded words outside the packed blocks, and they are words there too."""
    run_id = str(uuid.uuid4())
    hostile = [
        run_start(run_id, SCRIPT, meta={SCRIPT: SCRIPT}),
        tool_call(run_id, 1, SCRIPT, payload={"args": {SCRIPT: SCRIPT}, "result": SCRIPT}),
        event(run_id, "NOTE", 2, name=SCRIPT, payload={"password": "__REDACTED__", f"{SCRIPT} token": "__REDACTED__"}),
    ]
    write_run(data_dir, run_id, meta=run_json(run_id, SCRIPT), events=hostile)
    settings = config._replace(redact_keys=(*config.redact_keys, SCRIPT))
    file = exported(run_id, settings)

    assert len(file.scripts()) == 1
    assert file.all("img") == []
    assert file.all("title")[0].text == SCRIPT
    assert SCRIPT in file.receipt["redaction"]["rules"]["keys"]


def test_the_receipt_counts_what_was_taken_out_by_rule(data_dir: Path, config: Config) -> None:
    """Whoever is given the file, and whoever gives it, can see what is not in it and why."""
    run_id = str(uuid.uuid4())
    payload = {
        "headers": {"X-Api-Key": "__REDACTED__", "accept": "*"},
        "pairs": [["Authorization", "__REDACTED__"], {"name": "set-cookie", "value": "__REDACTED__"}],
        "dbPwd": "__REDACTED__",
        "odd": "__REDACTED__",
        "text": "key __REDACTED__ and __REDACTED__",
        "long": "abc__TRUNCATED__",
        "both_ends": "abc__TRUNCATED__xyz",
        "list": [1, "__TRUNCATED__"],
        "rows": [1, {"__TRUNCATED__": "31 items, 84 kB"}, 33],
        "image": "__MEDIA__ image/png, 30123 bytes",
        "dict": {"__TRUNCATED__": "__TRUNCATED__"},
    }
    write_run(
        data_dir, run_id, meta=run_json(run_id, redaction="on"), events=[event(run_id, "NOTE", 1, payload=payload)]
    )
    log = (data_dir / "runs" / run_id / "events.jsonl").read_bytes()
    receipt = exported(run_id, config).receipt

    assert receipt["redaction"]["redacted_by_rule"] == {
        "inside text": 2,
        "api_key": 1,
        "authorization": 1,
        "cookie": 1,
        "pwd": 1,
        "another key": 1,
    }
    assert receipt["redaction"]["redacted"] == 7
    assert receipt["redaction"]["recorded_with"] == "on"
    assert receipt["redaction"]["rules"]["enabled"] is True
    assert receipt["cut"] == {"lists and objects": 3, "texts": 2, "media": 1}
    assert receipt["source"] == {
        "file": "events.jsonl",
        "sha256": sha256(log).hexdigest(),
        "bytes": len(log),
        "events": 1,
        "damaged_lines": 0,
    }
    assert receipt["made_by"] == f"agentdbg {agentdbg.__version__}"


def test_an_old_compressed_run_is_the_same_run(data_dir: Path, config: Config) -> None:
    """The hash is that of the log, not of how it happens to be stored."""
    run_id = str(uuid.uuid4())
    folder = data_dir / "runs" / write_run(data_dir, run_id, events=conversation(run_id, 3))
    before = exported(run_id, config)
    log = folder / "events.jsonl"
    (folder / "events.jsonl.gz").write_bytes(gzip.compress(log.read_bytes()))
    log.unlink()
    after = exported(run_id, config)

    assert after.receipt["source"] == before.receipt["source"]
    assert after.events() == before.events()


def test_a_run_that_still_goes_on_says_so(data_dir: Path, config: Config) -> None:
    """A file does not grow; its reader must not wait for it to."""
    with agentdbg.traced_run("live") as run:
        assert run is not None
        agentdbg.record_tool_call("search")
        summary = exported(run.run_id, config).only("summary")

    assert summary["run"]["status"] == "running"
    assert any("Still running" in note for note in summary["notes"])
    assert "owner" not in summary["run"]


def test_a_run_without_events_has_a_file_too(data_dir: Path, config: Config) -> None:
    """Somebody may want to show just that."""
    run_id = str(uuid.uuid4())
    write_run(data_dir, run_id, events=[])
    file = exported(run_id, config)

    assert file.events() == []
    assert file.receipt["source"]["events"] == 0


def test_progress_is_told(data_dir: Path, config: Config) -> None:
    """A long run takes a while, and its user wants to know how long."""
    run_id = str(uuid.uuid4())
    write_run(data_dir, run_id, events=conversation(run_id, 150))
    shares: list[float] = []
    assert all(html_pieces(run_id, config, shares.append))

    assert shares == sorted(shares)
    assert 0 < shares[0] <= shares[-1] <= 1
