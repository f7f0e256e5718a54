"""
A tool: what it is called, what it takes, and the function that answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentdbg.mcp_server.answers import encode, fit
from agentdbg.mcp_server.arguments import MAX_BYTES, Parameter, read_arguments, schema_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentdbg.mcp_server.reader import Reader

__all__ = ["Tool"]


@dataclass(frozen=True)
class Tool:
    """One tool. `answer` is called with the reader and the arguments; `max_bytes` is an argument of every tool."""

    name: str
    title: str
    description: str
    parameters: tuple[Parameter, ...]
    answer: Callable[..., dict[str, Any]]

    @property
    def definition(self) -> dict[str, Any]:
        """The tool as the protocol lists it."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": schema_of((*self.parameters, MAX_BYTES)),
            # Nothing is changed, asking twice gives the same, and only this machine's files are read.
            "annotations": {
                "title": self.title,
                "readOnlyHint": True,
                "destructiveHint": False,
                "idempotentHint": True,
                "openWorldHint": False,
            },
        }

    def call(self, reader: Reader, given: dict[str, Any]) -> str:
        """The answer as JSON, never larger than was asked for."""
        values = read_arguments((*self.parameters, MAX_BYTES), given)
        with reader.lock:
            answer = self.answer(reader, **values)
        return encode(fit(answer, values["max_bytes"])[0])
