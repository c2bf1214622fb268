"""`fleet-sim film`: a film of a scenario or of a recording."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import Any

from fleet_sim.base.errors import ConfigError
from fleet_sim.base.files import as_path, check_target, resolve_config
from fleet_sim.base.limits import MOST_PIXELS
from fleet_sim.base.scenario import as_scenario, is_recording, is_scenario, load_scenario
from fleet_sim.base.settings import set_key

SECONDS = 10.0
"""Of simulated time, of a scenario that does not end."""
GIF_FPS, VIDEO_FPS = 12.5, 30.0
BAR = 30
MOST = 1e6
"""Limit of all numbers."""


def add(commands: Any) -> None:
    """Add the command to the subparsers `commands`."""
    parser = commands.add_parser("film", help="make a film of a scenario or of a recording")
    parser.add_argument("file", metavar="FILE", help="a scenario (or the name of a shipped one), or a recording, .mcap")
    parser.add_argument("--out", required=True, metavar="FILM", help="the film: .mp4, .mkv, .mov or .gif")
    parser.add_argument("--camera", default="auto", help="auto, top, side, orbit or follow:<robot> (default: auto)")
    parser.add_argument("--size", type=size, default=(1280, 720), metavar="WxH", help="in pixels (default: 1280x720)")
    parser.add_argument(
        "--start", type=float, default=0.0, metavar="S", help="simulated time at which the film begins, in s"
    )
    parser.add_argument("--seconds", type=float, metavar="S", help="simulated time that the film shows, in s")
    parser.add_argument(
        "--speed", type=float, default=1.0, metavar="X", help="simulated seconds per second of the film"
    )
    parser.add_argument("--fps", type=float, metavar="N", help="pictures per second (default: 30; GIF: 12.5)")
    parser.add_argument("--paths", action="store_true", help="also show the planned paths of robots")
    parser.set_defaults(command=execute)


def size(text: str) -> tuple[int, int]:
    """Return width and height; raises ArgumentTypeError, which argparse reports as wrong usage."""
    match = re.fullmatch(r"(\d{1,5})x(\d{1,5})", text)
    if match is None or not all(16 <= int(side) <= MOST_PIXELS and int(side) % 2 == 0 for side in match.groups()):
        raise argparse.ArgumentTypeError(f"expected even numbers from 16 on, as in 1280x720, got {text!r}")
    return int(match[1]), int(match[2])


def execute(args: argparse.Namespace) -> int:
    """Make the film with a progress bar; return 0."""
    default = GIF_FPS if args.out.lower().endswith(".gif") else VIDEO_FPS
    fps = default if args.fps is None else args.fps
    if not 0.0 <= args.start < MOST:
        raise ConfigError(f"--start: expected a number from 0 to {MOST:g}, got {args.start}")
    for name, value in (("speed", args.speed), ("seconds", args.seconds)):
        if value is not None and not 0.0 < value < MOST:
            raise ConfigError(f"--{name}: expected a number above 0 and below {MOST:g}, got {value}")
    check_target(args.out)
    # Imported here so that --help and errors in options are immediate.
    from fleet_sim.sensing.sensors.render.shot import check_fps

    check_fps(args.out, fps)
    file = as_path(args.file)
    if is_recording(file):
        film_recording(args, file, fps)
    else:
        film_scenario(args, resolve_config(file), fps)
    print(f"film: {args.out}")
    return 0


def film_recording(args: argparse.Namespace, file: Path, fps: float) -> None:
    """Film the recording `file`; raises ConfigError for a time that it does not have."""
    from fleet_sim.apps.record.film import film, moments_of_recording, times_of
    from fleet_sim.apps.record.recording import Recording

    with Recording(file) as recording:
        start = float(recording.times[0]) + args.start
        longest = float(recording.times[-1]) - start
        if longest <= 0.0:
            raise ConfigError(f"--start: the recording is {recording.duration:g} s long, got {args.start:g}")
        # What was recorded to the end of a step may be shorter than that by rounding.
        if args.seconds is not None and args.seconds > longest + 1e-6:
            raise ConfigError(
                f"--seconds: the recording is {recording.duration:g} s long, {longest:g} s of it from --start on, "
                f"got {args.seconds:g}; without --seconds the film shows it to its end"
            )
        times = times_of(start, min(args.seconds or longest, longest), args.speed, fps)
        moments = moments_of_recording(recording, times, paths=args.paths)
        film(moments, len(times), args.out, args.camera, args.size, fps, bar)
        for note in recording.notes:
            print(f"note: {note}", file=sys.stderr)


def film_scenario(args: argparse.Namespace, file: Path, fps: float) -> None:
    """Run and film the scenario `file`; raises ConfigError for other files."""
    from fleet_sim.apps.record.film import film, moments_of_run, times_of
    from fleet_sim.simulation import MultiRobotSimulationCore

    more = f" --record run.mcap, and film that: fleet-sim film run.mcap --out {args.out}"
    config = dict(as_scenario(load_scenario(file, more)))
    set_key(config, ("simulation." if is_scenario(config) else "") + "gui", False)
    with MultiRobotSimulationCore.from_dict(config, source=str(file)) as sim:
        times = times_of(args.start, args.seconds or sim.params.duration or SECONDS, args.speed, fps)
        moments = moments_of_run(sim, times, paths=args.paths)
        film(moments, len(times), args.out, args.camera, args.size, fps, bar)


def bar(done: int, count: int) -> None:
    """Show how far it is, where somebody looks."""
    if sys.stderr.isatty():
        filled = "#" * (BAR * done // count)
        end = "\n" if done == count else ""
        print(f"\r[{filled:<{BAR}}] {done}/{count} pictures", end=end, file=sys.stderr, flush=True)
