"""`fleet-sim swarm`: run a swarm world, show it, record it, write and plot its metrics."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from fleet_sim.apps.cli.arguments import ProgressBar, add_detail, add_progress, key_values, not_negative, positive
from fleet_sim.base.errors import ConfigError
from fleet_sim.base.files import resolve_config
from fleet_sim.base.settings import set_key

if TYPE_CHECKING:
    from fleet_sim.swarm.members import Subscriber, SwarmWorld
    from fleet_sim.swarm.simulate import WindowMaker
    from fleet_sim.swarm.world import RectangularWorld

STEPS = 1000
"""Default number of steps of a world that has no `stop_at` and is not shown in a window."""

FRAMES = 240
"""Approximate number of pictures in a recording of a run of known length."""

STRIDE = 10
"""Steps between the pictures of a recording if the length is not known."""


def add(commands: Any) -> None:
    """Add the command to the subparsers `commands`."""
    parser = commands.add_parser("swarm", help="run a swarm world: show it, record it, write its metrics")
    parser.add_argument("config", metavar="CONFIG", help="a YAML file, or the name of a shipped one")
    parser.add_argument(
        "--steps", type=not_negative, metavar="N", help=f"steps to run (default: until stop_at, or {STEPS})"
    )
    parser.add_argument("--seed", type=int, metavar="N", help="seed of all random streams")
    parser.add_argument("--show", action="store_true", help="show the world in a window")
    speed = "steps per picture in the window (default: 1)"
    add_detail(parser, "--show", "--speed", speed, type=positive, metavar="N")
    add_detail(parser, "--show", "--paused", "start paused", action="store_true")
    parser.add_argument("--record", metavar="FILE", help="record a GIF or a video (.gif, .mp4)")
    every = f"steps between recorded pictures (default: {FRAMES} pictures in all)"
    add_detail(parser, "--record", "--every", every, type=positive, metavar="N")
    parser.add_argument("--metrics", metavar="FILE", help="write the metrics of each step (.csv, .parquet)")
    parser.add_argument("--plot", metavar="FILE", help="plot the metrics (.png, .svg, .pdf)")
    parser.add_argument("--live", action="store_true", help="plot the metrics in a window during the run")
    parser.add_argument("--picture", metavar="FILE", help="save a picture of the final state (.png)")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="set one key, such as time_step=0.1; may be repeated",
    )
    add_progress(parser)
    parser.set_defaults(command=execute)


def execute(args: argparse.Namespace) -> int:
    """Run the world to its end, print its metrics; return 0."""
    check_options(args)
    config = world_config(args.config, args.set, args.seed)
    # Imported here so that --help and errors in options are immediate.
    from fleet_sim.swarm import simulate
    from fleet_sim.swarm.pictures import check_picture_path, save_picture
    from fleet_sim.swarm.world import World_from_config

    if args.picture:
        check_picture_path(args.picture)
    world = World_from_config(config, source=args.config)
    world.setup()
    with world:
        steps = args.steps
        if steps is None and not args.show and world.config.stop_at is None:
            steps = STEPS
        line = ProgressBar(args.progress, "steps", steps_of(world, steps) or 0)
        watching = subscribers(args, world, steps, line)
        window: WindowMaker | None = None
        if args.show:
            # Its toolkit is imported only when it is needed.
            from fleet_sim.apps.viewer.swarm_window import SwarmWindow

            window = SwarmWindow
        begin = time.perf_counter()
        simulate.main(
            world,
            show_gui=args.show,
            gui=window,
            subscribers=watching,
            step_size=1 if args.speed is None else args.speed,
            start_paused=args.paused,
            steps=steps,
        )
        line.close()
        print(summary(world, time.perf_counter() - begin))
        if args.picture:
            save_picture(world, args.picture)
    for path in (args.record, args.metrics, args.plot, args.picture):
        if path:
            print(f"wrote {path}" if path != args.record or _recorded(watching) else f"no picture was due for {path}")
    return 0


def _recorded(watching: list[Any]) -> bool:
    """Whether a recorder has taken a picture: without one it writes no file."""
    return any(getattr(subscriber, "taken", 0) for subscriber in watching)


def check_options(args: argparse.Namespace) -> None:
    """Raise ConfigError for options that would do nothing without another one."""
    for option, given, other, needed in (
        ("--speed", args.speed is not None, "--show", args.show),
        ("--paused", args.paused, "--show", args.show),
        ("--every", args.every is not None, "--record", args.record),
    ):
        if given and not needed:
            raise ConfigError(f"{option} does nothing without {other}; give both, or neither")


def world_config(name: str, settings: list[str], seed: int | None) -> dict[str, Any]:
    """Return the world in the file `name` with settings KEY=VALUE applied; raises ConfigError."""
    from fleet_sim.swarm.world_config import load_world

    config = load_world(resolve_config(name))
    for key, given in key_values(settings, "--set", "time_step=0.1").items():
        set_key(config, key, given)
    # Last: --seed wins over the file, and over `--set seed=`.
    if seed is not None:
        config["seed"] = seed
    return config


def steps_of(world: RectangularWorld, steps: int | None) -> int | None:
    """Return how many steps a run has that was asked for `steps`; None if that is not known."""
    return steps or (world.config.stop_at if isinstance(world.config.stop_at, int) else None)


def subscribers(args: argparse.Namespace, world: RectangularWorld, steps: int | None, line: ProgressBar) -> list[Any]:
    """Return the recorder, table and plot that the options select, for a run of `steps` (None: not known)."""
    from fleet_sim.swarm.members import MetricTable
    from fleet_sim.swarm.pictures import MetricPlot, recorder_for

    made: list[Any] = []
    if args.record:
        length = steps_of(world, steps)
        every = args.every or (STRIDE if length is None else max(1, round(length / FRAMES)))
        made.append(recorder_for(args.record, every))
    if args.metrics:
        made.append(MetricTable(args.metrics))
    if args.plot or args.live:
        made.append(MetricPlot(args.plot, live=args.live))
    if line.shown:
        made.append(shown_progress(line))
    return made


def shown_progress(line: ProgressBar) -> Subscriber:
    """Return what shows in `line` how many steps were made."""
    from fleet_sim.swarm.members import Subscriber

    class ShownProgress(Subscriber):
        def step(self, world: SwarmWorld) -> None:
            line.show(world.steps)

        def close(self) -> None:
            line.close()

    return ShownProgress()


def summary(world: RectangularWorld, seconds: float) -> str:
    """Return one line for the run and one per metric."""
    rate = world.steps / seconds if seconds > 0.0 else float("inf")
    head = (
        f"{len(world.population)} agents, {world.steps} steps, {world.time:.2f} s simulated in {seconds:.2f} s"
        f" ({rate:.0f} steps/s)"
    )
    metrics = (
        f"{one.name}: {one.value:.4g} (average of the last {len(one.value_history)}: {one.average:.4g})"
        for one in world.metrics
    )
    return "\n".join([head, *metrics])
