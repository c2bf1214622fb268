"""The command `fleet-sim`: its subcommands, and how their errors are reported."""

from __future__ import annotations

import argparse
import io
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from types import FrameType
from typing import Any, Protocol, runtime_checkable

import fleet_sim
from fleet_sim.apps.cli import (
    bench,
    certify,
    check,
    doctor,
    evolve,
    film,
    lab,
    lockstep,
    models,
    new,
    pick,
    replay,
    report,
    run,
    schema,
    site,
    size,
    swarm,
    sweep,
    traffic,
    verify,
    view,
    warm,
)
from fleet_sim.apps.cli.arguments import CommandParser
from fleet_sim.base.errors import FleetSimError, closest, did_you_mean, end_for_memory
from fleet_sim.base.files import listed
from fleet_sim.base.registry import Registry, instances_of

# Tab completion of `fleet-sim`, by argcomplete (extra `terminal`).


def is_asked() -> bool:
    """Return whether a shell asks for completions and not for a run."""
    return "_ARGCOMPLETE" in os.environ


def answer(parser: argparse.ArgumentParser) -> None:
    """Print the completions of what the shell has so far, and exit."""
    import argcomplete

    _add_names(parser)
    argcomplete.autocomplete(parser)


def _add_names(parser: argparse.ArgumentParser) -> None:
    """Let arguments that take a shipped scenario or a model complete their names."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                _add_names(below)
        elif action.metavar in ("CONFIG", "SCENARIO"):
            action.completer = scenario_names  # type: ignore[attr-defined]  # where argcomplete looks for it
        elif action.dest == "model":
            action.completer = model_names  # type: ignore[attr-defined]


def scenario_names(prefix: str, **about: Any) -> list[str]:
    """Return files and shipped scenarios whose names begin with `prefix`."""
    from argcomplete.completers import FilesCompleter

    from fleet_sim.base.files import data_roots

    found: set[str] = set(FilesCompleter(("yaml", "yml", "json"))(prefix))
    for root in data_roots():
        config = root / "config"
        # As `resolve_config` finds them: those of swarms by their bare name.
        found.update(file.name for kind in ("", "swarm") for file in listed(config / kind, "*.yaml"))
        found.update(file.relative_to(config).as_posix() for file in listed(config, "*/*.yaml"))
    return sorted(name for name in found if name.startswith(prefix))


def model_names(prefix: str, **about: Any) -> list[str]:
    """Return the models in the catalog whose names begin with `prefix`."""
    from fleet_sim.models.catalog import KNOWN_MODELS

    return sorted(name for name in KNOWN_MODELS if name.startswith(prefix))


@runtime_checkable
class Subcommand(Protocol):
    """A subcommand: a module of this package, or anything else with its function `add`."""

    def add(self, commands: Any) -> None:
        """Add a parser to the subparsers `commands`.

        Its default `command` is a function that takes the parsed arguments and returns the exit code.
        """


SUBCOMMANDS: Registry[Subcommand] = Registry(
    "subcommand",
    instances_of(Subcommand, "a module or an object with `add(commands)`"),
    group="fleet_sim.subcommand",
    built_in={
        "new": new,
        "run": run,
        "view": view,
        "film": film,
        "replay": replay,
        "report": report,
        "lockstep": lockstep,
        "swarm": swarm,
        "pick": pick,
        "sweep": sweep,
        "size": size,
        "evolve": evolve,
        "lab": lab,
        "certify": certify,
        "models": models,
        "site": site,
        "traffic": traffic,
        "check": check,
        "schema": schema,
        "doctor": doctor,
        "bench": bench,
        "warm": warm,
        "verify": verify,
    },
)
"""Every subcommand by name, in the order of `fleet-sim --help`; those of other packages come last."""

HEADINGS = {
    "new": "run and look",
    "sweep": "many runs",
    "models": "robots, buildings, traffic",
    "check": "files and this machine",
}
"""Of the list in `fleet-sim --help`, by the command that each stands before."""

EXAMPLES = """examples:
  fleet-sim new my_fleet                           write a commented scenario to start from
  fleet-sim run demo.yaml                          run a scenario (a file, or the name of a shipped one)
  fleet-sim run demo.yaml --headless --rtf 0       without a window, as fast as possible
  fleet-sim view demo.yaml                         watch it in a browser, and send robots to goals
  fleet-sim run demo.yaml --set simulation.seed=3  change one setting
  fleet-sim run demo.yaml --record run.mcap        record a run; fleet-sim view run.mcap shows it
  fleet-sim replay run.mcap --info                 print its content, publish or repair it
  fleet-sim film demo.yaml --out demo.mp4          make a film of a scenario, or of a recording
  fleet-sim lockstep /left /right --period 0.1     step ROS nodes together, with one /clock
  fleet-sim swarm my_world.yaml --record a.gif     run a swarm world and record it
  fleet-sim evolve my_search.yaml                  search a swarm's parameters for the best value of a metric
  fleet-sim pick --view                            watch a trained policy pick objects out of a bin
  fleet-sim sweep my_sweep.yaml --out a.parquet    run a scenario with many seeds and settings
  fleet-sim size my_fleet.yaml --goal 'throughput_per_h>=800'
                                                   find how many robots a scenario needs
  fleet-sim certify a.bin                          prove of a run with --certificate a.bin that nothing touched
  fleet-sim lab my_lab.yaml --runs 60              find what breaks a fleet manager, and the smallest case of it
  fleet-sim check my_fleet.yaml                    validate a scenario and report its errors
  fleet-sim doctor                                 list what is installed and usable here, and what is missing
  fleet-sim schema > fleet_sim.schema.json         let an editor complete and check scenarios
  fleet-sim bench demo.yaml                        measure the parts of a step on this machine
  fleet-sim warm                                   compile in advance what large worlds and traffic use
  fleet-sim verify                                 check that runs here equal those of other machines, bit for bit
  fleet-sim site show office.map --picture a.png   show a building; also convert, generate
  fleet-sim traffic run a.map --planner pibt --robots 500 --seconds 600 --json run.json
                                                   let robots drive, planned by a planner
  fleet-sim report run.json --out page.html        write a page with plots of a run
  fleet-sim models render arm6 arm6.png            render a robot model; also list, show
