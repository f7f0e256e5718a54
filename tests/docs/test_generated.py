"""What can be generated is generated, and is what the code says today."""

from __future__ import annotations

import inspect
import json
import re
from typing import Any

import pytest

import agentdbg
from agentdbg import storage
from agentdbg.cli import COMMANDS
from agentdbg.config import GUARDRAILS, SETTINGS
from agentdbg.events import EVENT_TYPES, load_schema, schema_problems
from scripts import generate_docs
from tests.docs.pages import ROOT, blocks

TRACE_FORMAT = "docs/reference/trace-format.md"
SHAPES = (*EVENT_TYPES, "event", "run", "error", "usage", "guardrails")


def _page(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


@pytest.mark.parametrize("path", generate_docs.PAGES)
def test_generated_parts_are_up_to_date(path: str) -> None:
    """A table that was true last week misleads more than none."""
    assert generate_docs.page_with_parts(path) == _page(path), f"{path} is out of date: run `make docs`"


@pytest.mark.parametrize("shape", SHAPES)
def test_every_field_of_the_format_has_a_meaning_and_a_row(shape: str) -> None:
    """People build on these files; a field nobody explains is a field nobody can use."""
    names = generate_docs.field_names(shape)

    assert names
    assert set(names) == set(generate_docs.MEANINGS[shape])
    assert shape in generate_docs.PAGES[TRACE_FORMAT]


def test_no_shape_of_the_schema_is_left_out() -> None:
    """A new event type or shared shape has to be documented before it ships."""
    assert set(load_schema()["$defs"]) <= set(SHAPES)


@pytest.mark.parametrize("event_type", EVENT_TYPES)
def test_every_event_type_is_described_in_both_references(event_type: str) -> None:
    """SPEC.md says how it behaves, the trace format says what it holds."""
    assert re.search(rf"^### {event_type}$", _page(TRACE_FORMAT), re.MULTILINE)
    assert event_type in _page("SPEC.md")
    for field in load_schema()["$defs"][event_type]["required"]:
        assert f"`{field}`" in _page("SPEC.md"), f"SPEC.md does not mention {event_type}'s {field}"


def test_the_example_payloads_are_valid() -> None:
    """An example that the schema refuses teaches the wrong format."""
    section = ""
    checked = set()
    for line_block in re.split(r"^### ", _page(TRACE_FORMAT), flags=re.MULTILINE)[1:]:
        section = line_block.split("\n", 1)[0]
        for block in blocks(line_block):
            if block.language == "json" and section in EVENT_TYPES:
                assert schema_problems(_envelope(section, json.loads(block.text))) == []
                checked.add(section)

    assert checked == set(EVENT_TYPES) - {"LLM_CALL"}


def test_the_example_event_is_valid() -> None:
    """It stands for LLM_CALL and for the ten keys at once."""
    whole = [json.loads(block.text) for block in blocks(_page(TRACE_FORMAT)) if '"parent_id"' in block.text]

    assert len(whole) == 1
    assert schema_problems(whole[0]) == []
    assert list(whole[0]) == list(load_schema()["properties"])


def _envelope(event_type: str, payload: dict[str, Any]) -> dict[str, Any]:
    stand_in = "b6b457e6-9d70-4691-90a6-6cfffc2e8629"
    return {
        "spec_version": "0.1",
        "event_id": stand_in,
        "run_id": stand_in,
        "parent_id": None if event_type == "RUN_START" else stand_in,
        "event_type": event_type,
        "ts": "2026-11-15T20:47:55.444Z",
        "duration_ms": None,
        "name": "example",
        "payload": payload,
        "meta": {},
    }


def test_every_setting_is_documented() -> None:
    """By its key and by its variable, in the reference and in the specification."""
    for setting in SETTINGS:
        for page in ("docs/configuration.md", "SPEC.md"):
            text = _page(page)
            assert setting.environment is None or setting.environment in text, f"{page}: {setting.environment}"
            assert not setting.in_files or re.search(rf"\b{setting.key}\b", text), f"{page}: {setting.key}"


def test_every_guardrail_is_on_its_page() -> None:
    """Whoever sets a limit wants to know what exactly it counts."""
    for name in GUARDRAILS:
        assert f"| `{name}` | `AGENTDBG_{name.upper()}` |" in _page("docs/guardrails.md")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_documented(command: str) -> None:
    """In the README's table, in the specification, and on a page of its own or of the command line."""
    assert f"`agentdbg {command}`" in _page("README.md")
    assert f"`agentdbg {command}" in _page("SPEC.md") or f"`{command}`" in _page("SPEC.md")
    assert f"agentdbg {command}" in "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("docs/*.md"))


@pytest.mark.parametrize("name", agentdbg.__all__)
def test_every_public_name_and_argument_is_in_the_sdk_page(name: str) -> None:
    """What is exported is promised, and what is promised is explained."""
    text = _page("docs/sdk.md")
    thing = getattr(agentdbg, name)

    assert f"`{name}`" in text or f"`@{name}`" in text
    if inspect.isfunction(thing):
        for parameter in inspect.signature(thing).parameters.values():
            if parameter.kind is not parameter.VAR_KEYWORD and parameter.name not in ("f", "function"):
                assert re.search(rf"\b{parameter.name}\b", text), f"{name}({parameter.name}) is not documented"


@pytest.mark.parametrize("name", storage.__all__)
def test_every_reader_is_documented(name: str) -> None:
    """Scripts are written against these."""
    assert f"`{name}(" in _page(TRACE_FORMAT)


def test_every_http_route_is_in_the_specification() -> None:
    """The page is not the only client: CI and coding agents read runs too."""
    from agentdbg.server import routes, sockets

    text = _page("SPEC.md").replace("RUN_ID", "{run_id}")
    paths = [getattr(route, "path", "") for router in (routes.router, sockets.router) for route in router.routes]

    assert len(paths) > 10
    for path in paths:
        assert path.replace("{event_id}", "EVENT_ID") in text, f"SPEC.md does not mention {path}"
