"""
What is asked of a run: one table of rules, the same names in a policy file, on the command line and in a test's marker.

`read_rules` takes what a person wrote and refuses what it does not know by name. `make_policy` lays rules over each
other, and over what a baseline asks for by itself. A rule set to `off` is not asked, also where a baseline would.
"""

from __future__ import annotations

import difflib
import math
import reprlib
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

from agentdbg.analysis.effects import EffectRules, matches_any
from agentdbg.exceptions import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["BASELINE_RULES", "RULES", "Amount", "Policy", "Rule", "make_policy", "read_rules", "rules_markdown"]

Amount = float | Literal["baseline"]
"""A hard cap, or what the baseline's runs needed plus the tolerance."""


FINDINGS = (
    "first_failure",
    "died_in_call",
    "swallowed_error",
    "unusable_result",
    "unknown_tool",
    "arguments_misfit",
    "context_growth",
    "context_dropped",
    "context_too_long",
    "answer_cut",
    "no_answer",
    "error_as_answer",
    "loop",
    "time_spent",
)
"""The kinds of findings there are."""


@dataclass(frozen=True)
class Rule:
    """One row of the table: its name, what it may be, and what it asks."""

    key: str
    parse: Callable[[Any], Any]
    form: str
    help: str
    can_be_off: bool = True


def _one_of(*words: str) -> Callable[[Any], str]:
    def parse(given: Any) -> str:
        if given not in words:
            raise ValueError(f"which is neither {' nor '.join(words)}")
        return str(given)

    return parse


def _names(given: Any) -> tuple[str, ...]:
    items = [given] if isinstance(given, str) else given
    if not isinstance(items, (list, tuple)) or not all(isinstance(item, str) for item in items):
        raise ValueError("which is not a list of names")
    # A comma divides wherever it stands: `--must-not-call a,b` must not be one tool that nobody has.
    names = tuple(name.strip() for item in items for name in item.split(","))
    # An empty list may be meant; an empty name is a variable that nobody has set.
    if not all(names):
        raise ValueError("which has an empty name in it")
    return names


def _kinds(given: Any) -> tuple[str, ...]:
    unknown = [kind for kind in _names(given) if kind not in FINDINGS]
    if unknown:
        raise ValueError(f"in which {unknown[0]!r} is no kind of finding ({', '.join(FINDINGS)})")
    return _names(given)


def _names_or_baseline(given: Any) -> tuple[str, ...] | str:
    return "baseline" if given == "baseline" else _names(given)


def _amount(given: Any) -> Amount:
    return "baseline" if given == "baseline" else _number(given)


def _number(given: Any) -> float:
    try:
        value = float("nan") if isinstance(given, bool) else float(given)
    except (TypeError, ValueError, OverflowError):
        value = float("nan")
    if not math.isfinite(value) or value < 0:
        raise ValueError("which is not a number from 0 upwards")
    return int(value) if value.is_integer() else value


_AMOUNT = "a number or `baseline`"
_NAMES = "names of tools, `*` allowed"
RULES: tuple[Rule, ...] = (
    Rule("status", _one_of("ok", "error", "baseline"), "`ok`, `error` or `baseline`", "How the run has to end."),
    Rule("max_errors", _amount, _AMOUNT, "At most so many errors: failed calls and recorded errors."),
    Rule(
        "loops",
        _one_of("none", "baseline"),
        "`none` or `baseline`",
        "No loop of warning or worse; with `baseline` none that the baseline does not have.",
    ),
    Rule(
        "findings",
        _one_of("none", "baseline"),
        "`none` or `baseline`",
        "No other finding of warning or worse, such as an error that was swallowed; with `baseline` no new one.",
    ),
    Rule("must_not_find", _kinds, "kinds of findings", "What must not be found: kinds as `explain --json` has them."),
    Rule("must_call", _names, _NAMES, "Tools that have to be called, and succeed at least once."),
    Rule("must_not_call", _names, _NAMES, "Tools that must not be called."),
    Rule("order", _names, _NAMES, "No tool is called before those that stand before it here."),
    Rule(
        "effects",
        _one_of("baseline", "none"),
        "`none` or `baseline`",
        "The same calls with side effects as a run of the baseline; or none at all.",
    ),
    Rule(
        "answer",
        _one_of("facts"),
        "`facts`",
        "The answer contradicts no figure or date of the baseline's, in whatever words; needs a baseline.",
    ),
    Rule("tools", _names_or_baseline, f"{_NAMES}, or `baseline`", "No other tools than these are called."),
    Rule("max_steps", _amount, _AMOUNT, "At most so many model and tool calls together."),
    Rule("max_llm_calls", _amount, _AMOUNT, "At most so many model calls."),
    Rule("max_tool_calls", _amount, _AMOUNT, "At most so many tool calls."),
    Rule("max_tokens", _amount, _AMOUNT, "At most so many tokens."),
    Rule("max_cost_usd", _amount, _AMOUNT, "At most this cost in US dollars."),
    Rule("max_duration_s", _amount, _AMOUNT, "At most so many seconds."),
    Rule(
        "tolerance",
        _number,
        "a number",
        "How much more than the baseline's largest is allowed; 0.75 by default.",
        can_be_off=False,
    ),
    Rule("write_tools", _names, _NAMES, "Tools that have side effects, over what their names suggest."),
    Rule("read_tools", _names, _NAMES, "Tools that have none."),
    Rule(
        "ignore_args",
        _names,
        "names of arguments",
        "Arguments left out when side effects are compared: `sent_at`, `pay.nonce`.",
    ),
)
BASELINE_RULES: Mapping[str, Any] = {
    "status": "baseline",
    "loops": "baseline",
    "findings": "baseline",
    "effects": "baseline",
    "max_tokens": "baseline",
    "max_cost_usd": "baseline",
}
"""What a baseline asks for unless a rule says otherwise."""

