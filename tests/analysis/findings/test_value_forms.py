"""A value is found in whatever form a step holds it, and nowhere else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg import llm, tool, traced_run
from agentdbg.analysis.suspects import RunStory
from agentdbg.analysis.suspects.origins import provenance, unrecorded, where_from
from agentdbg.cli import _run
from agentdbg.storage import load_events
from tests.analysis.story import Story

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Recorded


def asked_where(capfd: pytest.CaptureFixture[str], *arguments: str) -> str:
    capfd.readouterr()
    assert _run(["explain", *arguments]) == 0
    return capfd.readouterr().out


def rows() -> list[dict[str, str]]:
    return [{"sku": f"SKU-{at:04d}"} for at in range(400)]


def answer(prompt: str) -> str:
    return f"{prompt[-9:]}: SKU-0250"


def page() -> str:
    return "x " * 2_000


def is_held(value: str, result: Any) -> bool:
    story = Story()
    story.tool("look", {}, result)
    story.end()
    return bool(where_from(RunStory.of_values(story.events), value))


@pytest.mark.parametrize(
    ("value", "result"),
    [
        ("1049.5", {"total": "1.049,50 EUR"}),
        ("1.049,50", {"total": 1049.5}),
        ("€1.049,50", {"total": "1,049.50"}),
        ("1 049.50", {"total": 1049.5}),
        ("1234567", "1.234.567 people"),
        ("12.5%", {"share": 0.125}),
        ("0.125", "a discount of 12.5 %"),
        ("73.47", "73.465"),
        ("$40", {"price": 40.0}),
        ("03.05.1990", "born on May 3, 1990"),
        ("05/03/1990", {"dob": "1990-05-03"}),
        ("3 May 1990", "geboren am 3. Mai 1990"),
        ("1990-05-03", "19900503"),
        ("2026-06-05", "the 5th of June"),
        ("07:40", {"dep": "2026-06-05T07:40:00Z"}),
        ("7:15 pm", {"dep": "19:15"}),
        ("19:15", "at 7:15 p.m."),
        ("+14155550134", "+1 (415) 555-0134"),
        ("AB123", {"flight": "AB-123"}),
        ("Renee Ostergard", {"name": "Renée Østergård"}),
    ],
)
def test_another_form_is_the_same_value(value: str, result: Any) -> None:
    """People copy a value from the page of a shop, a mail or an answer; the log has it as the program wrote it."""
    assert is_held(value, result)


@pytest.mark.parametrize(
    ("value", "result"),
    [
        ("84", {"price": 53.84}),
        ("1049", {"total": 10490}),
        ("1990-05-03", "on May 3, 2024"),
        ("1990-05-03", "on 03.05.1991"),
        ("7:40 am", "19:40"),
        ("7:40", "17:40"),
        ("AB123", "AB-1234"),
        ("3.2.1", {"v": 32.1}),
        ("73.47", "73.4"),
        ("12.5%", {"n": 12.5}),
        ("Anna", "Annabel"),
    ],
)
def test_another_value_is_not(value: str, result: Any) -> None:
    """A wrong source is worse than none."""
    assert not is_held(value, result)


def test_a_value_that_only_the_tape_has_is_found(
    recorded: Recorded, data_dir: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log cuts what is long; "from nowhere" would be wrong of what the tape still has."""
    monkeypatch.setenv("AGENTDBG_MAX_FIELD_BYTES", "1000")
    monkeypatch.setenv("AGENTDBG_TAPE", "1")
    catalog = tool(name="catalog")(rows)
    ask = llm(model="m")(answer)
    with traced_run("long"):
        catalog()
        ask(f"{'x ' * 900}Zelda Quux{' y' * 900}")
    run_id = recorded.only().path.name

    found = json.loads(asked_where(capfd, run_id, "--where", "SKU-0250", "--json"))

    assert [(one["name"], one["path"]) for one in found["found"]] == [("catalog", "result[250].sku"), ("m", "answer")]
    assert "was given to the run" in asked_where(capfd, run_id, "--where", "Zelda Quux")
    cut = RunStory.of_values(load_events(run_id, data_dir))
    assert [one.who for one in where_from(cut, "SKU-0250")] == ["model"]
    assert unrecorded(cut)


def test_a_part_that_is_lost_is_named(
    recorded: Recorded, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a tape nobody knows what stood there."""
    monkeypatch.setenv("AGENTDBG_MAX_FIELD_BYTES", "1000")
    monkeypatch.setenv("AGENTDBG_TAPE", "0")
    with traced_run("long"):
        tool(name="catalog")(page)()
    run_id = recorded.only().path.name

    said = asked_where(capfd, run_id, "--where", "SKU-0250")

    assert "nowhere in this run" in said
    assert "Parts of #3 were not recorded." in said


def test_an_image_is_found_by_what_describes_it() -> None:
    """The picture itself is not in the log; its type and its hash are."""
    story = Story()
    image = f"__MEDIA__ image/png, 9000 bytes, sha256 {'ab' * 32}"
    asked = [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": image}}]
    story.llm([{"role": "user", "content": asked}], "A bicycle.")
    story.end()

    told = RunStory.of_values(story.events)

    assert [one.who for one in where_from(told, "image/png")] == ["asked"]
    assert [one.who for one in where_from(told, "ab" * 32)] == ["asked"]


def test_what_stands_late_in_a_long_result_is_its_source() -> None:
    """A value was found in the first 12 kB of a result only."""
    story = Story()
    story.tool("read", {}, f"{'word ' * 5_000} code 77123 {'word ' * 5_000}")
    number = story.llm([{"role": "user", "content": "x"}], "The code is 77,123.")
    story.end()

    (found,) = provenance(RunStory.of_values(story.events), number)

    assert found.origin is not None
    assert found.origin.name == "read"
