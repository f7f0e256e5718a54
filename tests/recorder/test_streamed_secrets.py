"""A secret that is streamed is cut into pieces, which look harmless one by one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

import agentdbg

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

SECRETS = ("Zq7bX4tR9eWm2KpLs6VnHd3Y", "hunter2-Xq9-long", "Qw8Zr5Ty2Up7As4Df9Gh1Jk6")
TEXT = f"OPENAI_API_KEY=sk-proj-{SECRETS[0]}\npassword: {SECRETS[1]}\nI used ghp_{SECRETS[2]}Zx3Cv0 and it worked"


@agentdbg.llm(model="texts")
def texts(size: int) -> Iterator[str]:
    for at in range(0, len(TEXT), size):
        yield TEXT[at : at + size]


@agentdbg.llm(model="deltas")
def deltas(size: int) -> Iterator[dict[str, Any]]:
    for at in range(0, len(TEXT), size):
        yield {"choices": [{"delta": {"content": TEXT[at : at + size]}}]}


@agentdbg.tool
async def raw(size: int) -> AsyncIterator[bytes]:
    for at in range(0, len(TEXT), size):
        yield TEXT[at : at + size].encode()


class Chunk:
    """As clients give them: an object."""

    def __init__(self, text: str) -> None:
        self.text = text

    def model_dump(self) -> dict[str, str]:
        return {"text": self.text}


@agentdbg.tool
def objects(size: int) -> Iterator[Chunk]:
    for at in range(0, len(TEXT), size):
        yield Chunk(TEXT[at : at + size])


async def _drain(pieces: AsyncIterator[bytes]) -> bytes:
    return b"".join([piece async for piece in pieces])


@pytest.mark.parametrize("sizes", [range(1, 9), range(9, 33), range(33, 65)], ids=str)
def test_no_piece_of_a_streamed_secret_is_stored(tmp_path: Path, monkeypatch: Any, sizes: range) -> None:
    """Wherever it is cut: neither the event nor the tape holds eight letters of it together, or its pieces in a row."""
    monkeypatch.setenv("AGENTDBG_DATA_DIR", str(tmp_path))
    with agentdbg.traced_run("streams"):
        for size in sizes:
            assert "".join(texts(size)) == TEXT
            assert len(list(deltas(size))) == len(list(objects(size)))
            assert asyncio.run(_drain(raw(size))) == TEXT.encode()

    stored = {path: path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.jsonl")}
    assert len(stored) == 2
    for path, content in stored.items():
        for secret in SECRETS:
            whole = [secret[at : at + 8] for at in range(len(secret) - 7)]
            assert [part for part in whole if part in content] == [], path
    events = "".join(content for path, content in stored.items() if path.name == "events.jsonl")
    for size in sizes:
        cut = [TEXT[at : at + size] for at in range(0, len(TEXT), size)]
        pieces = [piece for piece in cut if any(piece in secret for secret in SECRETS) and len(piece) > 3]
        assert [piece for piece in pieces if f'"{piece}"' in events] == []