_BY_KEY = {rule.key: rule for rule in RULES}
_OFF = "off"


@dataclass(frozen=True)
class Policy:
    """The rules in force; None is what nobody asked."""

    status: str | None = None
    max_errors: Amount | None = None
    loops: str | None = None
    findings: str | None = None
    must_not_find: tuple[str, ...] | None = None
    must_call: tuple[str, ...] | None = None
    must_not_call: tuple[str, ...] | None = None
    order: tuple[str, ...] | None = None
    effects: str | None = None
    answer: str | None = None
    tools: tuple[str, ...] | str | None = None
    max_steps: Amount | None = None
    max_llm_calls: Amount | None = None
    max_tool_calls: Amount | None = None
    max_tokens: Amount | None = None
    max_cost_usd: Amount | None = None
    max_duration_s: Amount | None = None
    tolerance: float = 0.75
    write_tools: tuple[str, ...] = ()
    read_tools: tuple[str, ...] = ()
    ignore_args: tuple[str, ...] = ()
    by_default: frozenset[str] = frozenset()
    """The rules that only the presence of a baseline asks for."""

    def effect_rules(self, settings: EffectRules) -> EffectRules:
        """Which tools have side effects: the policy's names before those of the settings."""
        # What the policy says of a tool stands, whatever the settings say of it.
        writes = [name for name in settings.write_tools if not matches_any(name, self.read_tools)]
        reads = [name for name in settings.read_tools if not matches_any(name, self.write_tools)]
        return EffectRules((*self.write_tools, *writes), (*self.read_tools, *reads))


def read_rules(given: Mapping[Any, Any], source: str) -> dict[str, Any]:
    """Checked rules, by key; UsageError naming the key and `source` for one that is unknown or cannot be meant."""
    rules: dict[str, Any] = {}
    for key, value in given.items():
        rule = _BY_KEY.get(key) if isinstance(key, str) else None
        if rule is None:
            raise UsageError(f"{source} has no rule {key!r}{_did_you_mean(str(key))}")
        if value is None:
            continue
        # An option that may be repeated comes as a list, also when it is given once.
        if rule.can_be_off and value in (_OFF, [_OFF]):
            rules[key] = _OFF
            continue
        try:
            rules[key] = rule.parse(value)
        except ValueError as error:
            raise UsageError(
                f"{key} in {source} is {reprlib.repr(value):.60}, {error}; it may be {_allowed(rule)}"
            ) from None
    return rules


def _allowed(rule: Rule) -> str:
    return f"{rule.form}, or off" if rule.can_be_off else rule.form


def _did_you_mean(key: str) -> str:
    close = difflib.get_close_matches(key, _BY_KEY, n=1)
    return f"; did you mean {close[0]}?" if close else f"; the rules are {', '.join(_BY_KEY)}"


def make_policy(*layers: Mapping[str, Any], with_baseline: bool) -> Policy:
    """The policy that layers of checked rules make, the later over the earlier, key by key."""
    asked: dict[str, Any] = {}
    for layer in layers:
        asked.update(layer)
    defaults = {key: value for key, value in BASELINE_RULES.items() if with_baseline and key not in asked}
    rules = {key: value for key, value in {**defaults, **asked}.items() if value != _OFF}
    if not with_baseline:
        needing = next((key for key, value in rules.items() if value == "baseline" or key == "answer"), None)
        if needing is not None:
            others = "" if needing == "answer" else f"{_without_baseline(_BY_KEY[needing].form)}, or "
            raise UsageError(
                f"{needing}: {rules[needing]} needs a baseline to compare with, and none was given; "
                f"give one, or set {needing} to {others}off"
            )
    return Policy(**rules, by_default=frozenset(defaults))


def _without_baseline(form: str) -> str:
    """What else a rule may be: `a number` of `a number or baseline`."""
    return form.removesuffix(" or `baseline`").removesuffix(",")


def rules_markdown() -> str:
    """The table of rules as the documentation shows it."""
    lines = ["| rule | may be | what it asks |", "|---|---|---|"]
    lines += [f"| `{rule.key}` | {rule.form} | {rule.help} |" for rule in RULES]
    return "\n".join(lines) + "\n"


assert [entry.name for entry in fields(Policy)][:-1] == list(_BY_KEY)
