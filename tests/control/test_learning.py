"""What always differs is learnt from two recordings, and what may be the point is not."""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING

import pytest

from agentdbg import llm, replay, tool, traced_run
from agentdbg.commands.replay import main
from agentdbg.config import load_config
from agentdbg.control.learning import learn
from agentdbg.control.recorded_runs import open_recorded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from agentdbg.control.learning import Learned

VOLATILE = {
    "time": ("It is 2026-11-18T10:41:33.250Z.", "It is 2026-11-18T10:43:07.001Z."),
    "date": ("Today is 18 November 2026", "Today is 19 November 2026"),
    "epoch": (1794000000.123, 1794000077.9),
    "uuid": ("2f1c7a52-7d1e-4c55-9f0e-2f5d8c3a9b10", "9d0c1a52-7d1e-4c55-9f0e-2f5d8c3a9b77"),
    "hex": ("trace deadbeef01", "trace 0badcafe22"),
    "tmp": ("see /tmp/run-a/x.csv", "see /tmp/run-b/y.csv"),
    "call_id": ("for call_Ab12Cd34Ef", "for call_Zz98Yx76Wv"),
}


@tool
def search(query: object) -> str:
    return "found"


@llm(model="m")
def ask(messages: list[dict[str, str]]) -> str:
    return "ok"


def recorded(program: Callable[[], object]) -> str:
    with traced_run("learnt") as run:
        program()
    assert run is not None
    return run.run_id


def learnt(first: str, second: str) -> list[Learned]:
    data_dir = load_config().data_dir
    one, other = open_recorded(first, data_dir), open_recorded(second, data_dir)
    try:
        return learn(one.main, other.main)
    finally:
        one.close()
        other.close()


@pytest.mark.parametrize("kind", VOLATILE)
def test_a_difference_that_a_kind_explains_is_proposed(kind: str) -> None:
    """A clock or an id in an input makes every replay differ."""
    was, now = VOLATILE[kind]

    (found,) = learnt(recorded(lambda: search({"q": was})), recorded(lambda: search({"q": now})))

    assert (found.call, found.path, found.first, found.second) == ("tool:search", "args.query.q", was, now)
    assert found.rule is not None
    assert kind in found.rule.kinds or kind == "date"  # a date may be told by the times in it


def test_what_no_kind_explains_is_shown_and_not_proposed() -> None:
    """It may be what the program is about."""
    (found,) = learnt(recorded(lambda: search("flights")), recorded(lambda: search("trains")))

    assert found.rule is None
    assert (found.first, found.second) == ("flights", "trains")


def test_a_path_that_once_differs_for_no_reason_is_not_proposed() -> None:
    """An id in one call and another word in the next: passing over the path would hide the word."""
    ids = [str(uuid.uuid4()) for _ in range(2)]

    (found,) = learnt(
        recorded(lambda: [search(ids[0]), search("flights")]), recorded(lambda: [search(ids[1]), search("trains")])
    )

    assert found.rule is None


def test_a_replay_with_what_was_learnt_is_equal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two recordings, one command, and the program that asks for the time can be replayed."""

    def program() -> None:
        ask([{"role": "system", "content": f"Now: {time.time():.3f}. Run {uuid.uuid4()}."}])

    monkeypatch.chdir(tmp_path)
    first, second = recorded(program), recorded(program)

    with pytest.raises(SystemExit) as ended:
        main([first, "--learn", second, "--write"])

    assert ended.value.code == 0
    assert "wrote 1 rule into" in capsys.readouterr().out
    with replay(first) as replayed, traced_run("learnt"):
        program()
    assert replayed.equal


def test_rules_are_added_to_those_that_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Comments and rules of one's own stay, and nothing is added twice."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / ".agentdbg" / "replay.yaml"
    file.parent.mkdir()
    file.write_text(
        '# ours\nvolatile:\n  - {call: "llm", path: "messages[0].content"}\nallow: ["net:localhost:5432"]\n'
    )
    first, second = (recorded(lambda: search(str(uuid.uuid4()))) for _ in range(2))

    for _ in range(2):
        with pytest.raises(SystemExit):
            main([first, "--learn", second, "--write"])

    assert list(_rules(file)) == ["tool:search", "llm"]
    assert file.read_text().startswith("# ours\n")


def _rules(file: Path) -> Iterator[str]:
    for line in file.read_text().splitlines():
        if "call: " in line:
            yield line.partition('call: "')[2].partition('"')[0]