"""


def build_parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser for the command line `argv`: of all subcommands, or of ours where it begins with one."""
    parser = CommandParser(
        prog="fleet-sim",
        description="Simulate fleets of robots.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"fleet-sim {fleet_sim.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=CommandParser)
    ours = SUBCOMMANDS.registered()
    # Looking for those of other packages takes 50 ms and imports them; most calls need neither.
    theirs = {} if argv and argv[0] in ours else SUBCOMMANDS.all()
    for command in {**ours, **theirs}.values():
        command.add(commands)
    _name_themselves(commands)
    if argv[:1] in (["-h"], ["--help"]):
        # argparse has no groups of subcommands; what completes would take a heading for one.
        shown = commands._choices_actions
        names = [one.dest for one in shown]
        for name, heading in HEADINGS.items():
            headings = len(shown) - len(names)
            shown.insert(names.index(name) + headings, commands._ChoicesPseudoAction(f"-- {heading} --", [], None))
    return parser


def _name_themselves(commands: Any) -> None:
    """Let each subcommand, and each action below one, say by which parser its arguments were read."""
    for subparser in commands.choices.values():
        subparser.set_defaults(parser=subparser)
        for action in subparser._actions:
            if isinstance(action, argparse._SubParsersAction):
                _name_themselves(action)


AGAIN = 0.05
"""Time after which a signal comes again that came where Python ignores what is raised, in s."""


_received = signal.SIGINT
"""The signal that came last, for the exit code."""


def interrupt(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, as Ctrl-C does; in a finalizer, where Python ignores what is raised, soon after it."""
    global _received
    _received = signal.Signals(number)
    while frame is not None and frame.f_code.co_name != "__del__":
        frame = frame.f_back
    if frame is None:
        raise KeyboardInterrupt
    _send_again(number)


def _send_again(number: int) -> None:
    again = threading.Timer(AGAIN, os.kill, (os.getpid(), number))
    again.daemon = True
    again.start()


@contextmanager
def interrupted_by_sigterm() -> Iterator[None]:
    """Let SIGTERM do what Ctrl-C does, so that files that are being written are finished; neither is lost.

    Python ignores what is raised in callbacks of weak references and of libraries, such as compilers: it comes again.
    """
    # Python allows signal handlers in the main thread only; tests and other programs call `main` from others.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {signal.SIGTERM: signal.signal(signal.SIGTERM, interrupt)}
    # Of what a shell has put into the background it may be ignored.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        before[signal.SIGINT] = signal.signal(signal.SIGINT, interrupt)
    report = sys.unraisablehook

    def ignored(raised: sys.UnraisableHookArgs) -> None:
        if issubclass(raised.exc_type, KeyboardInterrupt):
            _send_again(next(reversed(before)))
        else:
            report(raised)

    sys.unraisablehook = ignored
    try:
        yield
    finally:
        sys.unraisablehook = report
        for number, handler in before.items():
            signal.signal(number, handler)


def unknown_command(name: str) -> str:
    """Return what to say where `name` stands in place of a subcommand."""
    if name.endswith((".yaml", ".yml")):
        return f"a command is missing; to run a scenario: fleet-sim run {name}"
    return f"unknown command {name!r}.{did_you_mean(name, SUBCOMMANDS.names())}"


# A carriage return begins or ends what is printed where a line is written again.
_COMMANDS = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]|(?<=.)\r(?=[^\n])"
)


class PlainText(io.TextIOBase):
    """A stream of text to which names cannot give orders: what moves or colors a terminal is shown by its codes."""

    def __init__(self, stream: Any) -> None:
        self.control = stream.write
        """Writes codes of our own."""
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        return int(self._stream.write(_COMMANDS.sub(lambda found: ascii(found[0])[1:-1], text)))

    def flush(self) -> None:
        self._stream.flush()

    def isatty(self) -> bool:
        return bool(self._stream.isatty())

    def fileno(self) -> int:
        return int(self._stream.fileno())


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return 0, 1 after printing an error, or when interrupted 130 (Ctrl-C) or 143 (SIGTERM).

    Wrong usage exits with 2, as argparse does.
    """
    # Names of files need not be text: what cannot be printed is shown by its codes.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    with os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8") as nowhere:
        # Python has no stream for one that is closed where it begins.
        out: Any = PlainText(sys.stdout or nowhere)
        errors: Any = PlainText(sys.stderr or nowhere)
        with redirect_stdout(out), redirect_stderr(errors):
            return _run(argv)


def _run(argv: Sequence[str] | None) -> int:
    global _received
    _received = signal.SIGINT
    if is_asked():
        answer(build_parser([]))
    argv = sys.argv[1:] if argv is None else argv
    parser = build_parser(argv)
    if argv and not argv[0].startswith("-") and argv[0] not in SUBCOMMANDS:
        parser.error(unknown_command(argv[0]))
    args, unknown = parser.parse_known_args(argv)
    if unknown:
        # The subcommand's own parser, which has the options that there are.
        options = args.parser._option_string_actions if unknown[0].startswith("--") else ()
        close = closest(unknown[0].partition("=")[0], options)
        hint = f". Did you mean {close}?" if close else ""
        args.parser.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
    # Configurations may name classes in modules of the working directory, as with `python -m`; the script `fleet-sim`
    # does not have that folder on its path.
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        with interrupted_by_sigterm():
            code: int = args.command(args)
        # Here, where a closed pipe is handled, and not at the end of the interpreter.
        sys.stdout.flush()
    except FleetSimError as error:
        print(f"fleet-sim: error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("fleet-sim: interrupted", file=sys.stderr)
        code = run.INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has closed the pipe (`| head`). Standard output is flushed once more at exit, which
        # would print a second BrokenPipeError; redirect it to prevent that.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (MemoryError, ImportError, OSError) as error:
        return end_for_memory("fleet-sim", error)
    return 128 + _received if code == run.INTERRUPTED else code


if __name__ == "__main__":
    sys.exit(main())
