"""
Calls that do not fit what was declared: arguments a tool's schema does not allow, and tools that were never offered.

The schemas are those the model was given (`tools` of the latest model call). A call that worked all the same is worth
a note; one that failed was probably made wrong. Only what can be said without doubt is checked: arguments that are
missing, unknown or of another type, values outside an enum. What a schema says in other words (`anyOf`, `$ref`,
patterns) is taken to fit, and so is what was redacted or cut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.analysis import conversation
from agentdbg.analysis.findings.evidence import Evidence, Finding
from agentdbg.analysis.value_text import parse_embedded
from agentdbg.analysis.wording import code, line, one_line
from agentdbg.events import REDACTED, TRUNCATED
from agentdbg.events.facts import call_failed
from agentdbg.events.markers import has_gap

if TYPE_CHECKING:
    from agentdbg.analysis.findings.evidence import RunEnd, Severity
    from agentdbg.events import Event

__all__ = ["ArgumentFit", "declared_tools", "misfit"]

_MOST_GROUPS = 200


class _Misfits:
    """Calls of one tool that are wrong in one way."""

    def __init__(self) -> None:
        self.evidence = Evidence()
        self.failed = 0


class ArgumentFit:
    """Holds calls against the schemas of their tools."""

    types = frozenset({"LLM_CALL", "TOOL_CALL"})

    def __init__(self) -> None:
        self._given: Any = None
        self._tools: dict[str, Any] = {}
        self._is_whole = False
        self._groups: dict[tuple[str, str], _Misfits] = {}

    def observe(self, number: int, event: Event, payload: dict[str, Any]) -> None:
        if event["event_type"] == "TOOL_CALL":
            if event["name"] in self._tools:
                problem = misfit(parse_embedded(payload.get("args")), self._tools[event["name"]])
                if problem is not None:
                    self._note(number, event, event["name"], problem, failed_call=call_failed(payload))
            return
        given = payload.get("tools")
        if not given:
            return
        if given != self._given:
            self._given = given
            self._tools, self._is_whole = declared_tools(given)
        if self._is_whole and self._tools and not call_failed(payload):
            for name in _asked_for(payload.get("response")):
                if name not in self._tools:
                    self._note(number, event, name, "", failed_call=True)

    def _note(self, number: int, event: Event, tool: str, problem: str, *, failed_call: bool) -> None:
        group = self._groups.get((tool, problem))
        if group is None:
            if len(self._groups) >= _MOST_GROUPS:
                return
            group = self._groups[tool, problem] = _Misfits()
        group.evidence.add(number, event["event_id"])
        group.failed += failed_call

    def finish(self, _end: RunEnd) -> list[Finding]:
        found = []
        for (tool, problem), group in self._groups.items():
            count, number = group.evidence.count, group.evidence.numbers[0]
            often = "" if count == 1 else f" {count:,} times"
            if not problem:
                said = line(number, "The model asked for ", code(tool), f"{often}, a tool it was not offered.")
                found.append(Finding("unknown_tool", "warning", said, group.evidence, {"tool": tool}))
                continue
            outcome = f", and failed {group.failed:,} times" if group.failed else ""
            if group.failed == count:
                outcome = ", and failed" if count == 1 else ", and failed each time"
            said = line(number, code(tool), f" was called{often} with arguments that do not fit{outcome}: {problem}.")
            severity: Severity = "warning" if group.failed else "info"
            figures = {"tool": tool, "problem": problem, "failed": group.failed}
            found.append(Finding("arguments_misfit", severity, said, group.evidence, figures))
        return found


def _asked_for(response: Any) -> list[str]:
    """The names of the tools an answer asks for."""
    calls = _part(response, "tool_calls")
    if isinstance(calls, list):  # the usual form, read without the search for all the others
        named = [_part(_part(call, "function"), "name") for call in calls]
        if all(isinstance(name, str) for name in named):
            return named
    return [call.name for call in conversation.answer(response).calls]


def _part(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}
_SHOWN = 3


def declared_tools(given: Any) -> tuple[dict[str, Any], bool]:
    """The schemas of the arguments by tool name, and whether all tools could be read."""
    if isinstance(given, dict):
        given = [{"name": name, **(spec if isinstance(spec, dict) else {})} for name, spec in given.items()]
    if not isinstance(given, list):
        return {}, False
    found: dict[str, Any] = {}
    is_whole = True
    for item in given:
        named = _named_schema(item)
        if named is None:
            is_whole = False
        else:
            found[named[0]] = named[1]
    return found, is_whole


def misfit(args: Any, schema: Any) -> str | None:
    """What is wrong with the arguments, in a few words; None when nothing is, or nothing can be said."""
    if not isinstance(schema, dict) or _says_otherwise(schema):
        return None
    properties = schema.get("properties")
    if not isinstance(properties, dict) or TRUNCATED in properties or not isinstance(args, dict):
        return None
    if any(_is_hidden(key) for key in args):
        return None
    problems = []
    required = schema.get("required")
    missing = [name for name in required if name not in args] if isinstance(required, list) else []
    if missing:
        problems.append(f"{_names(missing)} {'is' if len(missing) == 1 else 'are'} missing")
    unknown = [name for name in args if name not in properties]
    if unknown and schema.get("additionalProperties") in (None, False) and "patternProperties" not in schema:
        problems.append(f"{_names(unknown)} {'is' if len(unknown) == 1 else 'are'} not in its schema")
    for name, value in args.items():
        wrong = _wrong_value(value, properties.get(name))
        if wrong:
            problems.append(f"{_names([name])} {wrong}")
    return ", ".join(problems[:_SHOWN]) or None


def _named_schema(item: Any) -> tuple[str, Any] | None:
    """Name and schema of one tool: OpenAI's two forms, Anthropic's, Gemini's and Inspect's."""
    if not isinstance(item, dict):
        return None
    function = item.get("function")
    inner = function if isinstance(function, dict) else item
    name = inner.get("name")
    if not isinstance(name, str) or not name or _is_hidden(name):
        return None
    for key in ("parameters", "input_schema", "inputSchema", "args_schema", "parametersJsonSchema"):
        if isinstance(inner.get(key), dict):
            return name, inner[key]
    return name, None


def _wrong_value(value: Any, schema: Any) -> str | None:
    if not isinstance(schema, dict) or _says_otherwise(schema) or _is_hidden(value):
        return None
    allowed = schema.get("enum")
    if isinstance(allowed, list) and allowed and value not in allowed and not has_gap(allowed):
        return f"is {_shown(value)}, not one of {', '.join(_shown(choice) for choice in allowed[:6])}"
    wanted = schema.get("type")
    names = [wanted] if isinstance(wanted, str) else wanted if isinstance(wanted, list) else []
    names = [name.lower() for name in names if isinstance(name, str)]
    if not names or not all(name in _TYPES for name in names) or (schema.get("nullable") and value is None):
        return None
    if any(_is_type(value, name) for name in names):
        return None
    return f"is {_shown(value)}, not {' or '.join(names)}"


def _is_type(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[name])


def _says_otherwise(schema: dict[str, Any]) -> bool:
    return any(key in schema for key in ("anyOf", "oneOf", "allOf", "$ref", "not", "if"))


def _is_hidden(value: Any) -> bool:
    return isinstance(value, str) and (REDACTED in value or TRUNCATED in value)


def _names(names: list[Any]) -> str:
    shown = [f"`{one_line(str(name), 40)}`" if name else "an argument without a name" for name in names[:_SHOWN]]
    return ", ".join(shown) if len(names) <= _SHOWN else f"{', '.join(shown)} and {len(names) - _SHOWN} more"


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return f'"{one_line(value, 40)}"'
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "a list"
    return "null" if value is None else one_line(str(value).lower() if isinstance(value, bool) else str(value), 40)
