"""
Settings: one table, read from arguments, environment and two files, key by key.

`load_config` never raises and never stops an agent: a value it cannot use is reported in `Config.problems` with its
name, its source and the value kept instead. `SETTINGS` is also what prints the documentation.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.config import setting_values as values
from agentdbg.faults import pass_on

try:
    import pwd
except ImportError:  # not on Windows
    pwd = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["GUARDRAILS", "SETTINGS", "Config", "Setting", "load_config", "resolve_data_dir", "settings_markdown"]

SMALLEST_WHOLE = 20_000
"""Whoever sets `max_field_bytes` lower wants less stored, so no tape is kept unless it is asked for."""
DEFAULT_REDACT_KEYS = ("api_key", "token", "authorization", "cookie", "secret", "password")


class Setting(NamedTuple):
    """One row of the table: where a setting comes from, what it may be, and what it is for."""

    key: str
    environment: str | None
    default: Any
    parse: Callable[[Any], Any]
    help: str
    in_files: bool = True
    guardrail: bool = False

    @property
    def yaml_key(self) -> str:
        """How the setting is written in a config file."""
        return f"guardrails.{self.key}" if self.guardrail else self.key


def _guardrail(key: str, parse: Callable[[Any], Any], text: str) -> Setting:
    return Setting(key, f"AGENTDBG_{key.upper()}", None, parse, text, guardrail=True)


SETTINGS: tuple[Setting, ...] = (
    Setting("enabled", "AGENTDBG_ENABLED", True, values.boolean, "0 turns all recording off."),
    Setting("data_dir", "AGENTDBG_DATA_DIR", None, values.folder, "Where runs are stored; `~/.agentdbg` by default."),
    Setting(
        "run_name",
        "AGENTDBG_RUN_NAME",
        None,
        values.text,
        "The name of the next runs; beats the given one.",
        False,
    ),
    Setting(
        "implicit_run",
        "AGENTDBG_IMPLICIT_RUN",
        False,
        values.boolean,
        "1 lets the first record outside a run start one for the process.",
        False,
    ),
    Setting(
        "auto",
        "AGENTDBG_AUTO",
        False,
        values.boolean,
        "1 records a program that imports agentdbg as `agentdbg run` would.",
        False,
    ),
    Setting("redact", "AGENTDBG_REDACT", True, values.boolean, "0 stores everything in clear. Runs are marked."),
    Setting(
        "redact_keys",
        "AGENTDBG_REDACT_KEYS",
        DEFAULT_REDACT_KEYS,
        values.words,
        "Keys whose values are never stored: substrings, any case, separated by commas. Replaces the default list.",
    ),
    Setting(
        "redact_values",
        "AGENTDBG_REDACT_VALUES",
        True,
        values.boolean,
        "0 leaves secrets inside text as they are.",
    ),
    Setting(
        "redact_patterns",
        "AGENTDBG_REDACT_PATTERNS",
        (),
        values.patterns,
        "Own patterns (RE2 syntax) to redact in text: a YAML or JSON list, or one on each line.",
    ),
    Setting(
        "max_field_bytes",
        "AGENTDBG_MAX_FIELD_BYTES",
        20_000,
        values.whole_number(at_least=100),
        "Longer strings and containers are cut and marked.",
    ),
    Setting(
        "capture_args",
        "AGENTDBG_CAPTURE_ARGS",
        True,
        values.boolean,
        "0 leaves out arguments and result of traced functions.",
    ),
    Setting("loops", "AGENTDBG_LOOPS", True, values.boolean, "0 looks for no loops, and so stops at none."),
    Setting(
        "loop_window",
        "AGENTDBG_LOOP_WINDOW",
        12,
        values.whole_number(at_least=4),
        "How many of the last events the loop detector looks at.",
    ),
    Setting(
        "loop_repetitions",
        "AGENTDBG_LOOP_REPETITIONS",
        3,
        values.whole_number(at_least=2),
        "How often a block has to repeat to be reported.",
    ),
    Setting(
        "loop_ignore_tools",
        "AGENTDBG_LOOP_IGNORE_TOOLS",
        (),
        values.words,
        "Tools that poll: their repetition is never more than information.",
    ),
    Setting(
        "write_tools",
        "AGENTDBG_WRITE_TOOLS",
        (),
        values.words,
        "Tools that change something: names, or patterns like `book_*`. For `diff` and `assert`; the rest is guessed.",
    ),
    Setting(
        "read_tools",
        "AGENTDBG_READ_TOOLS",
        (),
        values.words,
        "Tools that change nothing, whatever their names say.",
    ),
    _guardrail("stop_on_loop", values.boolean, "Stop a run that goes round in circles."),
    _guardrail(
        "stop_on_loop_min_repetitions",
        values.whole_number(at_least=2),
        "How many real repetitions stop it; 3 when unset.",
    ),
    _guardrail("max_llm_calls", values.whole_number(at_least=0), "Stop a run at this many model calls."),
    _guardrail("max_tool_calls", values.whole_number(at_least=0), "Stop a run at this many tool calls."),
    _guardrail("max_events", values.whole_number(at_least=0), "Stop a run at this many calls, states and errors."),
    _guardrail("max_tokens", values.whole_number(at_least=0), "Stop a run that has used this many tokens."),
    _guardrail("max_cost_usd", values.number(at_least=0), "Stop a run that has cost this much."),
    _guardrail("max_duration_s", values.number(at_least=0), "Stop a run that has taken this many seconds."),
    Setting(
        "fsync",
        "AGENTDBG_FSYNC",
        False,
        values.boolean,
        "1 makes every event survive a power cut; 200 µs each.",
    ),
    Setting(
        "tape",
        "AGENTDBG_TAPE",
        True,
        values.boolean,
        "0 keeps no tape: the whole values of calls, which `show --full`, `diff` and replay use. Off by itself when "
        "`max_field_bytes` is below 20000 or `capture_args` is 0.",
    ),
    Setting(
        "tape_max_mb", "AGENTDBG_TAPE_MAX_MB", 256, values.number(at_least=0), "The most that the tape of a run takes."
    ),
    Setting(
        "tape_days",
        "AGENTDBG_TAPE_DAYS",
        30,
        values.number(at_least=0),
        "Tapes of finished runs older than this are dropped when the viewer or `prune` runs.",
    ),
    Setting(
        "compress_after_days",
        "AGENTDBG_COMPRESS_AFTER_DAYS",
        None,
        values.number(at_least=0),
        "Finished runs older than this are gzipped when the viewer or `prune` runs.",
    ),
    Setting("prices", None, None, values.price_table, "Prices in USD per million tokens, over the shipped table."),
)
GUARDRAILS: tuple[str, ...] = tuple(setting.key for setting in SETTINGS if setting.guardrail)

_BY_KEY = {setting.key: setting for setting in SETTINGS}
# Variables that are ours but no settings: links between processes, and switches for people who debug us.
_OTHER_VARIABLES = {
    "AGENTDBG_BREAK",
    "AGENTDBG_BREAK_WAIT_S",
    "AGENTDBG_GATE_SCENARIO",
    "AGENTDBG_PARENT_RUN_ID",
    "AGENTDBG_REPLAY_BACK_TO",
    "AGENTDBG_TRACEBACK",
}


class Config(NamedTuple):
    """The settings in force, where each came from, and what had to be ignored."""

    enabled: bool = True
    data_dir: Path = Path()
    run_name: str | None = None
    implicit_run: bool = False
    auto: bool = False
    redact: bool = True
    redact_keys: tuple[str, ...] = DEFAULT_REDACT_KEYS
    redact_values: bool = True
    redact_patterns: tuple[str, ...] = ()
    max_field_bytes: int = 20_000
    capture_args: bool = True
    loops: bool = True
    loop_window: int = 12
    loop_repetitions: int = 3
    loop_ignore_tools: tuple[str, ...] = ()
    write_tools: tuple[str, ...] = ()
    read_tools: tuple[str, ...] = ()
    stop_on_loop: bool | None = None
    stop_on_loop_min_repetitions: int | None = None
    max_llm_calls: int | None = None
    max_tool_calls: int | None = None
    max_events: int | None = None
    max_tokens: int | None = None
    max_cost_usd: float | None = None
    max_duration_s: float | None = None
    fsync: bool = False
    tape: bool = True
    tape_max_mb: float = 256
    tape_days: float = 30
    compress_after_days: float | None = None
    prices: Mapping[str, Mapping[str, float]] | None = None
    sources: Mapping[str, str] = MappingProxyType({})
    """For each setting that is not at its default: the variable or file it came from."""
    problems: tuple[str, ...] = ()
    """What could not be used, a sentence each."""
    notices: tuple[str, ...] = ()
    """What a project's file changed that its user should know: weaker redaction, another data folder."""

    @property
    def redaction(self) -> str:
        """The mark on the run: on, weakened or off."""
        if not self.redact:
            return "off"
        weaker = not self.redact_values or not set(DEFAULT_REDACT_KEYS) <= set(self.redact_keys)
        return "weakened" if weaker else "on"

    @property
    def why_no_tape(self) -> str | None:
        """Why no tape is kept; None when one is."""
        if not self.enabled or not self.tape:
            return (
                f"recorded with {self.sources.get('tape', 'the tape off')}=0" if not self.tape else "recording is off"
            )
        if not self.capture_args:
            return "recorded with capture_args off"
        if self.max_field_bytes < SMALLEST_WHOLE and "tape" not in self.sources:
            return f"recorded with max_field_bytes below {SMALLEST_WHOLE}"
        return None


