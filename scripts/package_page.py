"""
The package's own page: README.md with links and pictures that work away from the repository, and the project's address.

hatchling calls this when it builds the package. The address of the repository is not written down in it, because a
fork has another: `AGENTDBG_REPOSITORY=https://… make release` gives it. Without one the README is taken as it is.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(?<=\]\()(?!https?://|#)([^)\s]+)(?=\))")
_PICTURE = re.compile(r"((?:src|srcset)=\")(?!https?://)([^\"]+)(?=\")")


class PackagePage(MetadataHookInterface):  # type: ignore[misc]  # hatchling has no types
    """Fills in what pyproject.toml calls dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the readme and, where it is known, where the project lives."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        repository = os.environ.get("AGENTDBG_REPOSITORY", "").rstrip("/")
        if repository:
            version = f"v{metadata['version']}"
            text = with_addresses(text, f"{repository}/blob/{version}", f"{repository}/raw/{version}")
            metadata["urls"] = {
                "Source": repository,
                "Documentation": f"{repository}/blob/{version}/docs/README.md",
                "Changelog": f"{repository}/blob/{version}/CHANGELOG.md",
                "Issues": f"{repository}/issues",
            }
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def with_addresses(text: str, pages: str, files: str) -> str:
    """The text with every relative link and picture made absolute."""
    return _PICTURE.sub(rf"\g<1>{files}/\2", _LINK.sub(rf"{pages}/\1", text))


def get_metadata_hook() -> type[PackagePage]:
    """What hatchling asks for."""
    return PackagePage
