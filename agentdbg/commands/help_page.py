"""What the help of a command says, before it is laid out: `help_text` does that, for who asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Help"]


class Help(NamedTuple):
    """The help of one command."""

    usage: Sequence[str]
    about: str
    """Paragraphs, with an empty line between them."""
    sections: Mapping[str, Sequence[tuple[str, str]]]
    """Headings and their rows; under "Options" each begins with the option's names, as in `-n, --limit N`."""
    examples: str = ""
    names_runs: bool = False
    """Whether what has no option's name is a run."""
