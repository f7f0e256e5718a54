"""What was found is kept: it is always what a fresh look would find, whatever happened to the run meanwhile."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import agentdbg
from agentdbg.analysis.findings import Examination, examine
from agentdbg.index import kept_findings, run_cache
from agentdbg.index.run_index import RunFilter, RunIndex, load_run_meta
from agentdbg.server.run_view import RunView
from agentdbg.storage.housekeeping import compress_run, delete_run, mark_run, rename_run
from agentdbg.storage.reader import list_runs, load_events
from tests.analysis.story import Story
from tests.commands.stored import store
from tests.interop.files import DATA
from tests.interop.files import agentdbg as command

if TYPE_CHECKING:
    from agentdbg.events import RunMeta


@pytest.fixture(autouse=True)
def _short_runs_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_findings, "_WORTH_KEEPING", 0)
    monkeypatch.setattr(kept_findings, "_unwritten", {})


def _troubled(seed: int = 0) -> Story:
    chance, story = random.Random(seed), Story()
    for number in range(chance.randrange(4, 20)):
        story.llm([{"role": "user", "content": "find it"}], f"looking {number}", tokens=(900 * number, 5))
        if chance.random() < 0.4:
            story.tool("search", {"q": chance.randrange(3)}, error="no index")
        else:
            story.tool("search", {"q": number}, chance.choice(["found it", "", "Error: nothing", {"id": 7}]))
    story.end()
    return story


def _stored_long_ago(data_dir: Path, story: Story) -> str:
    """A run whose folder does not change any more: what is known of one touched just now is looked at again."""
    run_id = store(data_dir, story)
    os.utime(data_dir / "runs" / run_id, (1_700_000_000, 1_700_000_000))
    return run_id


def _told(found: Examination) -> Any:
    return json.loads(json.dumps(found.as_json()))


def _fresh(data_dir: Path, run: RunMeta) -> Any:
    return _told(examine(load_events(run["run_id"], data_dir), run))


def _is_kept(data_dir: Path, run: RunMeta) -> bool:
    return kept_findings.known_findings(data_dir, run) is not None


CHANGES = ("nothing", "grow", "edit", "mark", "unmark", "rename", "metadata", "compress", "tear", "lose run.json")


def _change(what: str, data_dir: Path, run_id: str, chance: random.Random) -> None:
    folder = data_dir / "runs" / run_id
    events, meta = folder / "events.jsonl", folder / "run.json"
    if what == "grow" and events.exists():
        events.write_bytes(events.read_bytes() + json.dumps(_troubled(7).events[3]).encode() + b"\n")
    elif what == "edit" and events.exists():  # as many bytes, at the same time: only what stands there tells
        times = (events.stat().st_atime_ns, events.stat().st_mtime_ns)
        content = events.read_bytes()
        word, other = chance.choice([(b"no index", b"no ind3x"), (b'"search"', b'"s3arch"'), (b"found", b"fOund")])
        events.write_bytes(content.replace(word, other, 2))
        os.utime(events, ns=times)
    elif what == "mark":
        mark_run(run_id, chance.choice(["passed", "failed"]), f"why {chance.random()}", data_dir)
    elif what == "unmark":
        mark_run(run_id, None, data_dir=data_dir)
    elif what == "rename":
        rename_run(run_id, f"name {chance.random()}", data_dir)
    elif what == "metadata" and meta.exists():
        said = json.loads(meta.read_text())
        meta.write_text(json.dumps({**said, "metadata": {"reward": chance.choice([0, 1])}}))
    elif what == "compress":
        compress_run(run_id, data_dir)
    elif what == "tear" and events.exists():
        events.write_bytes(events.read_bytes()[: -chance.randrange(1, 40)])
    elif what == "lose run.json":
        meta.unlink(missing_ok=True)


@pytest.mark.parametrize("seed", [0, 1, 2, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 12))])
def test_what_is_kept_is_what_a_fresh_look_finds(tmp_path: Path, seed: int) -> None:
    """Whatever is done to a run, in any order: nobody may be shown what was true yesterday."""
    chance = random.Random(seed)
    run_id = store(tmp_path, _troubled(seed), chance.choice(["ok", "error"]))
    for _ in range(12):
        _change(chance.choice(CHANGES), tmp_path, run_id, chance)
        run = load_run_meta(run_id, tmp_path)
        first, again = (kept_findings.examined(tmp_path, run) for _ in range(2))

        assert _told(first) == _told(again) == _fresh(tmp_path, run)
        assert _is_kept(tmp_path, run)


def test_a_second_look_reads_the_bytes_and_nothing_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That is what it is kept for; a compressed log holds the same events."""
    run_id = store(tmp_path, _troubled())
    run = load_run_meta(run_id, tmp_path)
    found = kept_findings.examined(tmp_path, run)
    compress_run(run_id, tmp_path)
    monkeypatch.delattr(kept_findings, "examine")

    assert _told(kept_findings.examined(tmp_path, run)) == _told(found)


