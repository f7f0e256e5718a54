"""`make release` refuses what does not fit together."""

from __future__ import annotations

from scripts.check_release import problems

CHANGELOG = "# Changelog\n\n## 0.2.0, 2026-12-01\n\n- more\n\n## 0.1.0, unreleased\n"


def test_a_release_that_fits_together_has_no_problems() -> None:
    """Version, dated section, tag, nothing left over."""
    assert problems("0.2.0", changelog=CHANGELOG, tags=["v0.2.0"], changes="") == []


def test_everything_that_is_missing_is_named() -> None:
    """Whoever releases reads the whole list once, not one problem at a time."""
    found = problems("0.1.0", changelog=CHANGELOG, tags=["v0.2.0"], changes=" M README.md\n")

    assert len(found) == 3
    assert "does not date 0.1.0" in found[0]
    assert "git tag v0.1.0" in found[1]
    assert "not committed" in found[2]
    assert "no section" in problems("0.3.0", changelog=CHANGELOG, tags=["v0.3.0"], changes="")[0]
    assert "not of the form" in problems("1.0", changelog="## 1.0, 2026-12-01", tags=["v1.0"], changes="")[0]