def load_config(environ: Mapping[str, str] | None = None, cwd: Path | None = None) -> Config:
    """Every setting by precedence: environment, the project's file, the user's file, default."""
    environ = os.environ if environ is None else environ
    problems: list[str] = []
    user_file = _user_file(environ)
    layers = [("environment", _from_environment(environ, problems))]
    project_file = _find_project_file(cwd, user_file)
    files = [path for path in (project_file, user_file) if path is not None]
    layers += [(str(path), _from_file(path, problems)) for path in files]

    chosen: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for setting in SETTINGS:
        value, source = _choose(setting, layers, problems)
        chosen[setting.key] = value
        if source is not None:
            sources[setting.key] = setting.environment or "" if source == "environment" else source
    chosen["data_dir"] = chosen["data_dir"] or _default_data_dir(environ, problems)
    if os.path.exists(chosen["data_dir"] / "prices.json"):
        from agentdbg.config.kept_prices import kept_prices  # noqa: PLC0415 -- few programs have any

        chosen["prices"] = {**kept_prices(chosen["data_dir"], problems), **(chosen["prices"] or {})} or None
        sources.setdefault("prices", str(chosen["data_dir"] / "prices.json"))
    of_user = layers[-1][1] if user_file is not None else {}
    notices = _notices(chosen, sources, str(project_file), of_user) if project_file else ()
    return Config(**chosen, sources=sources, problems=tuple(problems), notices=notices)


