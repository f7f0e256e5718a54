"""
The contracts of a project's tools, `.agentdbg/effects.yaml`: what each tool does, and how its arguments are compared.

`agentdbg effects learn` proposes the file from runs, a person reviews it, and every gate and comparison reads it. What
the policy says of a tool stands over it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.diff.same_arguments import is_set
from agentdbg.analysis.effects import ARGUMENT_FORMS, effect_of, normal_form
from agentdbg.analysis.run_columns import payload_of
from agentdbg.analysis.text_facts import is_message
from agentdbg.exceptions import UsageError
from agentdbg.strict_yaml import read_strictly

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agentdbg.analysis.effects import Effect, EffectRules
    from agentdbg.events import Event

__all__ = ["CONTRACTS_FILE", "LearnedTools", "find_contracts", "read_contracts"]

CONTRACTS_FILE = Path(".agentdbg") / "effects.yaml"
_EFFECTS = ("read", "write", "unknown")
_CLOCK = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.\d]*(?:Z|[+-]\d\d:?\d\d)?")
_RANDOM = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{32,64}", re.IGNORECASE)
_SECONDS_OF_THIS_CENTURY = (1e9, 4e9)
_WHY = {
    "declared": "as the tool says",
    "configured": "as the settings say",
    "asked": "by what it was asked to do",
    "guessed": "guessed from the name",
    "unknown": "nobody knows: say read or write",
}


def find_contracts(policy: Path | None) -> Path | None:
    """The contracts of the project: beside its policy, else the first ones from the current folder upwards."""
    folders = [policy.parent.parent] if policy is not None and policy.parent.name == CONTRACTS_FILE.parent.name else []
    try:
        folders += [Path.cwd(), *Path.cwd().parents]
    except OSError:  # the current folder was deleted
        return None
    return next((path for folder in folders if (path := folder / CONTRACTS_FILE).is_file()), None)


def read_contracts(path: Path) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """The effect of each tool, and the forms of its arguments; UsageError for a file that cannot be meant."""
    try:
        content = read_strictly(path) or {}
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}; `agentdbg effects learn RUN` writes one") from None
    if not isinstance(content, dict):
        raise UsageError(f"{path} is not a table of tools")
    effects, forms = {}, {}
    for tool, said in content.items():
        where = f"{tool} in {path}"
        if not isinstance(said, dict) or said.get("effect") not in _EFFECTS or not said.keys() <= {"effect", "args"}:
            raise UsageError(f"{where} is not like `effect: write` with `args:` below it; effect is read or write")
        given = said.get("args") or {}
        if not isinstance(given, dict) or not all(form in ARGUMENT_FORMS for form in given.values()):
            raise UsageError(f"an argument of {where} is none of {', '.join(ARGUMENT_FORMS)}")
        effects[str(tool)] = str(said["effect"])
        forms[str(tool)] = {str(name): str(form) for name, form in given.items()}
    return effects, forms


class LearnedTools:
    """What runs show of their tools."""

    def __init__(self, rules: EffectRules) -> None:
        self._rules = rules
        self.effects: dict[str, Effect] = {}
        self._values: dict[str, dict[str, list[tuple[int, Any]]]] = defaultdict(lambda: defaultdict(list))
        self._runs = 0

    def add(self, events: Iterable[Event]) -> None:
        """Take the events of one run."""
        self._runs += 1
        for event in events:
            payload = payload_of(event)
            if event.get("event_type") != "TOOL_CALL":
                continue
            name, effect = str(payload.get("tool_name") or event.get("name") or ""), effect_of(event, self._rules)
            known = self.effects.get(name)
            # One write makes a tool a write; one call that nobody knows leaves it unknown.
            if known is None or _WEIGHT[effect.kind] > _WEIGHT[known.kind]:
                self.effects[name] = effect
            args = normal_form(payload.get("args"))
            for key, value in args.items() if isinstance(args, dict) else ():
                self._values[name][str(key)].append((self._runs, value))

    def as_yaml(self) -> str:
        """The contracts to review, writes first."""
        lines = [
            f"# What this project's tools do, proposed from {self._runs} run{'' if self._runs == 1 else 's'}.",
            "# Review it and commit it: gates and comparisons go by it. The policy stands over it.",
            "# effect: read or write; an unknown one has to be settled by you.",
            f"# args: {', '.join(ARGUMENT_FORMS)}. exact is letter by letter, set in any order, facts by the figures,",
            "# dates, ids and names in a text, ignored not at all.",
        ]
        for name, effect in sorted(self.effects.items(), key=lambda one: (-_ORDER[one[1].kind], one[0])):
            lines += ["", f"{_key(name)}:", f"  effect: {effect.kind}  # {_WHY[effect.source]}"]
            forms = {} if effect.kind == "read" else self.forms_of(name)
            lines += ["  args:"] if forms else []
            lines += [f"    {_key(key)}: {form}{f'  # {why}' if why else ''}" for key, (form, why) in forms.items()]
        return "\n".join(lines) + "\n"

    def forms_of(self, tool: str) -> dict[str, tuple[str, str]]:
        """How each argument of a tool is best compared, and why where that is not plain."""
        return {key: _form_of(key, values) for key, values in sorted(self._values[tool].items())}


def _form_of(key: str, values: list[tuple[int, Any]]) -> tuple[str, str]:
    found = [value for _, value in values if value is not None]
    if found and all(_is_noise(value) for value in found) and len({run for run, _ in values}) > 1:
        by_run: Mapping[int, set[str]] = defaultdict(set)
        for run, value in values:
            by_run[run].add(str(value))
        if not set.intersection(*by_run.values()):
            return "ignored", "a time or a random id that differs in every run"
    if any(isinstance(value, list) and is_set(key, value) for value in found):
        return "set", ""
    if any(isinstance(value, str) and is_message(value, key) for value in found):
        return "facts", ""
    return "exact", ""


def _is_noise(value: Any) -> bool:
    """Whether a value looks like a clock's or like dice."""
    if isinstance(value, str):
        return bool(_CLOCK.fullmatch(value) or _RANDOM.fullmatch(value))
    low, high = _SECONDS_OF_THIS_CENTURY
    return isinstance(value, float) and (low < value < high)


_WEIGHT = {"read": 0, "unknown": 1, "write": 2}
_ORDER = {"read": 0, "write": 1, "unknown": 2}


def _key(text: str) -> str:
    return text if re.fullmatch(r"(?!(?:true|false|null|yes|no|on|off|y|n)$)[A-Za-z_][\w-]*", text) else _quoted(text)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''").replace("\n", " ") + "'"
