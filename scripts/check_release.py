"""Check that the version, the changelog and the tag of a release agree: `make release`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

__all__ = ["main", "problems"]

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Say what keeps this commit from being a release; 0 when nothing does."""
    version = _version()
    found = problems(
        version,
        changelog=(ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
        tags=_git("tag", "--points-at", "HEAD").split(),
        changes=_git("status", "--porcelain"),
    )
    for problem in found:
        print(f"release: {problem}", file=sys.stderr)
    if not found:
        print(f"release: {version} is ready to be built")
    return 1 if found else 0


def problems(version: str, *, changelog: str, tags: list[str], changes: str) -> list[str]:
    """What does not fit together, one sentence each."""
    found = []
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        found.append(f"{version!r} in agentdbg/version.py is not of the form 1.2.3")
    heading = re.search(rf"^## {re.escape(version)}(.*)$", changelog, re.MULTILINE)
    if heading is None:
        found.append(f"CHANGELOG.md has no section '## {version}'")
    elif not re.fullmatch(r", \d{4}-\d\d-\d\d", heading[1]):
        found.append(f"CHANGELOG.md does not date {version}: write '## {version}, YYYY-MM-DD'")
    if f"v{version}" not in tags:
        found.append(f"this commit has no tag v{version}: git tag v{version}")
    if changes.strip():
        found.append("there are changes that are not committed")
    return found


def _version() -> str:
    text = (ROOT / "agentdbg" / "version.py").read_text(encoding="utf-8")
    found = re.search(r'__version__ = "([^"]+)"', text)
    return found[1] if found else ""


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    sys.exit(main())
