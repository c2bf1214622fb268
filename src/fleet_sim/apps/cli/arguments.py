"""What several subcommands share: checks of arguments, options from settings, progress and tables in the terminal."""

from __future__ import annotations

import argparse
import logging
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from fleet_sim.base.errors import ConfigError, InvalidValueError, shortened
from fleet_sim.base.files import check_target
from fleet_sim.base.params import SimulationParams, ViewParams
from fleet_sim.base.settings import Checked, Setting, parse_value, read
from fleet_sim.base.settings.fields import fields_of

if TYPE_CHECKING:
    from fleet_sim.facade.recording import LiveView


class CommandParser(argparse.ArgumentParser):
    """The parser of a command, which may add its options only when it is used. Its messages are bounded.

    Options that are read from settings import what declares those, which other subcommands and --help do not need.
    """

    fill: Callable[[argparse.ArgumentParser], object] | None = None
    """Adds the options."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Add the options, if that was left for now, and parse."""
        # Once: a parser may be asked to parse several times.
        fill, self.fill = self.fill, None
        if fill is not None:
            fill(self)
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Print usage and message, which repeats what was given, and exit with 2; one wrong word needs no usage."""
        if re.search(r"^argument .*: invalid \w+ value|^unrecognized arguments", message):
            self.exit(2, f"{self.prog}: error: {shortened(message)}; see {self.prog} --help\n")
        super().error(shortened(message))


def add_detail(parser: argparse._ActionsContainer, of: str, name: str, what: str, **options: Any) -> None:
    """Add the option `name` that counts only with the option `of`, as its help says; `options` are argparse's."""
    parser.add_argument(name, help=f"with {of}: {what}", **options)


