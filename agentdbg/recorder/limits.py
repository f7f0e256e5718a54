"""Which limits a run has: what was given with it, over what the settings say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.config import GUARDRAILS, SETTINGS
from agentdbg.faults import pass_on, tell_once
from agentdbg.recorder.guardrails import Limits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentdbg.config import Config

__all__ = ["choose_limits"]

_PARSERS = {setting.key: setting.parse for setting in SETTINGS if setting.guardrail}


def choose_limits(config: Config, given: Mapping[str, Any]) -> Limits:
    """The limits of one run: arguments over settings, each checked the same way."""
    chosen = {name: getattr(config, name) for name in GUARDRAILS}
    for name, value in given.items():
        if value is None:
            continue
        try:
            chosen[name] = _PARSERS[name](value)
        except Exception as error:  # noqa: BLE001 -- the value may be anything
            pass_on(error, of_user_code=True)
            kept = "no limit" if chosen[name] is None else chosen[name]
            message = f"{name}={_shown(value)}, {error}; kept {kept}"
            tell_once(message, message)
    return Limits(**chosen)


def _shown(value: object) -> str:
    try:
        return f"{value!r:.60}"
    except Exception as error:  # noqa: BLE001 -- its own __repr__ failed
        pass_on(error, of_user_code=True)
        return f"a {type(value).__name__}"
