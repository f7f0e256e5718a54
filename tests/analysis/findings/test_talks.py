"""Written talks of many kinds of agents: healthy ones raise nothing, and of spoilt ones the cause is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentdbg.analysis.findings import examine
from agentdbg.loops import LoopDetector
from tests.analysis.findings.talks import Talk, events_and_cause, talks_in

HERE = Path(__file__).parent
HEALTHY, SPOILT = talks_in(HERE / "healthy_talks.txt"), talks_in(HERE / "spoilt_talks.txt")


@pytest.mark.parametrize("talk", HEALTHY, ids=lambda talk: talk.name)
def test_a_healthy_talk_raises_nothing(talk: Talk, tmp_path: Path, data_dir: Path) -> None:
    """Whoever is warned of a run that did its task stops reading warnings."""
    events, _ = events_and_cause(talk, tmp_path, data_dir)

    assert [found.sentence for found in examine(events).findings if found.severity != "info"] == []


@pytest.mark.parametrize("talk", HEALTHY, ids=lambda talk: talk.name)
def test_a_healthy_talk_is_no_loop(talk: Talk, tmp_path: Path, data_dir: Path) -> None:
    """`stop_on_loop` ends a run: batches, judges, pollers and pages have to go on."""
    events, _ = events_and_cause(talk, tmp_path, data_dir)
    detector = LoopDetector(window=12, repetitions=3)

    found = [*(detector.observe(event) for event in events), detector.finish()]
    assert [one for one in found if one is not None and one.severity != "info"] == []


def test_of_spoilt_talks_the_cause_is_named(tmp_path: Path, data_dir: Path) -> None:
    """All but the last twenty were looked at while the rules were made, so that this is a floor and no measurement."""
    first = three = silent = 0
    for talk in SPOILT:
        events, cause = events_and_cause(talk, tmp_path, data_dir)
        meta: Any = {"status": "ok", "mark": {"outcome": "failed"}}
        named = [suspect.number for suspect in examine(events, meta).suspects]
        first += named[:1] == [cause]
        three += cause in named
        silent += all(found.kind == "time_spent" for found in examine(events).findings)

    assert len(SPOILT) == 111
    assert first >= 78, first
    assert three >= 104, three
    assert silent <= 12, silent
