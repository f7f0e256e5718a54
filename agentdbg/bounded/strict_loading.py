"""
YAML that means what it says: a key stands once, `yes`, `no`, `on` and `off` are words, numbers are counted in tens.

A policy decides what may be merged. In plain YAML 1.1 a second `max_tokens` further down silently wins, `loops: no` is
the same as `loops: off`, which is the opposite of what its author meant, `010` is eight and `1:30` is ninety.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from agentdbg.bounded.yaml_loading import LONGEST_YAML, BoundedLoader

__all__ = ["LONGEST_YAML", "load_strictly"]

_PATTERNS = {
    "tag:yaml.org,2002:bool": re.compile(r"(?:true|True|TRUE|false|False|FALSE)$"),
    "tag:yaml.org,2002:int": re.compile(r"[-+]?(?:0|[1-9][0-9_]*)$"),
    "tag:yaml.org,2002:float": re.compile(r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?$"),
}
"""How these are written here; what plain YAML takes for one besides stays text."""


class _Loader(BoundedLoader):
    """Safe YAML, which takes less for something else than text."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[tuple[str, str]] = set()
        for key, _ in node.value:
            written = (key.tag, str(key.value))
            if written in seen:
                raise yaml.constructor.ConstructorError(None, None, f"{key.value!r} stands twice", key.start_mark)
            seen.add(written)
        return super().construct_mapping(node, deep)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, _PATTERNS.get(tag, pattern)) for tag, pattern in known]
    for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def load_strictly(text: str) -> Any:
    """The one document in `text`; ValueError that says what is wrong with it."""
    try:
        return _Loader(text).get_single_data()
    except yaml.MarkedYAMLError as error:
        at = "" if error.problem_mark is None else f" in line {error.problem_mark.line + 1}"
        raise ValueError(f"{' '.join(filter(None, (error.context, error.problem)))}{at}") from None
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())[:300]) from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
