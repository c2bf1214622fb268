"""`fleet-sim view`: watch a scenario, a site, a swarm world or a recording in the browser."""

from __future__ import annotations

import argparse
from pathlib import Path
from threading import Event
from typing import Any

from fleet_sim.apps.cli.arguments import add_log_level, add_view_options, announce, check_speed, view_params
from fleet_sim.apps.cli.run import configuration, simulation_of
from fleet_sim.base.errors import ConfigError
from fleet_sim.base.files import as_path, is_folder, resolve_config
from fleet_sim.base.scenario import as_scenario, check_not_written, is_recording, is_scenario
from fleet_sim.base.settings import load_mapping


def add(commands: Any) -> None:
    """Add the command to the subparsers `commands`."""
    parser = commands.add_parser("view", help="watch a scenario, a site, a swarm world or a recording in the browser")
    parser.add_argument(
        "config", metavar="FILE", help="a scenario, site, swarm world or recording, or the name of a shipped scenario"
    )
    parser.add_argument("--rtf", type=float, metavar="X", help="initial real-time factor; 0 = as fast as possible")
    parser.add_argument("--seed", type=int, metavar="N", help="seed of all random streams")
    parser.add_argument("--paused", action="store_true", help="start paused")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="set one key of a scenario")
    add_view_options(parser)
    add_log_level(parser)
    parser.set_defaults(command=execute)


def execute(args: argparse.Namespace) -> int:
    """Show it until Ctrl-C; return 0."""
    # Imported here so that --help and errors in options are immediate.
    from fleet_sim.apps.viewer.live import RECORDINGS

    if (ending := _ending(as_path(args.config))) in RECORDINGS:
        return _replay(args, Path(args.config), ending)
    file = resolve_config(args.config)
    check_not_written(file, " --view")
    # There is an end to watching, but not to what is watched.
    given = argparse.Namespace(**{**vars(args), "view": True, "gui": False, "duration": 0.0, "from_state": None})
    scenario = {"site": {"map": str(file)}} if is_site(file) else None
    with simulation_of(given, configuration(given, scenario)) as sim:
        if args.paused:
            sim.pause()
        announce(sim.view.show(**vars(view_params(args))))
        sim.run_simulation()
    return 0


def _ending(file: Path) -> str:
    """Return the ending of a recording, by its content too; of a run that was killed, what comes before `.part`."""
    if is_recording(file):
        return "mcap"
    return Path(file.name.removesuffix(".part")).suffix.removeprefix(".").lower()


def is_site(file: Path) -> bool:
    """Return whether `file` describes a building and no scenario; raises ConfigError where it cannot be read."""
    from fleet_sim.warehouse.sites.reading import FORMATS

    if is_folder(file):
        raise ConfigError("it is a folder; expected a scenario, a site, a swarm world or a recording", source=str(file))
    suffix = file.suffix.lower()
    if suffix not in (".yaml", ".yml"):
        return True
    content = load_mapping(file)
    if is_scenario(as_scenario(content)):
        return False
    return any(suffix in form.suffixes and form.recognises(content) for form in FORMATS.all().values())


def _replay(args: argparse.Namespace, file: Path, ending: str) -> int:
    """Show a recording in the browser until Ctrl-C; return 0."""
    from fleet_sim.apps.viewer import view_of
    from fleet_sim.apps.viewer.live import RECORDINGS, RecordedSource

    if args.seed is not None or args.set:
        raise ConfigError("--seed and --set are for a simulation: a recording stays as it is")
    speed = 1.0 if args.rtf is None else args.rtf
    check_speed("--rtf", speed)
    recording = RECORDINGS[ending](file)
    source = RecordedSource(recording, file.name, speed=speed, paused=args.paused)
    view = view_of(source, view_params(args))
    announce(view)
    try:
        Event().wait()
    except KeyboardInterrupt:
        # The end that was asked for, as of a simulation.
        pass
    finally:
        view.close()
        recording.close()
    return 0
