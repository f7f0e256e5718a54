"""
Split a command line into its simple commands, as a shell would: words, redirections, what is run inside.

It is no shell: nothing is expanded. What it cannot split it says so, and whoever asked must not take it for harmless.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

__all__ = ["SimpleCommand", "Unreadable", "split_commands"]

_LONGEST = 20_000
_OPERATORS = ("&&", "||", ";;", "|&", ";", "|", "&", "\n", "(", ")")
_REDIRECTION = re.compile(r"(?:\d*|&)(?:>>|>\||>&|<<<|<<-|<<|<>|<&|>|<)")
_COMMENT_BEFORE = frozenset(" \t\n;&|(")


class Unreadable(ValueError):
    """The text is no command line that can be split: a quote that never ends, a text that was cut."""


@dataclass
class SimpleCommand:
    """One command: its words without quotes, the files it writes to, and the commands it runs to make its words."""

    words: list[str] = field(default_factory=list)
    writes_to: list[str] = field(default_factory=list)
    inner: list[str] = field(default_factory=list)
    given: str | None = None
    """What is given to it in place: a here-document or a here-string."""
    is_fed: bool = False
    """Whether something else is: another command's output, or a file."""


def split_commands(text: str) -> list[SimpleCommand]:
    """The simple commands of a text in order; Unreadable for what is none."""
    if len(text) > _LONGEST:
        raise Unreadable
    return _Splitter(text.replace("\r\n", "\n").replace("\\\n", " ")).split()


class _Splitter:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._commands: list[SimpleCommand] = []
        self._command = SimpleCommand()
        self._waiting: list[tuple[SimpleCommand, str, bool]] = []
        """Here-documents whose text begins on the next line, the word that ends each, and whether it is quoted."""

    def split(self) -> list[SimpleCommand]:
        while self._at < len(self._text):
            self._step()
        self._end_command()
        return self._commands

    def _step(self) -> None:
        text, at = self._text, self._at
        if text[at] in " \t":
            self._at += 1
        elif text[at] == "#" and (at == 0 or text[at - 1] in _COMMENT_BEFORE):
            end = text.find("\n", at)
            self._at = len(text) if end < 0 else end
        elif redirection := _REDIRECTION.match(text, at):
            self._redirect(redirection[0])
        elif operator := next((sign for sign in _OPERATORS if text.startswith(sign, at)), None):
            self._at += len(operator)
            self._end_command(feeds_next=operator in ("|", "|&"))
            if operator == "\n":
                self._take_documents()
        else:
            self._command.words.append(self._word())

    def _end_command(self, *, feeds_next: bool = False) -> None:
        command = self._command
        if command.words or command.writes_to or command.inner:
            self._commands.append(command)
        self._command = SimpleCommand(is_fed=feeds_next)

    def _redirect(self, sign: str) -> None:
        self._at += len(sign)
        kind = sign.lstrip("0123456789&")
        while self._text[self._at : self._at + 1] in (" ", "\t"):
            self._at += 1
        is_quoted = self._text[self._at : self._at + 1] in ("'", '"', "\\")
        target = self._word()
        if kind in ("<<", "<<-"):
            self._waiting.append((self._command, target, is_quoted))
        elif kind == "<<<":
            self._command.given = target
        elif kind in ("<", "<&"):
            self._command.is_fed = True
        elif not (kind == ">&" and (target.isdigit() or target == "-")):
            self._command.writes_to.append(target)

    def _take_documents(self) -> None:
        for command, ending, is_quoted in self._waiting:
            lines = self._text[self._at :].split("\n")
            body = next((at for at, line in enumerate(lines) if line.strip("\t") == ending), None)
            if body is None:
                raise Unreadable
            command.given = "\n".join(lines[:body])
            if not is_quoted:  # what stands in `$(…)` is run
                inside = _Splitter('"' + command.given.replace('"', "") + '"').split()
                command.inner += [text for found in inside for text in found.inner]
            self._at = min(self._at + sum(len(line) + 1 for line in lines[: body + 1]), len(self._text))
        self._waiting = []

    def _word(self) -> str:
        """The next word without its quotes; what it runs is put aside."""
        text, word = self._text, ""
        while self._at < len(text) and text[self._at] not in " \t\n;|&()<>":
            sign = text[self._at]
            if sign == "'":
                word += self._until("'")
            elif sign == '"':
                word += self._quoted()
            elif sign == "\\":
                word += text[self._at + 1 : self._at + 2]
                self._at += 2
            else:
                word += self._plain()
        return word

    def _plain(self) -> str:
        text = self._text
        if text.startswith("$((", self._at):
            return self._expansion("))")
        if text.startswith("$(", self._at):
            self._at += 1
            self._command.inner.append(self._parenthesis())
            return "$()"
        if text[self._at] == "`":
            self._command.inner.append(self._until("`"))
            return "$()"
        if text.startswith("${", self._at):
            return self._expansion("}")
        self._at += 1
        return text[self._at - 1]

    def _expansion(self, ending: str) -> str:
        """`${name}` and `$((1 + 2))`, in which nothing may be run."""
        end = self._text.find(ending, self._at)
        word = self._text[self._at : end + len(ending)]
        if end < 0 or "`" in word or "$(" in word[2:]:
            raise Unreadable
        self._at = end + len(ending)
        return word

    def _until(self, sign: str) -> str:
        end = self._text.find(sign, self._at + 1)
        if end < 0:
            raise Unreadable
        inside, self._at = self._text[self._at + 1 : end], end + 1
        return inside

    def _quoted(self) -> str:
        text, word = self._text, ""
        self._at += 1
        while self._at < len(text):
            sign = text[self._at]
            if sign == '"':
                self._at += 1
                return word
            if sign == "\\":
                word += text[self._at + 1 : self._at + 2]
                self._at += 2
            elif sign in "$`":
                word += self._plain()
            else:
                word += sign
                self._at += 1
        raise Unreadable

    def _parenthesis(self) -> str:
        """What stands between parentheses, of which more may be inside; quotes inside may hold single ones."""
        begin, depth, quote = self._at + 1, 0, ""
        while self._at < len(self._text):
            sign = self._text[self._at]
            if sign == "\\":
                self._at += 1
            elif quote:
                quote = "" if sign == quote else quote
            elif sign in "'\"":
                quote = sign
            elif sign in "()":
                depth += 1 if sign == "(" else -1
            self._at += 1
            if depth == 0:
                return self._text[begin : self._at - 1]
        raise Unreadable
