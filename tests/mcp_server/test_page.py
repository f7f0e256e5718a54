"""The page on the server names what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agentdbg.mcp_server.protocol import TEMPLATES, TOOLS

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text(encoding="utf-8")


def test_every_tool_and_argument_is_on_the_page() -> None:
    """People decide by the page what their assistant may ask."""
    rows = dict(re.findall(r"^\| `(\w+)` \|.*\| ([^|]*) \|$", PAGE, re.MULTILINE))

    assert set(rows) >= set(TOOLS)
    for name, tool in TOOLS.items():
        assert re.findall(r"`(\w+)`", rows[name]) == [parameter.name for parameter in tool.parameters]


def test_every_address_is_on_the_page() -> None:
    """An address nobody knows of is never attached."""
    assert all(f"`{template['uriTemplate']}`" in PAGE for template in TEMPLATES)
