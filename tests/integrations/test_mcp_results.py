"""An MCP tool that failed says so in its result; whoever records that result must not call it a success."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg import traced_run
from agentdbg.around import Pairing, mcp_failure, text_of

if TYPE_CHECKING:
    from tests.conftest import Recorded


@dataclass
class Text:
    text: str
    type: str = "text"


@dataclass
class Image:
    data: str = "…"
    type: str = "image"


@dataclass
class CallToolResult:
    """As the mcp package has it from version 2 on."""

    content: list[Any] = field(default_factory=list)
    is_error: bool = False


class OlderResult:
    """As it was before: another spelling."""

    def __init__(self, content: list[Any], failed: bool) -> None:
        self.content = content
        self.isError = failed


OlderResult.__name__ = "CallToolResult"

FAILED: list[tuple[Any, str]] = [
    (CallToolResult([Text("no such file")], is_error=True), "no such file"),
    (OlderResult([Text("no such file")], failed=True), "no such file"),
    ({"content": [{"type": "text", "text": "no such file"}], "isError": True}, "no such file"),
    ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "is_error": True}, "a\nb"),
    (CallToolResult([Image(), Text("blurred")], is_error=True), "blurred"),
    (CallToolResult([], is_error=True), "the MCP tool returned an error without a text"),
]
NOT_FAILED: list[Any] = [
    CallToolResult([Text("fine")]),
    OlderResult([Text("fine")], failed=False),
    {"content": [{"type": "text", "text": "fine"}], "isError": False},
    {"content": [{"type": "text", "text": "fine"}]},
    {"is_error": True},  # a tool of somebody's own, which means by it what it likes
    {"isError": "true", "content": []},
    "isError",
    None,
    3,
]


@pytest.mark.parametrize(("result", "message"), FAILED)
def test_a_result_that_says_so_is_a_failed_call(result: Any, message: str, recorded: Recorded) -> None:
    """The agent that swallowed it, and the one that never looked, both show up then."""
    pairing = Pairing("framework")
    with traced_run("story"):
        pairing.start("key", "tool", "read", {"path": "a"})
        pairing.end("key", result)

    payload = recorded.only().one("TOOL_CALL")["payload"]
    assert (payload["status"], payload["error"]["error_type"]) == ("error", "MCPToolError")
    assert payload["error"]["message"] == message
    assert recorded.only().meta["counts"]["errors"] == 1


@pytest.mark.parametrize("result", NOT_FAILED)
def test_any_other_result_is_none(result: Any) -> None:
    """What merely looks like one is the program's own affair."""
    assert mcp_failure(result) is None


@pytest.mark.parametrize(
    ("blocks", "text"),
    [("words", "words"), (["a", {"text": "b"}, Text("c"), Image(), {"text": None}], "a\nb\nc"), (None, ""), ({}, "")],
)
def test_the_words_of_a_content_are_found(blocks: Any, text: str) -> None:
    """Frameworks pass the content on in forms of their own."""
    assert text_of(blocks) == text


def test_what_the_framework_says_beats_the_result(recorded: Recorded) -> None:
    """An exception tells more than words made for a model."""
    pairing = Pairing("framework")
    with traced_run("story"):
        pairing.start("key", "tool", "read")
        pairing.end("key", CallToolResult([Text("failed")], is_error=True), error=OSError("disk"))

    assert recorded.only().one("TOOL_CALL")["payload"]["error"]["error_type"] == "OSError"
