"""`fleet-sim run`: run a scenario and print a summary."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fleet_sim.cli.arguments import check_png
from fleet_sim.config.scenario import as_scenario, is_scenario
from fleet_sim.errors import ConfigError
from fleet_sim.images import write_png
from fleet_sim.monitor import DataMonitor, MonitorOutput, TerminalMonitor, window_hindrance
from fleet_sim.paths import resolve_config
from fleet_sim.settings import load_mapping, parse_value, set_key

if TYPE_CHECKING:
    from fleet_sim.simulation import MultiRobotSimulationCore


def add(commands: Any) -> None:
    """Add the command to the subparsers `commands`."""
    parser = commands.add_parser("run", help="run a scenario and print a summary")
    parser.add_argument("config", metavar="CONFIG", help="a YAML file, or the name of a shipped one")
    parser.add_argument("--duration", type=float, metavar="SECONDS", help="simulated time to run; 0 = endless")
    parser.add_argument("--rtf", type=float, metavar="X", help="real-time factor to keep; 0 = as fast as possible")
    parser.add_argument("--seed", type=int, metavar="N", help="seed of all random streams")
    window = parser.add_mutually_exclusive_group()
    window.add_argument("--gui", action="store_true", default=None, help="open a window")
    window.add_argument("--headless", dest="gui", action="store_false", help="do not open a window")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="set one key, as in simulation.physics=true",
    )
    parser.add_argument(
        "--monitor", action="store_true", help="show live figures of the run, in a window or in the terminal"
    )
    parser.add_argument("--picture", metavar="FILE.png", help="save a picture of the final state")
    parser.add_argument("--hash", action="store_true", help="print the hash of the final state")
    parser.set_defaults(command=execute)


def execute(args: argparse.Namespace) -> int:
    """Run the scenario to its end or to Ctrl-C, print a summary; return 0."""
    config = configuration(args)
    if args.picture:
        check_png(args.picture)
    # Imported here so that --help and errors in options are immediate.
    from fleet_sim.simulation import MultiRobotSimulationCore

    # Shows warnings, exceptions in user code, and the lines of enable_time_profiling.
    logging.basicConfig(format="%(levelname)s: %(message)s")
    sim = MultiRobotSimulationCore.from_dict(config, source=str(resolve_config(args.config)))
    if args.monitor:
        sim.setup_monitor(monitor_output())
    start = time.perf_counter()
    try:
        sim.run_simulation()
    except KeyboardInterrupt:
        print("stopped by Ctrl-C")
    finally:
        sim.update_monitor()
        sim.close_monitor()
    print(summary(sim, time.perf_counter() - start))
    if args.picture:
        write_png(args.picture, sim.take_picture(1024, 768).rgb)
        print(f"picture: {args.picture}")
    if args.hash:
        print(f"state hash: {sim.state_hash()}")
    sim.close()
    return 0


def monitor_output() -> MonitorOutput:
    """Return a window for the figures of a run if there is a display, else the terminal."""
    if window_hindrance():
        return TerminalMonitor()
    window = DataMonitor()
    window.start()
    return window


def configuration(args: argparse.Namespace) -> dict[str, Any]:
    """Return the scenario of `args` with its options applied; raises ConfigError."""
    config = dict(as_scenario(load_mapping(resolve_config(args.config))))
    section = "simulation." if is_scenario(config) else ""
    options = {"duration": args.duration, "target_rtf": args.rtf, "seed": args.seed, "gui": args.gui}
    for name, value in options.items():
        if value is not None:
            set_key(config, section + name, value)
    for text in args.set:
        key, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(f"--set needs KEY=VALUE, as in simulation.seed=3, got {text!r}")
        set_key(config, key.strip(), parse_value(value))
    settings = (config.get("simulation") or {}) if section else config
    if isinstance(settings, Mapping) and "gui" not in settings and _has_no_display():
        # `gui` defaults to true. Without a display that would fail, although the user did not ask for a window.
        print("fleet-sim: no display (DISPLAY is not set): no window is opened", file=sys.stderr)
        set_key(config, section + "gui", False)
    return config


def _has_no_display() -> bool:
    return sys.platform.startswith("linux") and not os.environ.get("DISPLAY")


def summary(sim: MultiRobotSimulationCore, seconds: float) -> str:
    """Return one line with what was simulated and how fast."""
    factor = f"{sim.sim_time / seconds:.1f} times real time" if seconds > 0 else "at once"
    return (
        f"{len(sim.agents)} robots, {sim.step_count} steps, {sim.sim_time:.2f} s simulated in {seconds:.2f} s"
        f" ({factor}), {sim.collision_count} collisions"
    )
