"""The line that is typed at a breakpoint: whatever keys, pastes and terminals send, it is a line in the end."""

from __future__ import annotations

import os
import random
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

from agentdbg.control.line_editor import CalledOff, LineEditor

if TYPE_CHECKING:
    from collections.abc import Iterator

pty = pytest.importorskip("pty")
termios = pytest.importorskip("termios")


class Terminal:
    """A terminal with somebody at the keys."""

    def __init__(self) -> None:
        self.keys, self.own = pty.openpty()
        self.editor = LineEditor()

    def lines(self, count: int, *pieces: bytes) -> list[str]:
        """What is read while these come, one after the other."""

        def type_all() -> None:
            for piece in pieces:
                time.sleep(0.03)
                os.write(self.keys, piece)

        typing = threading.Thread(target=type_all)
        typing.start()
        ends_at = time.monotonic() + 10
        try:
            return [self.editor.read("> ", lambda: time.monotonic() > ends_at) for _ in range(count)]
        finally:
            typing.join()


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    terminal = Terminal()
    with os.fdopen(terminal.own) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield terminal
        os.close(terminal.keys)


def test_pasted_lines_are_read_one_after_the_other(terminal: Terminal) -> None:
    """Two commands copied from the docs are two commands."""
    assert terminal.lines(3, b"e args.amount=40\nc\nn\n") == ["e args.amount=40", "c", "n"]
    assert terminal.lines(1, b"\x1b[200~e args.memo=caf\xc3\xa9\x1b[201~\r") == ["e args.memo=café"]


def test_a_letter_may_come_in_pieces(terminal: Terminal) -> None:
    """A slow line parts the bytes of one letter."""
    assert terminal.lines(1, b"e memo=\xe6", b"\x97", b"\xa5\xf0\x9f", b"\x98\x80\r") == ["e memo=日😀"]


def test_keys_without_a_meaning_leave_no_trace(terminal: Terminal) -> None:
    """Ctrl with an arrow, function keys, Alt with a letter, Escape alone, a letter of another encoding."""
    keys = b"p a\x1b[1;5Cr\x1b[15~g\x1bbs\xe9 \x1bOP.x\x1b[24;2~"
    assert terminal.lines(1, keys, b"\r") == ["p args .x"]
    assert terminal.lines(1, b"\x1b[\r") == [""]
    assert terminal.lines(1, b"a\x1b\r") == ["a"]


def test_a_line_longer_than_the_terminal_stays_one_line(
    terminal: Terminal, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It moves under the cursor; drawn whole, each key would leave a copy of it behind."""
    monkeypatch.setenv("COLUMNS", "40")
    text = b"".join(b"%d" % (n % 10) for n in range(100))

    assert terminal.lines(1, *[text[at : at + 10] for at in range(0, 100, 10)], b"\x01!\r") == [f"!{text.decode()}"]
    drawn = [one for one in capsys.readouterr().err.replace("\n", "").split("\r\x1b[K") if one]
    assert max(len(one.partition("\x1b")[0]) for one in drawn) < 40


@pytest.mark.parametrize("seed", range(20))
def test_whatever_is_typed_the_next_line_is_read(seed: int, terminal: Terminal) -> None:
    """No key stroke waits for ever for its other half."""
    chance = random.Random(seed)
    pieces = (
        b"\x1b",
        b"[",
        b"O",
        b"~",
        b"5",
        b";",
        b"a",
        b"\xc3",
        b"\xa9",
        b"\xe6",
        b"\xff",
        b"\x80",
        b"\t",
        b"\x15",
        b" ",
    )
    typed = b"".join(chance.choice(pieces) for _ in range(40))

    assert terminal.lines(2, typed + b"\r\r\x15done\r\r")[1:] in (["done"], [""])


def test_the_terminal_is_given_back(terminal: Terminal) -> None:
    """However a line ends: typed, called off, or with the terminal itself."""
    before = termios.tcgetattr(terminal.own)[3]
    terminal.lines(1, b"c\r")
    assert termios.tcgetattr(terminal.own)[3] == before

    with pytest.raises(CalledOff):
        terminal.editor.read("> ", lambda: True)
    assert termios.tcgetattr(terminal.own)[3] == before