def test_new_rules_look_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An upgrade may find more, or say it in other words; what the older one found says nothing any more."""
    run_id = _stored_long_ago(tmp_path, _troubled())
    runs = RunIndex(tmp_path)
    runs.refresh()
    headline = runs.headlines([run_id])[run_id]
    run = load_run_meta(run_id, tmp_path)
    assert _is_kept(tmp_path, run)
    assert RunIndex(tmp_path).states([run_id])[run_id] is not None

    monkeypatch.setattr(kept_findings, "rules_version", lambda: "newer")
    monkeypatch.setattr(run_cache, "rules_version", lambda: "newer")

    assert not _is_kept(tmp_path, run)
    later = RunIndex(tmp_path)
    assert later.lacks_headline(run_id)
    assert later.states([run_id]) == {run_id: None}
    assert later.headlines([run_id]) == {run_id: headline}


def test_every_source_that_has_a_say_counts_as_a_rule() -> None:
    """A module that is left out could change what is found, and the old findings would be shown."""
    code = (
        "import sys, agentdbg; before = set(sys.modules); import agentdbg.analysis.findings, agentdbg.storage.reader;"
        "print(*[sys.modules[name].__file__ for name in sys.modules if name.startswith('agentdbg.')"
        " and (name not in before or name.split('.')[1] in ('analysis', 'events', 'loops', 'storage', 'encoding'))])"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    package = Path(agentdbg.__file__).parent
    sources = tuple(str(package / name) for name in run_cache._SOURCES)
    # JSON, where the runs are, and whether one still runs; how it stands is part of what findings are kept for.
    others = tuple(str(package / name) for name in ("config", "encoding.py", "owner.py"))

    assert len(loaded) > 40
    assert [name for name in loaded if not name.startswith((*sources, *others))] == []


def test_a_file_that_is_not_ours_is_as_good_as_none(tmp_path: Path) -> None:
    """A cache may be torn, or come with a folder from elsewhere; the run is looked into again."""
    run_id = store(tmp_path, _troubled(3), "error")
    run = load_run_meta(run_id, tmp_path)
    found = _told(kept_findings.examined(tmp_path, run))
    path = tmp_path / "index" / f"{run_id}.findings"
    good = json.loads(path.read_bytes())
    values: list[Any] = [None, 7, "x", [[]], {"n": 1}]
    broken: list[Any] = [{**good, key: value} for key in good for value in values]
    broken += [[], None, 7, {}, {**good, "findings": [[*good["findings"][0][:2], {"n": "x", "parts": 3}]]}]

    for content in [*map(json.dumps, broken), "", path.read_text()[:-20], "[" * 100_000]:
        path.write_text(content)
        assert _told(kept_findings.examined(tmp_path, run)) == found, content[:200]


def test_whoever_may_not_write_remembers(tmp_path: Path) -> None:
    """An assistant asks for one page of findings after the other; nothing is written for it."""
    run = load_run_meta(store(tmp_path, _troubled()), tmp_path)
    found = kept_findings.examined(tmp_path, run, keep=False)

    assert not list((tmp_path / "index").glob("*.findings"))
    known = kept_findings.known_findings(tmp_path, run)
    assert known is not None
    assert _told(known) == _told(found)


def test_what_was_found_goes_with_the_run(tmp_path: Path) -> None:
    """Findings quote what the run said, so they must not outlive it."""
    run_id = store(tmp_path, _troubled())
    kept_findings.examined(tmp_path, load_run_meta(run_id, tmp_path))
    assert list((tmp_path / "index").glob(f"{run_id}.*"))

    delete_run(run_id, tmp_path)

    assert not list((tmp_path / "index").glob(f"{run_id}.*"))


def test_a_long_run_has_one_state_everywhere_once_it_was_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list does not look through a long run, and takes it for good; when somebody has, the list knows too."""
    monkeypatch.setattr(kept_findings, "MOST_EVENTS_LOOKED_AT", 3)
    story = Story()
    for number in range(8):
        story.tool("search", {"q": number % 2}, error="no index")
    story.end()
    run_id = _stored_long_ago(tmp_path, story)
    runs = RunIndex(tmp_path)
    runs.refresh()
    runs.headlines([run_id])
    assert runs.states([run_id]) == {run_id: "ok"}
    run = runs.get(run_id)

    found = kept_findings.examined(tmp_path, run)
    view = RunView(tmp_path, run_id, runs)
    view.extend(None)

    assert found.state == "problems"
    assert view.summary(run)["verdict"]["state"] == "problems"
    assert runs.states([run_id]) == {run_id: "problems"}
    assert RunIndex(tmp_path).page(RunFilter(status="problems")).total == 1


def test_the_page_sees_that_another_run_passed_meanwhile(tmp_path: Path) -> None:
    """What is said beside a run that passed changes with that run, not with the one that is looked at."""
    ids = []
    for tool in ("book", "cancel"):
        story = Story()
        story.llm([{"role": "user", "content": "Book me a seat on HAT1, in the first row if you can"}], "")
        story.tool(tool, {"flight": "HAT1"}, {"ok": True})
        story.end()
        ids.append(store(tmp_path, story))
    mark_run(ids[1], "failed", data_dir=tmp_path)
    runs = RunIndex(tmp_path)
    runs.refresh()
    view = RunView(tmp_path, ids[1], runs)
    view.extend(None)
    assert view.summary(runs.get(ids[1]))["beside"] is None

    mark_run(ids[0], "passed", data_dir=tmp_path)
    runs.refresh()

    beside = view.summary(runs.get(ids[1]))["beside"]
    assert beside is not None
    assert beside["run_id"] == ids[0]


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "taubench-airline").exists(), reason="the public trajectories are not here")
def test_real_runs_are_told_the_same_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Findings of every kind there is, as they come from real agents, survive being kept."""
    assert command("import", DATA, AGENTDBG_DATA_DIR=str(tmp_path)).code == 0
    found = {run["run_id"]: kept_findings.examined(tmp_path, run) for run in list_runs(None, tmp_path)}
    assert len(found) > 200
    monkeypatch.delattr(kept_findings, "examine")

    for run in list_runs(None, tmp_path):
        assert _told(kept_findings.examined(tmp_path, run)) == _told(found[run["run_id"]])
