"""`agentdbg config`: every setting, its value and where it came from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from agentdbg.commands.options import Option
from agentdbg.commands.terminal import Column, Styled, Terminal, problem
from agentdbg.config import SETTINGS, load_config
from agentdbg.storage.layout import check_data_dir

EXAMPLES = """
agentdbg config
agentdbg config --json
AGENTDBG_MAX_TOKENS=50000 agentdbg config
"""


def command(as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False) -> None:
    """Show every setting, its value and where it came from."""
    config = load_config()
    out = Terminal()
    if as_json:
        settings = {
            setting.yaml_key: {
                "value": _plain(getattr(config, setting.key)),
                "source": config.sources.get(setting.key, "default"),
                "environment": setting.environment,
            }
            for setting in SETTINGS
        }
        out.json({"settings": settings, "problems": list(config.problems), "notices": list(config.notices)})
        check_data_dir(config.data_dir)
        return
    rows: list[list[str | Styled]] = []
    for setting in SETTINGS:
        source = config.sources.get(setting.key, "default")
        style = "muted" if source == "default" else "strong"
        value = Styled(_shown(getattr(config, setting.key)), style)
        rows.append([setting.yaml_key, value, Styled(source, style), Styled(setting.environment or "", "muted")])
    out.table(
        [
            Column("setting"),
            Column("value", least=12),
            Column("from", least=12),
            Column("variable", optional=1),
        ],
        rows,
    )
    for sentence in (*config.problems, *config.notices):
        problem(sentence)
    check_data_dir(config.data_dir)


def _shown(value: Any) -> str:
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, (tuple, list)):
        return ", ".join(str(item) for item in value) or "none"
    return f"{len(value)} own prices" if isinstance(value, dict) else str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    return list(value) if isinstance(value, tuple) else value
