"""
The JSON Schemas of the trace format, and a validator for just the keywords they use.

The files are ordinary JSON Schema (2020-12), so any validator can read them. Ours exists so that checking an event
needs nothing installed; a test holds it against the `jsonschema` package.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from importlib import resources
from typing import Any

__all__ = ["event_problems", "read_schema", "run_problems"]

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "null": (type(None),),
    "integer": (int,),
    "number": (int, float),
}


def read_schema(event_type: str | None = None) -> dict[str, Any]:
    """A fresh copy of a schema: of any event, of one type's events, or of run.json for `"run"`."""
    schema: dict[str, Any] = json.loads(_schema_text("run" if event_type == "run" else "event"))
    if event_type in (None, "run") or event_type not in schema["$defs"]:
        return schema
    del schema["allOf"]
    schema["title"] = f"AgentDbg {event_type} event"
    schema["properties"]["event_type"] = {"const": event_type}
    schema["properties"]["payload"] = {"$ref": f"#/$defs/{event_type}"}
    return schema


def event_problems(event: Any, *, may_lack_fields: bool = False) -> list[str]:
    """
    List what is wrong with `event`, one sentence each.

    With `may_lack_fields` only what is there has to be right, as for the events of other writers.
    """
    schema = _schema_without_required() if may_lack_fields else _event_schema()
    problems: list[str] = []
    _check(event, schema, schema, "event", problems)
    return problems


def run_problems(run: Any) -> list[str]:
    """What is wrong with the content of a run.json, one sentence each."""
    schema = read_schema("run")
    problems: list[str] = []
    _check(run, schema, schema, "run", problems)
    return problems


@lru_cache(maxsize=2)
def _schema_text(name: str) -> str:
    return resources.files(__name__).joinpath(f"{name}.schema.json").read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def _event_schema() -> dict[str, Any]:
    return read_schema()


@lru_cache(maxsize=1)
def _schema_without_required() -> dict[str, Any]:
    def stripped(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: stripped(value) for key, value in part.items() if key != "required"}
        return [stripped(item) for item in part] if isinstance(part, list) else part

    schema: dict[str, Any] = stripped(read_schema())
    return schema


def _check(value: Any, schema: dict[str, Any], root: dict[str, Any], where: str, problems: list[str]) -> None:
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    if "const" in schema and value != schema["const"]:
        problems.append(f"{where} is {value!r}, not {schema['const']!r}")
    if "enum" in schema and value not in schema["enum"]:
        problems.append(f"{where} is {value!r}, not one of {', '.join(map(repr, schema['enum']))}")
    if "anyOf" in schema and not any(_is_valid(value, option, root) for option in schema["anyOf"]):
        problems.append(f"{where} has none of the allowed shapes")
    if "type" in schema and not _has_type(value, schema["type"]):
        problems.append(f"{where} is {type(value).__name__}, not {_type_words(schema['type'])}")
        return
    if isinstance(value, dict):
        _check_object(value, schema, root, where, problems)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _check(item, schema.get("items", {}), root, f"{where}[{index}]", problems)
    else:
        _check_scalar(value, schema, where, problems)
    for condition in schema.get("allOf", ()):
        if _is_valid(value, condition["if"], root):
            _check(value, condition["then"], root, where, problems)


def _check_scalar(value: Any, schema: dict[str, Any], where: str, problems: list[str]) -> None:
    if isinstance(value, str) and "pattern" in schema and not re.search(schema["pattern"], value):
        problems.append(f"{where} is {value!r}, which does not match {schema['pattern']}")
    if isinstance(value, (int, float)) and "minimum" in schema and value < schema["minimum"]:
        problems.append(f"{where} is {value}, less than {schema['minimum']}")


def _check_object(
    value: dict[Any, Any], schema: dict[str, Any], root: dict[str, Any], where: str, problems: list[str]
) -> None:
    properties = schema.get("properties", {})
    problems.extend(f"{where} lacks {key!r}" for key in schema.get("required", ()) if key not in value)
    others = schema.get("additionalProperties", True)
    for key, item in value.items():
        if key in properties:
            _check(item, properties[key], root, f"{where}.{key}", problems)
        elif others is False:
            problems.append(f"{where} has {key!r}, which the format does not know")
        elif isinstance(others, dict):
            _check(item, others, root, f"{where}.{key}", problems)


def _is_valid(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> bool:
    problems: list[str] = []
    _check(value, schema, root, "", problems)
    return not problems


def _has_type(value: Any, wanted: str | list[str]) -> bool:
    names = [wanted] if isinstance(wanted, str) else wanted
    if isinstance(value, bool):  # a bool is an int to Python, not to JSON
        return "boolean" in names
    if isinstance(value, float) and value.is_integer() and "integer" in names:
        return True
    return any(isinstance(value, _TYPES[name]) for name in names)


def _type_words(wanted: str | list[str]) -> str:
    return wanted if isinstance(wanted, str) else " or ".join(wanted)
