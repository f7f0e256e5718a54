"""The parts of a Codex rollout that say something by themselves: contents, what a call gave, what became of a file."""

from __future__ import annotations

import re
from typing import Any

from agentdbg.interop.drafts import read_arguments
from agentdbg.interop.sessions import exit_code_error
from agentdbg.interop.shapes import as_dict, as_word
from agentdbg.interop.transcripts import plain_content, text_of

__all__ = ["content_of", "diff_of", "outcome_of", "text_part"]

_EXIT_CODE = re.compile(r"^(?:Exit code: |Process exited with code )(-?\d{1,6})\s*$", re.MULTILINE)
_IMAGE_TAG = re.compile(r"</?image(?: name=[^>]{0,200})?>")
_HEAD = 2_000


def diff_of(path: str, said: dict[str, Any]) -> str:
    """What became of one file, as `diff -u` shows it."""
    if as_word(said.get("unified_diff")):
        return f"--- {path}\n+++ {said.get('move_path') or path}\n{said['unified_diff']}"
    lines = as_word(said.get("content")).splitlines()
    if not lines:
        return ""
    if said.get("type") == "delete":
        return f"--- {path}\n+++ /dev/null\n@@ -1,{len(lines)} +0,0 @@\n" + "".join(f"-{line}\n" for line in lines)
    return f"--- /dev/null\n+++ {path}\n@@ -0,0 +1,{len(lines)} @@\n" + "".join(f"+{line}\n" for line in lines)


def content_of(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    return plain_content([text_part(part) for part in content if not _is_image_tag(part)])


def _is_image_tag(part: Any) -> bool:
    """Whether this only says where an image stands, which the image does too."""
    text = as_dict(part).get("text")
    return isinstance(text, str) and len(text) < _HEAD and _IMAGE_TAG.fullmatch(text) is not None


def text_part(part: Any) -> Any:
    """A part of a message with the name for text that everybody knows."""
    if isinstance(part, dict) and part.get("type") in ("input_text", "output_text"):
        return {**part, "type": "text"}
    return part


def outcome_of(output: Any) -> tuple[Any, dict[str, Any] | None, float | None]:
    """What a call gave, the error if it failed, and how long it took where that is told."""
    told = read_arguments(output) if isinstance(output, str) and output.startswith("{") else output
    if isinstance(told, dict) and isinstance(told.get("metadata"), dict) and "output" in told:
        code, seconds = told["metadata"].get("exit_code"), told["metadata"].get("duration_seconds")
        length = seconds * 1000 if isinstance(seconds, (int, float)) and not isinstance(seconds, bool) else None
        failed = isinstance(code, int) and code != 0
        return told["output"], exit_code_error(code, told["output"]) if failed else None, length
    if isinstance(told, dict) and isinstance(told.get("success"), bool):
        content = content_of(told.get("content", told.get("content_items")))
        return content, None if told["success"] else {"error_type": "Error", "message": text_of(content)}, None
    content = content_of(output)
    found = _EXIT_CODE.search(text_of(content)[:_HEAD])
    if found is not None and int(found[1]) != 0:
        return content, exit_code_error(int(found[1]), text_of(content).partition("Output:\n")[2]), None
    return content, None, None
