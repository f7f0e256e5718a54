"""The command line of a replay or a fork that the page or an assistant asks for: values in, words out, nothing else."""

from __future__ import annotations

import re
from typing import Any

from agentdbg.exceptions import UsageError

__all__ = ["again_words"]

_MOST = 100
_EVENT = re.compile(r"[0-9a-f-]{4,36}|[0-9]{1,9}|error|loop|last")


def again_words(run_id: str, wanted: dict[str, Any]) -> list[str]:
    """The command that a request asks for. Raises UsageError for everything it does not know."""
    if wanted.get("what") == "replay":
        return ["replay", run_id]
    if wanted.get("what") != "fork" or not isinstance(wanted.get("at"), str) or not _EVENT.fullmatch(wanted["at"]):
        raise UsageError('the body has to be {"what": "replay"} or {"what": "fork", "at": "…", "set": ["result=…"]}')
    is_changed = any(wanted.get(key) for key in ("set", "set_all", "mocks", "faults"))
    words = ["fork", run_id, f"--{'at' if is_changed else 'after'}={wanted['at']}"]
    for key, option in (("set", "--set"), ("set_all", "--set-all"), ("mocks", "--mock"), ("faults", "--fault")):
        given = wanted.get(key, [])
        if not isinstance(given, list) or not all(isinstance(one, str) for one in given) or len(given) > _MOST:
            raise UsageError(f"{key} has to be a list of texts")
        if any("=@" in one or "=py:" in one for one in given):
            raise UsageError(f"{key}: files and functions can be named on the command line only")
        words += [f"{option}={one}" for one in given]
    writes = wanted.get("writes", "deny")
    if writes not in ("deny", "allow", "recorded"):
        raise UsageError("writes can be deny, allow or recorded")
    for key, most in (("trials", 100), ("jobs", 8)):
        number = wanted.get(key, 1)
        if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= most:
            raise UsageError(f"{key} has to be a number from 1 to {most}")
        words += [f"--{key}={number}"] if wanted.get("trials", 1) > 1 else []
    return [*words, f"--writes={writes}"]
