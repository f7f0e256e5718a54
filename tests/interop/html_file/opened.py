"""The HTML file as a program without a browser reads it: its elements, and what its blocks hold."""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

REFERENCE = re.compile(r"\x01([\x10-\x1f]+)")


@dataclass
class Element:
    """One element with what stands inside it."""

    tag: str
    attributes: dict[str, str | None]
    text: str = ""


@dataclass
class OpenedFile:
    """All elements of a file, in order."""

    elements: list[Element] = field(default_factory=list)

    def all(self, tag: str) -> list[Element]:
        return [element for element in self.elements if element.tag == tag]

    def scripts(self) -> list[str]:
        """Those that a browser runs."""
        return [script.text for script in self.all("script") if "type" not in script.attributes]

    def blocks(self, kind: str) -> list[tuple[int, int, bytes]]:
        """First number, last number and content of the blocks of a kind."""
        return [
            (int(block.attributes["data-first"] or 0), int(block.attributes["data-last"] or 0), _unpacked(block.text))
            for block in self.all("script")
            if block.attributes.get("data-block") == kind
        ]

    def lines(self, kind: str, start: int = 1) -> list[str]:
        """The lines of all blocks of a kind, which follow one another without a gap."""
        found: list[str] = []
        for first, last, content in self.blocks(kind):
            lines = content.decode().split("\n")

            assert first == start + len(found)
            assert last == first + len(lines) - 1
            found += lines
        return found

    def events(self) -> list[str]:
        """The events as JSON, put together again."""
        strings = self.lines("strings", 0)

        def string(match: re.Match[str]) -> str:
            return strings[int("".join(f"{ord(digit) - 0x10:x}" for digit in match[1]), 16)]

        return [
            REFERENCE.sub(string, line).replace("\x03", '\\"').replace("\x02", "\\\\") for line in self.lines("events")
        ]

    def only(self, kind: str) -> Any:
        """The JSON in the one block of a kind."""
        ((_, _, content),) = self.blocks(kind)
        return json.loads(content)

    @property
    def receipt(self) -> dict[str, Any]:
        (found,) = [script for script in self.all("script") if script.attributes.get("id") == "receipt"]
        return json.loads(found.text)  # type: ignore[no-any-return]

    @property
    def policy(self) -> dict[str, str]:
        """The directives of the content security policy."""
        (meta,) = [meta for meta in self.all("meta") if meta.attributes.get("http-equiv")]
        return dict(part.strip().split(" ", 1) for part in (meta.attributes["content"] or "").split(";"))


def opened(html: bytes) -> OpenedFile:
    """The file, parsed."""
    file = OpenedFile()

    class Parser(HTMLParser):
        is_inside = False

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            file.elements.append(Element(tag, dict(attrs)))
            self.is_inside = True

        def handle_endtag(self, tag: str) -> None:
            self.is_inside = False

        def handle_data(self, data: str) -> None:
            if self.is_inside:
                file.elements[-1].text += data

    Parser(convert_charrefs=True).feed(html.decode())
    return file


def _unpacked(text: str) -> bytes:
    return zlib.decompress(b64decode(text, validate=True), -zlib.MAX_WBITS)
