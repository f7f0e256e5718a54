"""
The one door to code that is not ours, and ways to look at an object without opening it.

Whatever could run a user's code goes through `UserCode`, which asks each object at most once, contains what it raises,
and counts the time it took, so that a slow `__repr__` is not held against our own budget.
"""

from __future__ import annotations

from itertools import islice
from time import thread_time
from typing import Any

from agentdbg.faults import pass_on
from agentdbg.interruptions import is_interruption

__all__ = [
    "UserCode",
    "exception_arguments",
    "mapping_items",
    "static_attribute",
    "tells_endlessly",
    "type_name",
]

_MOST_TOLD = 5_000


class UserCode:
    """The one door to code that is not ours."""

    __slots__ = ("_answers", "seconds")

    def __init__(self) -> None:
        self._answers: dict[tuple[int, Any], tuple[Any, Any]] = {}
        self.seconds = 0.0
        """Time spent in code that is not ours."""

    def call(self, owner: Any, question: Any, wanted: Any = object, fallback: Any = None) -> Any:
        """
        `question(owner)`, asked once per object; text that says what went wrong when it raises.

        `wanted` is the type the answer must have; another answer gives `fallback`, or text that says so.
        """
        known = self._answers.get((id(owner), question))
        if known is not None:
            return known[1]
        began = thread_time()
        try:
            answer = question(owner)
        # A repr that raises KeyboardInterrupt or SystemExit by itself must not end the program that is being watched.
        except BaseException as error:  # see above
            if is_interruption(error):
                raise
            answer = f"<{type_name(owner)}: its {_name_of(question)} raised {type_name(error)}>"
        finally:
            self.seconds += thread_time() - began
        if not isinstance(answer, wanted) and not isinstance(answer, str):
            answer = fallback if fallback is not None else f"<{type_name(owner)}>"
        self._answers[(id(owner), question)] = (owner, answer)  # holding the owner keeps its id from being reused
        return answer


def type_name(value: Any) -> str:
    return type.__getattribute__(type(value), "__name__")  # type: ignore[no-any-return]


def _name_of(question: Any) -> str:
    return getattr(question, "__name__", "code")


def static_attribute(kind: type, name: str) -> Any:
    """A class attribute, found without asking any metaclass, descriptor or `__getattr__`."""
    for base in type.__dict__["__mro__"].__get__(kind):
        found = type.__dict__["__dict__"].__get__(base).get(name)
        if found is not None:
            return found
    return None


def mapping_items(entries: dict[Any, Any], most: int) -> list[tuple[Any, Any]]:
    """At most `most` + 1 items of a dict, also while another thread changes it."""
    for _attempt in range(3):
        try:
            return list(islice(dict.items(entries), most + 1))
        except RuntimeError as error:  # it changed size while we looked
            pass_on(error)
    return []


def exception_arguments(error: BaseException) -> Any:
    """What an exception was made with, past anything its own class says."""
    return BaseException.__dict__["args"].__get__(error)


def tells_endlessly(error: BaseException) -> bool:
    """Whether the text of an exception would be that of a structure far too large to be written out."""
    waiting: list[Any] = [exception_arguments(error)]
    for _ in range(_MOST_TOLD):
        if not waiting:
            return False
        item = waiting.pop()
        if type(item) is dict:
            waiting.extend(islice(item.values(), _MOST_TOLD))
        elif type(item) in (list, tuple, set, frozenset):
            waiting.extend(islice(item, _MOST_TOLD))
    return True
