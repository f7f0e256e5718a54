"""
`python -m benchmarks [capture|real|loops|reading|page|html …]`: measure, print, and write docs/performance.md.

`python -m benchmarks quick` prints what recording real runs costs, in seconds, and writes nothing.
"""

from __future__ import annotations

import platform
import sys
from pathlib import Path

_REPORT = Path(__file__).parent.parent / "docs" / "performance.md"
_MARKS = ("<!-- {name}: begin -->", "<!-- {name}: end -->")


def main() -> None:
    """Run the named parts (all by default) and put each table between its marks in the page."""
    if sys.argv[1:] == ["quick"]:
        from benchmarks.real_runs import quick_table

        print(quick_table())
        return
    wanted = sys.argv[1:] or ["capture", "real", "loops", "reading", "page", "html", "tables", "diff"]
    for name in wanted:
        table = f"Measured on {_machine()}.\n\n{_measure(name)}"
        print(f"## {name}\n\n{table}")
        _put(name, table)


def _measure(name: str) -> str:
    if name == "capture":
        from benchmarks.capture import capture_tables

        return capture_tables()
    if name == "real":
        from benchmarks.real_runs import real_tables

        return real_tables()
    if name == "loops":
        from benchmarks.loop_speed import loop_tables

        return loop_tables()
    if name == "reading":
        from benchmarks.reading import reading_tables

        return reading_tables()
    if name == "page":
        from benchmarks.page import page_tables

        return page_tables()
    if name == "html":
        from benchmarks.html_file import html_tables

        return html_tables()
    if name == "tables":
        from benchmarks.tables_speed import tables_tables

        return tables_tables()
    if name == "diff":
        from benchmarks.diff_speed import diff_tables

        return diff_tables()
    if name == "breaks":
        from benchmarks.pausing import pausing_table

        return pausing_table()
    raise SystemExit(
        f"no benchmark is called {name!r}; there are capture, real, loops, reading, page, html, tables, diff and breaks"
    )


def _machine() -> str:
    import os

    return f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}"


def _put(name: str, table: str) -> None:
    begin, end = (mark.format(name=name) for mark in _MARKS)
    text = _REPORT.read_text(encoding="utf-8") if _REPORT.exists() else ""
    if begin not in text:
        text += f"\n{begin}\n{end}\n"
    before, _, rest = text.partition(begin)
    after = rest.partition(end)[2]
    _REPORT.write_text(f"{before}{begin}\n{table}{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
