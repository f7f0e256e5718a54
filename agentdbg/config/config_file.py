"""Reading a config file: YAML to a flat table of settings, whatever is in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.bounded.files import read_small

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read_config_file"]

# An earlier form of the file nested the redaction settings.
_NESTED_REDACTION = {"enabled": "redact", "keys": "redact_keys", "max_field_bytes": "max_field_bytes"}
_cache: dict[Path, tuple[tuple[int, int], dict[str, Any], list[str]]] = {}


def read_config_file(path: Path, problems: list[str]) -> dict[str, Any]:
    """The file's settings, `guardrails` and `redaction` laid flat; what cannot be read is a problem, not an error."""
    try:
        stat = path.stat()
        stamp = (stat.st_mtime_ns, stat.st_size)
        cached = _cache.get(path)
        if cached is None or cached[0] != stamp:
            found: list[str] = []
            cached = (stamp, _flatten(_parse(path), path, found), found)
            _cache[path] = cached
    except Exception as error:  # noqa: BLE001 -- YAML has many ways to fail; none may stop an agent
        problems.append(f"{path} could not be read ({_why(error):.200}) and was ignored")
        return {}
    problems.extend(cached[2])
    return cached[1]


def _why(error: Exception) -> str:
    """One line; a YAML error begins with what it was doing, and says only further down what is wrong and where."""
    problem, mark = getattr(error, "problem", None), getattr(error, "problem_mark", None)
    if problem and mark:
        return f"line {mark.line + 1}: {problem}"
    return next(iter(str(error).splitlines()), type(error).__name__)


def _parse(path: Path) -> Any:
    from agentdbg.bounded.yaml_loading import LONGEST_YAML, BoundedLoader  # noqa: PLC0415 -- YAML may be missing

    return BoundedLoader(read_small(path, LONGEST_YAML).decode()).get_single_data()


def _flatten(content: Any, path: Path, problems: list[str]) -> dict[str, Any]:
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise TypeError("it is not a table of settings")
    flat: dict[str, Any] = {}
    for key, value in content.items():
        if key == "guardrails" and isinstance(value, dict):
            flat.update({str(name): setting for name, setting in value.items()})
        elif key == "redaction" and isinstance(value, dict):
            for name, setting in value.items():
                if name in _NESTED_REDACTION:
                    flat[_NESTED_REDACTION[name]] = setting
                else:
                    problems.append(f"'redaction.{name}' in {path} is not a setting and was ignored")
        else:
            flat[str(key)] = value
    return flat