def resolve_data_dir() -> Path:
    """The folder runs are stored in."""
    return load_config().data_dir


def settings_markdown() -> str:
    """The table of settings as the documentation shows it."""
    lines = ["| key (YAML) | environment | default | what it does |", "|---|---|---|---|"]
    for setting in SETTINGS:
        key = f"`{setting.yaml_key}`" if setting.in_files else "(none)"
        variable = f"`{setting.environment}`" if setting.environment else "(file only)"
        lines.append(f"| {key} | {variable} | {values.shown(setting.default)} | {setting.help} |")
    return "\n".join(lines) + "\n"


def _choose(setting: Setting, layers: list[tuple[str, dict[str, Any]]], problems: list[str]) -> tuple[Any, str | None]:
    """The first layer's value that can be used; each one passed over is a problem with the value kept instead."""
    unusable: list[tuple[str, Any, str]] = []
    value, source = setting.default, None
    for layer_name, layer in layers:
        if setting.key not in layer:
            continue
        try:
            value, source = setting.parse(layer[setting.key]), layer_name
            break
        except (TypeError, ValueError) as error:
            pass_on(error)
            unusable.append((layer_name, layer[setting.key], str(error)))
    for layer_name, given, why in unusable:
        name = setting.environment if layer_name == "environment" else f"{setting.yaml_key} in {layer_name}"
        problems.append(f"{name} is {given!r:.60}, {why}; kept {values.shown(value)}")
    return value, source


def _from_environment(environ: Mapping[str, str], problems: list[str]) -> dict[str, Any]:
    known = {setting.environment: setting for setting in SETTINGS if setting.environment}
    found: dict[str, Any] = {}
    for name, text in environ.items():
        if not name.startswith("AGENTDBG_") or name in _OTHER_VARIABLES:
            continue
        if name not in known:
            problems.append(f"{name} is not a setting and was ignored{_did_you_mean(name, list(known))}")
        elif text.strip():  # an empty variable is how shells unset one
            found[known[name].key] = text
    return found


