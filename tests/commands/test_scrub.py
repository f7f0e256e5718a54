"""`agentdbg scrub`: a secret that slipped through goes, and everything else stays."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentdbg.commands.scrub import Scrubber, make_matcher
from agentdbg.storage import load_events
from tests.analysis.story import Story
from tests.commands.stored import Ran, run_in_terminal, run_process, store

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow

SECRET = 'hunter2+"/ü'


def leaky(data_dir: Path, name: str = "leaky", secret: str = SECRET) -> str:
    """A run with the secret in many disguises."""
    story = Story()
    story.tool(f"call {secret}", {secret: [secret], "nested": json.dumps({"inner": json.dumps({"key": secret})})}, 12)
    story.llm(f"my password is {secret}.", {"content": f"url?x={secret}"})
    story.write("STATE_UPDATE", "state", {"state": {"ok": 1, "big": 2**70}}, meta={"note": secret})
    story.end()
    return store(data_dir, story, name=f"{name} {secret}", metadata={"note": secret})


def everything(data_dir: Path) -> str:
    """All stored text, as it reads and as it is written."""
    texts = []
    for path in sorted(data_dir.rglob("*")):
        if path.is_file():
            content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            texts.append(content.decode("utf-8", "replace"))
            texts += [
                json.dumps(json.loads(line), ensure_ascii=False) for line in content.splitlines() if line[:1] == b"{"
            ]
    return "\n".join(texts)


def test_the_secret_is_gone_from_every_file_and_the_rest_is_kept(cli: Callable[..., Ran], data_dir: Path) -> None:
    """Names, keys, values, JSON inside JSON, the label, the trash and a compressed run."""
    kept, deleted, packed = leaky(data_dir), leaky(data_dir), leaky(data_dir)
    cli("rename", kept, f"label {SECRET}")
    cli("delete", deleted, "--yes")
    path = data_dir / "runs" / packed / "events.jsonl"
    with gzip.open(path.with_name("events.jsonl.gz"), "wb") as file:
        file.write(path.read_bytes())
    path.unlink()
    cli("list")  # fills the cache
    before = [len(list(load_events(run))) for run in (kept, packed)]

    ran = cli("scrub", SECRET, "--yes", "--json")
    assert ran.code == 0
    assert sorted(ran.json["runs"]) == sorted([kept, deleted, packed])
    assert "hunter2" not in everything(data_dir)
    assert [len(list(load_events(run))) for run in (kept, packed)] == before
    events = list(load_events(kept))
    assert events[1]["name"] == "call __REDACTED__"
    assert events[2]["payload"]["prompt"] == "my password is __REDACTED__."
    assert events[3]["payload"]["state"] == {"ok": 1, "big": 2**70}
    assert {path.stat().st_mode & 0o777 for path in data_dir.rglob("events.jsonl*")} == {0o600}
    assert "label __REDACTED__" in cli("list").out


def test_lines_without_the_secret_stay_byte_for_byte(cli: Callable[..., Ran], data_dir: Path) -> None:
    """Rewriting what need not be rewritten is how data gets lost."""
    run_id = leaky(data_dir)
    path = data_dir / "runs" / run_id / "events.jsonl"
    path.write_bytes(path.read_bytes() + b'{"odd" :  1.50, "torn\n')
    first, *_, last = path.read_bytes().splitlines()
    cli("scrub", SECRET, "--yes")

    after = path.read_bytes().splitlines()
    assert (after[0], after[-1]) == (first, last)


def test_a_damaged_line_is_scrubbed_as_text(cli: Callable[..., Ran], data_dir: Path) -> None:
    """A torn line is no event, but it holds what it holds."""
    run_id = leaky(data_dir, secret="s3cret-value")
    path = data_dir / "runs" / run_id / "events.jsonl"
    path.write_bytes(path.read_bytes() + b'{"key": "s3cret-value\xff')
    cli("scrub", "s3cret-value", "--yes")

    assert b"s3cret-value" not in path.read_bytes()
    assert path.read_bytes().endswith(b'{"key": "__REDACTED__\xff')


def test_a_dry_run_changes_nothing(cli: Callable[..., Ran], data_dir: Path) -> None:
    """Looking is free."""
    leaky(data_dir)
    before = everything(data_dir)
    ran = cli("scrub", SECRET, "--dry-run")

    assert "of 1 run." in ran.out
    assert everything(data_dir) == before


def test_a_pattern_is_text_and_regular_expression(cli: Callable[..., Ran], data_dir: Path) -> None:
    """A key with a `+` in it must be found whichever way it was meant."""
    leaky(data_dir, secret="sk-live-abc123")

    assert cli("scrub", "sk-live-[a-z0-9]+", "--yes", "--json").json["matches"] > 5
    assert "sk-live" not in everything(data_dir)
    assert cli("scrub", "--fixed", "sk-.*", "--dry-run").out == "Not found in any stored run.\n"


@pytest.mark.parametrize("pattern", ["", "  ", "x*", ".*"])
def test_a_pattern_that_would_match_everywhere_is_refused(
    cli: Callable[..., Ran], data_dir: Path, pattern: str
) -> None:
    """One slip would wipe every run."""
    leaky(data_dir)
    before = everything(data_dir)
    ran = cli("scrub", pattern, "--yes")

    assert ran.code == 2
    assert everything(data_dir) == before


def test_the_secret_can_come_from_stdin_and_nobody_is_asked_there(data_dir: Path) -> None:
    """An argument ends up in the shell's history and in the list of processes."""
    leaky(data_dir)

    asked = run_process("scrub", "-", stdin=f"{SECRET}\n")
    assert asked.code == 2
    assert "--yes" in asked.err
    assert run_process("scrub", "-", "--yes", stdin=f"{SECRET}\n").code == 0
    assert "hunter2" not in everything(data_dir)