def add_workers(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the option that says how many processes work, which `what` are."""
    parser.add_argument(
        "--processes",
        type=positive,
        metavar="N",
        default=os.cpu_count() or 1,
        help=f"{what} (default: one per processor)",
    )


def positive(text: str) -> int:
    """Return a whole number of at least 1; raises ArgumentTypeError, which argparse reports as wrong usage."""
    return _whole(text, 1)


def not_negative(text: str) -> int:
    """Return a whole number of at least 0; raises ArgumentTypeError as `positive` does."""
    return _whole(text, 0)


def seeds(text: str) -> list[int]:
    """Return the seeds in a text such as "1-20" or "1,4,7-9"; raises ArgumentTypeError as `positive` does."""
    # Imported here so that --help is immediate.
    from fleet_sim.apps.sweeps.settings import parse_seeds

    try:
        return parse_seeds(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def check_png(path: str) -> None:
    """Raise InvalidValueError where no PNG file can be written to `path`."""
    file = Path(path)
    if file.suffix.lower() != ".png":
        raise InvalidValueError(f"the picture must be a .png file, got {path!r}")
    check_target(file)


SLOWEST, FASTEST = 1e-6, 1e6
"""Speeds of what is shown or published again."""


def check_speed(option: str, speed: float) -> None:
    """Raise ConfigError for a speed of a recording that nobody could wait for; 0 is as fast as possible."""
    if not (speed == 0.0 or SLOWEST <= speed <= FASTEST):
        raise ConfigError(f"{option}: expected 0, or a number from {SLOWEST:g} to {FASTEST:g}, got {speed:g}")


def _whole(text: str, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number, got {text!r}") from None
    if number < least:
        raise argparse.ArgumentTypeError(f"must be at least {least}, got {text}")
    return number


# The progress of what takes long, as one line.


LENGTH = 20
"""Of a bar, in characters."""

IN_PLACE, IN_LINES = 0.1, 10.0
"""Seconds between two texts: rewritten in place, as people read, and as lines of a log."""


class StatusLine:
    """One line on standard error; on a terminal it is rewritten in place, elsewhere each text is a line of its own."""

    def __init__(self) -> None:
        self.in_place = sys.stderr.isatty()

    def write(self, text: str) -> None:
        """Show `text` in place of what was shown before."""
        if self.in_place:
            # Padded, so that a longer line before it does not show at its end. Cut, as \r goes back one line only.
            width = line_width()
            print(f"\r{text[:width]:<{width}}", end="", file=sys.stderr, flush=True)
        else:
            print(text, file=sys.stderr, flush=True)

    def end(self) -> None:
        """End the line."""
        if self.in_place:
            print(file=sys.stderr)

    def erase(self) -> None:
        """Take the line away, for other text in its place."""
        if self.in_place:
            print(f"\r{'':<{line_width()}}\r", end="", file=sys.stderr, flush=True)


class ProgressBar(StatusLine):
    """How much of a `total` (0: not known) is done, at what rate, and how long the rest takes.

    `wanted` says whether it is shown; None: on a terminal only. To be closed, which takes the line away.
    """

    def __init__(self, wanted: bool | None, unit: str, total: float = 0.0, label: str = "") -> None:
        super().__init__()
        self.shown = self.in_place if wanted is None else wanted
        self._unit, self._total, self._label = unit, total, label
        self._start = self._told = time.perf_counter()
        if self.shown:
            for handler in logging.getLogger().handlers:
                handler.addFilter(self._before_log)

    def show(self, done: float, note: str = "") -> None:
        """Show that so much is done, and a `note`, not more often than people read it."""
        now = time.perf_counter()
        if self.shown and now - self._told >= (IN_PLACE if self.in_place else IN_LINES):
            self._told = now
            self.write(self.text(done, now - self._start) + ("  " + note if note else ""))

    def text(self, done: float, seconds: float) -> str:
        """Return the line when so much was done in `seconds`."""
        rate = done / seconds if seconds > 0.0 else 0.0
        speed = f"{rate:.3g} {self._unit} per second"
        if not self._total:
            return f"{self._label}{done:.6g} {self._unit}  {speed}"
        share = min(done / self._total, 1.0)
        left = f"  {(self._total - done) / rate:.0f} s left" if rate and done <= self._total else ""
        return f"{self._label}{bar(int(LENGTH * share))} {done:.6g}/{self._total:.6g} {self._unit}  {speed}{left}"

    def close(self) -> None:
        """Take the line away; may be called again."""
        if self.shown:
            self.shown = False
            self.erase()
            for handler in logging.getLogger().handlers:
                handler.removeFilter(self._before_log)

    def _before_log(self, record: logging.LogRecord) -> bool:
        # A filter is asked before a record is written: else the record would begin behind the progress.
        self.erase()
        return True


def add_progress(parser: argparse._ActionsContainer) -> None:
    """Add the option that asks for progress, or for none."""
    parser.add_argument(
        "--progress",
        action=argparse.BooleanOptionalAction,
        help="show rate and remaining time on standard error (default: on a terminal)",
    )


def add_log_level(parser: argparse._ActionsContainer) -> None:
    """Add the options that say how much is logged on standard error, in place of the scenario."""
    levels = parser.add_mutually_exclusive_group()
    for short, option, level, what in (("-q", "--quiet", "error", "errors only"), ("-v", "--verbose", "info", "more")):
        levels.add_argument(short, option, dest="log_level", action="store_const", const=level, help=f"log {what}")


def line_width() -> int:
    """Return how many characters a line may have on this terminal."""
    return max(1, min(100, shutil.get_terminal_size().columns - 1))


def bar(filled: int) -> str:
    """Return a bar of which so many of LENGTH characters are filled."""
    return f"[{'#' * filled}{'.' * (LENGTH - filled)}]"


# Options of commands that show a simulation in the browser.


REAL_TIME = 1.0


def add_view_options(parser: argparse._ActionsContainer) -> None:
    """Add the options that say where the page is, and what it allows."""
    docs = {name: field.rules.doc for name, field in fields_of(ViewParams).items()}
    parser.add_argument("--host", metavar="ADDRESS", help=_help(docs["host"]))
    parser.add_argument("--port", type=int, metavar="N", help=_help(docs["port"]))
    parser.add_argument("--read-only", action="store_true", help=_help(docs["read_only"]))
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser, only print the address")


def _help(doc: str) -> str:
    return doc[0].lower() + doc[1:].rstrip(".")


def view_params(args: argparse.Namespace) -> ViewParams:
    """Return the settings that the options say; raises ConfigError."""
    given = {"host": args.host, "port": args.port}
    chosen = {name: value for name, value in given.items() if value is not None}
    return read(ViewParams, {**chosen, "read_only": args.read_only, "browser": not args.no_browser})


def check_unused(args: argparse.Namespace) -> None:
    """Raise ConfigError for options of a view where there is none."""
    for name in ("host", "port", "read_only", "no_browser"):
        value = getattr(args, name)
        # By identity: the port 0 equals False.
        if value is not None and value is not False:
            raise ConfigError(f"--{name.replace('_', '-')} is for the page in the browser; give --view too")


def announce(view: LiveView) -> None:
    """Print where the page is. At once: whoever waits for it may read through a pipe."""
    print(f"view: {view.url}", flush=True)


def watched(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is to be set where somebody watches: no window, and real time where there is no other speed."""
    factor = settings.get("target_rtf", SimulationParams().target_rtf)
    return {"gui": False, **({} if factor else {"target_rtf": REAL_TIME})}


# Command line options made from settings, so that their ranges and meanings are said once.


SettingsT = TypeVar("SettingsT", bound=Checked)


def add_options(parser: argparse.ArgumentParser, settings: type[Checked], names: Sequence[str]) -> None:
    """Add an option for each of the settings called `names`; the help says its unit, range and default."""
    known = fields_of(settings)
    for name in names:
        rules, default = known[name].rules, known[name].default
        parser.add_argument(
            _option(name),
            metavar=(rules.unit or "value").upper(),
            # `default` makes one, as it may be a list.
            help=f"{rules.doc} {_range(rules)}({default() if default else None})",
        )


def read_options(args: argparse.Namespace, settings: type[SettingsT], names: Sequence[str]) -> SettingsT:
    """Return the settings with what was given in `args`; raises InvalidValueError that names the option."""
    # Options that were not given are left to the defaults of the settings.
    given = {name: parse_value(value) for name in names if (value := getattr(args, name)) is not None}
    try:
        return read(settings, given)
    except ConfigError as error:
        # The path of the error is the setting, whose option is what the user knows.
        raise InvalidValueError(f"{_option(error.path)}: {error.message}") from error


def key_values(texts: Sequence[str], option: str, example: str = "") -> dict[str, Any]:
    """Return KEY=VALUE options as a mapping, in their order; raises ConfigError."""
    found: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise ConfigError(f"{option} needs KEY=VALUE{example and f', as in {example}'}, got {text!r}")
        # The last one of a key counts, and comes last.
        found.pop(key.strip(), None)
        found[key.strip()] = parse_value(value)
    return found


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _range(rules: Setting) -> str:
    """Return the range as text, such as "0.001 to 1 s; "; empty where there is none."""
    # `low` and `above` exclude each other; a range begins at one of them.
    low, high, unit = rules.low, rules.high, f" {rules.unit}" if rules.unit else ""
    if high is None and low is None and rules.above is None:
        return ""
    begin = f"above {rules.above:g}" if low is None and rules.above is not None else f"{low or 0:g}"
    begin = f"0, or {begin}" if rules.or_zero else begin
    end = f" to {high:g}" if high is not None else ""
    return f"[{begin}{end}{unit}] "