def _from_file(path: Path, problems: list[str]) -> dict[str, Any]:
    from agentdbg.config.config_file import read_config_file  # noqa: PLC0415 -- YAML only when there is a file

    found: dict[str, Any] = {}
    content = read_config_file(path, problems)
    for key, value in content.items():
        setting = _BY_KEY.get(key)
        if setting is None or not setting.in_files:
            names = [setting.key for setting in SETTINGS if setting.in_files]
            problems.append(f"{key!r} in {path} is not a setting and was ignored{_did_you_mean(key, names)}")
        elif value is not None:
            found[key] = value
    return found


def _did_you_mean(name: str, known: list[str]) -> str:
    import difflib  # noqa: PLC0415 -- for typing mistakes alone

    close = difflib.get_close_matches(name, [word for word in known if word], n=1)
    return f"; did you mean {close[0]}?" if close else ""


def _user_file(environ: Mapping[str, str]) -> Path | None:
    home = _home(environ)
    path = None if home is None else home / ".agentdbg" / "config.yaml"
    return path if path is not None and _is_readable_file(path) else None


def _is_readable_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError as error:  # a home folder of somebody else, as in containers that change the user but not HOME
        pass_on(error)
        return False


def _find_project_file(cwd: Path | None, user_file: Path | None) -> Path | None:
    try:
        start = Path(os.getcwd()) if cwd is None else cwd
        for folder in (start, *start.parents):
            path = folder / ".agentdbg" / "config.yaml"
            if path.is_file() and not (user_file is not None and path.samefile(user_file)):
                return path
    except OSError as error:  # the current folder was deleted, or may not be read
        pass_on(error)
        return None
    return None


def _home(environ: Mapping[str, str]) -> Path | None:
    given = environ.get("HOME") if os.name == "posix" else environ.get("USERPROFILE")
    try:
        if not given and pwd is not None:  # Path.home() takes an empty HOME for the root folder
            given = pwd.getpwuid(os.getuid()).pw_dir
        return Path(os.path.abspath(given)) if given else Path.home()  # a run keeps its folder when the program moves
    except (RuntimeError, KeyError, OSError) as error:
        pass_on(error)
        return None


def _default_data_dir(environ: Mapping[str, str], problems: list[str]) -> Path:
    home = _home(environ)
    if home is not None:
        return home / ".agentdbg"
    import tempfile  # noqa: PLC0415 -- for a machine without home folders alone

    # A per-user name, so that two users of one machine do not meet in the same folder.
    owner = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    fallback = Path(tempfile.gettempdir()) / f"agentdbg-{owner}"
    problems.append(f"there is no home folder; runs go to {fallback}; set AGENTDBG_DATA_DIR to choose another place")
    return fallback


def _wants_less_stored(settings: Mapping[str, Any]) -> bool:
    """Whether a user's own file says that whole values are not to be kept."""
    limit = settings.get("max_field_bytes")
    return settings.get("tape") in (False, 0, "0", "false", "no", "off") or (
        isinstance(limit, int) and limit < SMALLEST_WHOLE
    )


def _notices(
    chosen: Mapping[str, Any], sources: Mapping[str, str], project_file: str, of_user: Mapping[str, Any]
) -> tuple[str, ...]:
    from_project = {key for key, source in sources.items() if source == project_file}
    notices = []
    if "redact" in from_project and not chosen["redact"]:
        notices.append(f"redaction is switched off by {project_file}; this run may hold secrets in clear")
    weaker_keys = not set(DEFAULT_REDACT_KEYS) <= set(chosen["redact_keys"])
    if ("redact_values" in from_project and not chosen["redact_values"]) or (
        "redact_keys" in from_project and weaker_keys
    ):
        notices.append(f"redaction is weakened by {project_file}")
    if "tape" in from_project and chosen["tape"] and _wants_less_stored(of_user):
        notices.append(f"the whole values of calls are kept (tape), as {project_file} says")
    if "data_dir" in from_project:
        notices.append(f"runs go to {chosen['data_dir']}, as {project_file} says")
    return tuple(notices)


assert set(Config._fields) - {"sources", "problems", "notices"} == set(_BY_KEY)