def test_a_person_is_asked_first(data_dir: Path) -> None:
    """This cannot be undone."""
    leaky(data_dir)

    assert "Nothing was changed" in run_in_terminal("scrub", SECRET, answer="\n").out
    assert "hunter2" in everything(data_dir)


def test_a_live_run_is_left_alone_and_named(cli: Callable[..., Ran], data_dir: Path) -> None:
    """Its writer holds the file open; replacing it would lose what comes next."""
    from agentdbg import record_tool_call, traced_run

    leaky(data_dir)
    with traced_run("live") as run:
        record_tool_call("x", {"note": f"{SECRET}"})
        ran = cli("scrub", SECRET, "--yes")

        assert run is not None
        assert ran.code == 2
        assert run.run_id[:8] in ran.err
    assert cli("scrub", SECRET, "--yes").code == 0
    assert "hunter2" not in everything(data_dir)


def test_the_beginning_of_the_secret_before_a_cut_goes_too() -> None:
    """A long text may have been cut in the middle of the secret."""
    replace = make_matcher("sk-live-0123456789", fixed=True)

    assert replace("key sk-live-01234__TRUNCATED__") == ("key __REDACTED____TRUNCATED__", 1)
    assert replace("key sk-li__TRUNCATED__")[1] == 0


def test_the_end_of_the_secret_after_a_cut_goes_too() -> None:
    """A long prompt keeps both ends, and the cut may go through the secret from either side."""
    replace = make_matcher("sk-live-0123456789", fixed=True)

    assert replace("a__TRUNCATED__0123456789 b") == ("a__TRUNCATED____REDACTED__ b", 1)
    assert replace("key sk-live-01__TRUNCATED__123456789 b") == ("key __REDACTED____TRUNCATED____REDACTED__ b", 2)
    assert replace("a__TRUNCATED__789 b")[1] == 0


@settings(max_examples=100, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text() | st.just("a SECRET b"),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4) | st.just("SECRET"), inner, max_size=3)
        ),
        max_leaves=10,
    )
)
def test_scrubbing_any_line_keeps_it_json_and_leaves_no_secret(
    tmp_path_factory: pytest.TempPathFactory, value: Any
) -> None:
    """The two promises of the command, for any JSON."""
    try:
        line = json.dumps({"payload": value}, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:
        return
    scrubber = Scrubber(Path(), make_matcher("SECRET", fixed=True), dry_run=True)

    after, count = scrubber.scrub_line(line)
    assert "SECRET" not in json.dumps(json.loads(after), ensure_ascii=False)
    assert (count > 0) == ("SECRET" in line.decode())
    assert after.endswith(b"\n")


def test_a_damaged_compressed_run_is_scrubbed_as_far_as_it_can_be_read(cli: Callable[..., Ran], data_dir: Path) -> None:
    """One broken file must not keep the secret in it, nor in the runs that come after it."""
    broken, whole = leaky(data_dir), leaky(data_dir)
    folder = data_dir / "runs" / broken
    packed = gzip.compress((folder / "events.jsonl").read_bytes())
    (folder / "events.jsonl").unlink()
    (folder / "events.jsonl.gz").write_bytes(packed[:-5])
    ran = cli("scrub", SECRET, "--fixed", "--yes")

    assert ran.code == 0
    assert SECRET not in everything(data_dir)
    assert len(list(load_events(whole, data_dir))) == len(list(load_events(broken, data_dir)))


def test_a_link_put_beside_the_log_is_not_written_through(
    cli: Callable[..., Ran], data_dir: Path, tmp_path: Path
) -> None:
    """The copy has a name nobody can guess, so nothing waits there: not a link, not what an earlier scrub left."""
    run_id = leaky(data_dir)
    precious = tmp_path / "precious"
    precious.write_text("mine")
    planted = data_dir / "runs" / run_id / f"events.jsonl.{os.getpid()}.scrub.tmp"
    planted.symlink_to(precious)

    assert cli("scrub", SECRET, "--yes").code == 0
    assert planted.is_symlink()
    assert precious.read_text() == "mine"
    assert SECRET not in everything(data_dir)
    assert [path.name for path in planted.parent.iterdir() if path.name.endswith(".tmp")] == [planted.name]
