"""
What a running call is given, in the form in which the tape has it: plain JSON without secrets, and its hash.

Live inputs are redacted before they are compared, so a rotated key matches and nobody needs the recorded one. Secrets
that stand at the same places of the recorded and the live input are the same secret: that is how a served result in
which one was taken out gets the live one back.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from agentdbg import encoding
from agentdbg.control.chance import Chance
from agentdbg.events import REDACTED
from agentdbg.tape.codec import encode_value
from agentdbg.tape.value_store import ValueStore, input_hash

if TYPE_CHECKING:
    from agentdbg.redaction import Redactor

__all__ = ["LiveInputs", "matches_wildcard"]

_NUMBERED = re.compile(re.escape(REDACTED) + r":(\d+)")
_ANY = re.compile(re.escape(REDACTED) + r"(?::\d+)?")


class LiveInputs:
    """Hashes and plain forms of live inputs, and the secrets met in them."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._store = ValueStore(redactor)
        self._secrets: dict[int, Any] = {}
        """By the number that a secret has on the tape: the live one."""
        self.chance = Chance()

    def name(self, name: Any) -> str:
        """A call's name as the tape has it."""
        return self._redactor.clean_text(name)

    def hash(self, given: Any) -> str:
        """The hash that a call with this input has on a tape."""
        return input_hash(self._redactor, given, self._store)

    def plain(self, given: Any) -> Any:
        """The input as a tape has it."""
        plain = encode_value(given)[0]
        return self._redactor.whole(plain, encoding.encode(plain), self._store.numbers)

    @property
    def has_secrets(self) -> bool:
        """Whether any live input had a secret in it so far."""
        return bool(self._store.numbers.secrets)

    def learn(self, recorded: Any, given: Any) -> None:
        """Take the secrets of a live input for those at the same places of the recorded one."""
        numbers = _numbers_in(recorded)
        if numbers:
            live = _numbers_in(self.plain(given))
            secrets = self._store.numbers.secrets
            if len(live) == len(numbers):
                self._secrets.update({n: secrets[m] for n, m in zip(numbers, live, strict=True) if m < len(secrets)})

    def filled(self, plain: Any) -> Any:
        """A recorded value with the live secrets in it, as far as they are known, and with what was drawn anew."""
        plain = self.chance.filled(plain)
        if not self._secrets or REDACTED not in encoding.encode(plain).decode():
            return plain
        return self._filled(plain)

    def _filled(self, plain: Any) -> Any:
        if type(plain) is str:
            whole = _NUMBERED.fullmatch(plain)
            if whole is not None:
                return self._secrets.get(int(whole[1]), plain)
            return _NUMBERED.sub(lambda found: str(self._secrets.get(int(found[1]), found[0])), plain)
        if type(plain) is list:
            return [self._filled(item) for item in plain]
        if type(plain) is dict:
            return {key: self._filled(value) for key, value in plain.items()}
        return plain


def _numbers_in(plain: Any) -> list[int]:
    """The numbers of the secrets in a value, in their order; keys that differ in order do not matter."""
    if type(plain) is str:
        return [int(number) for number in _NUMBERED.findall(plain)]
    found: list[int] = []
    for item in plain if type(plain) is list else [plain[key] for key in sorted(plain)] if type(plain) is dict else ():
        found += _numbers_in(item)
    return found


def matches_wildcard(recorded: Any, now: Any) -> bool:
    """Whether they are the same but for texts that were taken out of the recording: those match any text."""
    if type(recorded) is str and REDACTED in recorded:
        return _text_matches(recorded, now) if type(now) is str else _ANY.fullmatch(recorded) is not None
    if type(recorded) is not type(now):
        return False
    if type(recorded) is dict:
        return recorded.keys() == now.keys() and all(matches_wildcard(recorded[key], now[key]) for key in recorded)
    if type(recorded) is list:
        return len(recorded) == len(now) and all(map(matches_wildcard, recorded, now))
    return bool(recorded == now)


def _text_matches(recorded: str, now: str) -> bool:
    """Compare piece by piece; no pattern, so that the time grows with the text alone."""
    pieces = _ANY.split(recorded)
    if len(now) < sum(map(len, pieces)) or not now.startswith(pieces[0]) or not now.endswith(pieces[-1]):
        return False
    at, end = len(pieces[0]), len(now) - len(pieces[-1])
    for piece in pieces[1:-1]:
        found = now.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return at <= end
