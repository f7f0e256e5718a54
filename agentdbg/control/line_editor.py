"""
A line typed at the terminal, with editing, history and completion, that can be called off while somebody types.

Python's own `input` waits until a line is complete. A paused program may be answered elsewhere meanwhile, so this one
looks between key strokes. It speaks on standard error; standard output belongs to the program.
"""

from __future__ import annotations

import atexit
import functools
import os
import re
import shutil
import sys
from typing import TYPE_CHECKING

try:
    import select
    import termios
    import tty
except ImportError:  # Windows
    HAS_KEYS = False
else:
    HAS_KEYS = True

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["CalledOff", "LineEditor"]

_LOOK_SECONDS = 0.02
_LEAST_ROOM = 10
_STROKE = re.compile(
    rb"\x1b[\[O][ -?]*(?:[@-~]|(?=[^ -~]))|\x1b[^\[O\x00-\x1f]|\x1b(?=[\x00-\x1f])"
    rb"|[\x00-\x1a\x1c-\x1f\x7f]|[\x20-\x7e]+"
    rb"|[\xc0-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf7][\x80-\xbf]{3}"
    rb"|[\xc0-\xf7][\x80-\xbf]*(?=[^\x80-\xbf])|[\x80-\xbf\xf8-\xff]"
)
"""One key: a sequence of Escape, a control character, or text; a letter of several bytes only as a whole."""
_KEYS = {
    b"\x1b[A": "up",
    b"\x1b[B": "down",
    b"\x1b[C": "right",
    b"\x1b[D": "left",
    b"\x1b[H": "home",
    b"\x1b[F": "end",
    b"\x1b[3~": "delete",
    b"\x1bOA": "up",
    b"\x1bOB": "down",
    b"\x01": "home",
    b"\x05": "end",
    b"\x02": "left",
    b"\x03": "interrupt",
    b"\x06": "right",
    b"\x10": "up",
    b"\x0e": "down",
    b"\x7f": "backspace",
    b"\x08": "backspace",
    b"\x15": "clear",
    b"\x0b": "cut",
    b"\x17": "word",
    b"\t": "complete",
    b"\r": "enter",
    b"\n": "enter",
}


class CalledOff(Exception):
    """Somebody else has answered while this line was being typed."""


class LineEditor:
    """Reads lines from the terminal; keeps what was typed before."""

    def __init__(self, complete: Callable[[str], Sequence[str]] = lambda _: ()) -> None:
        self._complete = complete
        self._history: list[str] = []
        self._text = ""
        self._at = 0
        self._typed = b""
        """What has come and was not looked at yet: the lines behind the first one of a pasted text."""

    def read(self, prompt: str, is_called_off: Callable[[], bool]) -> str:
        """One line; Ctrl-D on an empty one gives an empty one, Ctrl-C `abort`. Raises CalledOff."""
        if not HAS_KEYS:
            sys.stderr.write(prompt)
            sys.stderr.flush()
            return sys.stdin.readline().rstrip("\r\n")
        self._text, self._at = "", 0
        descriptor = sys.stdin.fileno()
        give_back = functools.partial(termios.tcsetattr, descriptor, termios.TCSADRAIN, termios.tcgetattr(descriptor))
        atexit.register(give_back)  # where another thread ends the process
        try:
            _take_keys(descriptor)
            line = self._edited(descriptor, prompt, is_called_off)
        except BaseException:
            self._typed = b""
            raise
        finally:
            give_back()
            atexit.unregister(give_back)
        if line.strip() and self._history[-1:] != [line]:
            self._history.append(line)
        return line

    def _edited(self, descriptor: int, prompt: str, is_called_off: Callable[[], bool]) -> str:
        recalled = len(self._history)
        while True:
            key = self._next_key()
            if key is None:
                self._draw(prompt)
                while not select.select([descriptor], [], [], _LOOK_SECONDS)[0]:
                    if is_called_off():
                        sys.stderr.write("\n")
                        raise CalledOff
                came = os.read(descriptor, 4096)
                if not came or (came == b"\x04" and not self._text):
                    sys.stderr.write("\n")
                    return ""
                self._typed += came
                continue
            name = _KEYS.get(key, "")
            if name == "interrupt":
                sys.stderr.write("^C\n")
                return "abort"
            if name == "enter":
                self._draw(prompt)
                sys.stderr.write("\n")
                return self._text
            if name in ("up", "down"):
                recalled = min(max(recalled + (-1 if name == "up" else 1), 0), len(self._history))
                self._text = self._history[recalled] if recalled < len(self._history) else ""
                self._at = len(self._text)
            else:
                self._press(name, key)

    def _next_key(self) -> bytes | None:
        """The next key stroke of what has come; None where it is not all here yet."""
        found = _STROKE.match(self._typed)
        if found is None:
            return None
        self._typed = self._typed[found.end() :]
        return found[0]

    def _press(self, name: str, key: bytes) -> None:
        text, at = self._text, self._at
        match name:
            case "left":
                self._at = max(at - 1, 0)
            case "right":
                self._at = min(at + 1, len(text))
            case "home":
                self._at = 0
            case "end":
                self._at = len(text)
            case "backspace":
                self._text, self._at = text[: max(at - 1, 0)] + text[at:], max(at - 1, 0)
            case "delete":
                self._text = text[:at] + text[at + 1 :]
            case "clear":
                self._text, self._at = text[at:], 0
            case "cut":
                self._text = text[:at]
            case "word":
                kept = text[:at].rstrip()
                kept = kept[: kept.rfind(" ") + 1]
                self._text, self._at = kept + text[at:], len(kept)
            case "complete":
                self._completed()
            case _ if not key.startswith(b"\x1b"):  # what other keys send means nothing here
                new = "".join(one for one in key.decode("utf-8", "ignore") if one.isprintable())
                self._text, self._at = text[:at] + new + text[at:], at + len(new)

    def _completed(self) -> None:
        found = [one for one in self._complete(self._text[: self._at]) if one.startswith(self._text[: self._at])]
        if found:
            common = _common_beginning(found)
            if len(found) > 1 and common == self._text[: self._at]:
                sys.stderr.write("\n" + "  ".join(one.rpartition(" ")[2] for one in found[:40]) + "\n")
            self._text, self._at = common + self._text[self._at :], len(common)

    def _draw(self, prompt: str) -> None:
        """Show the line, or as much of it around the cursor as the terminal is wide."""
        room = max(shutil.get_terminal_size().columns - len(prompt) - 1, _LEAST_ROOM)
        start = max(self._at - room, 0)
        shown = self._text[start : start + room]
        back = len(shown) - (self._at - start)
        sys.stderr.write(f"\r\x1b[K{prompt}{shown}" + (f"\x1b[{back}D" if back else ""))
        sys.stderr.flush()


def _take_keys(descriptor: int) -> None:
    """Get each key as it is typed; Ctrl-C too, whose signal would reach the main thread, whoever asks."""
    tty.setcbreak(descriptor, termios.TCSADRAIN)
    settings = termios.tcgetattr(descriptor)
    settings[6][termios.VINTR] = bytes([os.fpathconf(descriptor, "PC_VDISABLE") & 0xFF])
    termios.tcsetattr(descriptor, termios.TCSADRAIN, settings)


def _common_beginning(texts: Sequence[str]) -> str:
    first, last = min(texts), max(texts)
    length = next((at for at, one in enumerate(first) if last[at : at + 1] != one), len(first))
    return first[:length]
