"""`fleet-sim traffic`: try planners on the problems of the field, and execute plans made elsewhere."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fleet_sim.apps.cli.arguments import not_negative, positive
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.files import check_target

if TYPE_CHECKING:
    from fleet_sim.warehouse.traffic.runs import Outcome
    from fleet_sim.warehouse.traffic.workload import FleetSettings, Workload

# Options by the names of their settings: of the robots, and of the traffic.
FLEET = (
    "radius",
    "speed",
    "acceleration",
    "turn_speed",
    "turn_acceleration",
    "backwards",
    "timestep",
    "margin",
    "deadlock_after",
)
TRAFFIC = ("period", "window", "policy", "planning_time", "time_limit")
LIFELONG_ONLY = ("period", "window", "policy", "planning_time")
"""Settings of planning again and again."""
LIFELONG, TO_THE_END = 600.0, 3600.0
"""Seconds that are simulated at most if not said."""


def add(commands: Any) -> None:
    """Add the command to the subparsers `commands`."""
    parser = commands.add_parser(
        "traffic", help="run a planner on a benchmark problem, or execute a plan of another program"
    )
    parser.fill = _add_options


def _add_options(parser: argparse.ArgumentParser) -> None:
    """Add the actions `run` and `execute` with their options."""
    # Settings are light; the planners and their kernels are not, and are imported when a run begins.
    from fleet_sim.apps.cli.arguments import add_options
    from fleet_sim.warehouse.traffic.settings import TrafficSettings

    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    runner = actions.add_parser("run", help="let robots drive from task to task, planned by a planner")
    runner.add_argument(
        "problem",
        metavar="PROBLEM",
        help="a League of Robot Runners .json, a .map (random goals), an LSMART .json or any other site (goals between"
        " its stations), or a .scen (one goal for each robot)",
    )
    runner.add_argument("--planner", default="pibt", metavar="NAME", help="pibt, lacam, ... or my.module:Class (pibt)")
    runner.add_argument(
        "--robots", type=positive, metavar="N", help="number of robots; required if the problem does not define it"
    )
    runner.add_argument(
        "--dwell", type=float, metavar="S", help="time to stay at each goal, in s (default: 2; League problems: 0)"
    )
    runner.add_argument(
        "--setting", action="append", default=[], metavar="KEY=VALUE", help="a setting of the planner; may be repeated"
    )
    runner.add_argument("--cell", type=float, metavar="M", help="size of the cells, a multiple of the file's")
    runner.add_argument("--level", help="the level to read, in a building with several")
    runner.add_argument("--paths", metavar="FILE", help="with a .scen: write the plan in the format of SMART")
    add_options(runner, TrafficSettings, TRAFFIC)
    runner.set_defaults(command=_run)
    executor = actions.add_parser("execute", help="drive the paths that another program planned")
    executor.add_argument("--map", required=True, metavar="M", help="the map: a .map, or any other site")
    executor.add_argument("--scen", required=True, metavar="S", help="the .scen with starts and goals")
    executor.add_argument("--paths", required=True, metavar="P", help="the paths, as SMART writes them")
    executor.set_defaults(command=_execute)
    _add_common_options(runner)
    _add_common_options(executor)


def _add_common_options(action: argparse.ArgumentParser) -> None:
    """Add the options of every run, whoever planned it."""
    from fleet_sim.apps.cli.arguments import add_options
    from fleet_sim.warehouse.traffic.workload import FleetSettings

    action.add_argument(
        "--seconds", type=float, metavar="S", help="simulated time, at most (default: 600; with a .scen: 3600)"
    )
    action.add_argument(
        "--seed", type=not_negative, default=0, metavar="K", help="seed of all random streams (default: 0)"
    )
    action.add_argument("--json", metavar="FILE", help="write all figures, for `fleet-sim report`")
    action.add_argument("--certificate", metavar="FILE", help="write how robots moved, for `fleet-sim certify`")
    action.add_argument("--quiet", action="store_true", help="print no progress")
    action.add_argument("--lenient", action="store_true", help="exit with 0 also where plans were refused")
    add_options(action, FleetSettings, FLEET)


def _run(args: argparse.Namespace) -> int:
    """Drive a workload, or plan and execute a scenario."""
    from fleet_sim.apps.cli.arguments import key_values, read_options
    from fleet_sim.warehouse.traffic.planners.registry import PLANNERS
    from fleet_sim.warehouse.traffic.runs import drive_workload
    from fleet_sim.warehouse.traffic.settings import TrafficSettings
    from fleet_sim.warehouse.traffic.workload import FleetSettings, league_fleet, league_of, read_workload

    for name, low, high in (("seconds", 0.0, 1e9), ("dwell", 0.0, 1e6)):
        _check_range(name, getattr(args, name), low, high)
    _check_files(args, "json", "paths", "certificate")
    fleet, traffic = read_options(args, FleetSettings, FLEET), read_options(args, TrafficSettings, TRAFFIC)
    PLANNERS.find(args.planner)
    traffic.planner, traffic.settings, traffic.network = args.planner, key_values(args.setting, "--setting"), "grid"
    league = league_of(args.problem)
    for name, value in ({} if league is None else league_fleet(league)).items():
        # Options go before the file, and the run says so.
        if getattr(args, name) is None:
            setattr(fleet, name, value)
        else:
            print(f"--{name.replace('_', '-')} goes before what {Path(args.problem).name} says: {value:g}")
    # Robots need this much room around them: what is nearer than the margin counts as a collision.
    room = fleet.radius + 0.5 * fleet.margin
    workload = read_workload(
        args.problem, robots=args.robots, seed=args.seed, radius=room, cell=args.cell, level=args.level
    )
    if workload.goals is not None and args.dwell is None:
        _refuse_lifelong(args)
        return _plan(args, workload, fleet, traffic.settings, traffic.time_limit)
    if args.paths:
        raise InvalidValueError("--paths: there is one plan to write for a .scen only, without --dwell")
    about = _about(args, workload.kind, fleet)
    window = "as the planner needs" if traffic.window is None else f"{traffic.window} steps"
    about.update(planner=args.planner, period=f"{traffic.period:g} s", window=window, policy=traffic.policy)
    outcome = drive_workload(
        workload,
        LIFELONG if args.seconds is None else args.seconds,
        fleet=fleet,
        traffic=traffic,
        dwell=args.dwell,
        seed=args.seed,
        about=about,
        progress=_progress(args),
        certificate=args.certificate,
    )
    return _report(args, outcome)


def _refuse_lifelong(args: argparse.Namespace) -> None:
    for name in LIFELONG_ONLY:
        if getattr(args, name) is not None:
            option = f"--{name.replace('_', '-')}"
            raise InvalidValueError(f"{option}: a .scen is planned once, to the end; with --dwell it is not")


def _plan(
    args: argparse.Namespace, workload: Workload, fleet: FleetSettings, settings: dict[str, Any], time_limit: float
) -> int:
    """Plan once, to the end, and execute the plan."""
    from fleet_sim.warehouse.traffic.runs import drive_paths, plan_scenario
    from fleet_sim.warehouse.traffic.workload import write_paths

    assert workload.goals is not None
    room = fleet.radius + 0.5 * fleet.margin
    ends = (workload.starts, workload.goals)
    cells, took = plan_scenario(
        workload.site, *ends, args.planner, settings, radius=room, time_limit=time_limit, seed=args.seed
    )
    if args.paths:
        write_paths(args.paths, cells, workload.site.grid)
    about = {**_about(args, workload.kind, fleet), "planner": args.planner}
    outcome = drive_paths(
        workload.site,
        cells,
        workload.goals,
        title=f"{workload.name}, {len(cells)} robots, {args.planner}",
        seconds=TO_THE_END if args.seconds is None else args.seconds,
        fleet=fleet,
        seed=args.seed,
        planning_s=took,
        about=about,
        progress=_progress(args),
        certificate=args.certificate,
    )
    return _report(args, outcome)


def _execute(args: argparse.Namespace) -> int:
    """Drive the paths of a file."""
    from fleet_sim.apps.cli.arguments import read_options
    from fleet_sim.warehouse.sites import read_site
    from fleet_sim.warehouse.traffic.runs import drive_paths, read_ends
    from fleet_sim.warehouse.traffic.workload import FleetSettings, read_paths

    _check_range("seconds", args.seconds, 0.0, 1e9)
    _check_files(args, "json", "certificate")
    fleet = read_options(args, FleetSettings, FLEET)
    site = read_site(args.map)
    starts, goals = read_ends(args.scen, site)
    cells = read_paths(args.paths, site.grid, starts)
    outcome = drive_paths(
        site,
        cells,
        # A plan may be for the first robots of the file only.
        goals[: len(cells)],
        title=f"{Path(args.paths).stem} on {site.name}, {len(cells)} robots",
        seconds=TO_THE_END if args.seconds is None else args.seconds,
        fleet=fleet,
        seed=args.seed,
        about=_about(args, "the plan of a file", fleet),
        progress=_progress(args),
        certificate=args.certificate,
    )
    return _report(args, outcome)


def _check_range(name: str, value: float | None, low: float, high: float) -> None:
    # A dwell of 0 is allowed: robots go on at once.
    if value is not None and not low < value <= high and not (name == "dwell" and value == 0.0):
        raise InvalidValueError(f"--{name}: expected seconds above {low:g}, at most {high:g}, got {value:g}")


def _check_files(args: argparse.Namespace, *names: str) -> None:
    for name in names:
        if getattr(args, name):
            check_target(getattr(args, name))


def _about(args: argparse.Namespace, kind: str, fleet: FleetSettings) -> dict[str, str]:
    """Return how a run was made, for its file."""
    import fleet_sim

    return {
        "problem": Path(args.problem if "problem" in args else args.map).name,
        "goals": kind,
        "seed": str(args.seed),
        "robots": f"radius {fleet.radius:g} m, {fleet.speed:g} m/s, {fleet.acceleration:g} m/s²",
        "time step": f"{fleet.timestep:g} s",
        "fleet_sim": fleet_sim.__version__,
    }


def _progress(args: argparse.Namespace) -> Any:
    """Return what prints one line again and again, None where nobody would see it change."""
    if args.quiet or not sys.stderr.isatty():
        return None

    def show(simulated: float, end: float, tasks: int) -> None:
        print(f"\r{simulated:8.0f} of {end:.0f} s, {tasks} tasks done ", end="", file=sys.stderr, flush=True)

    return show


def _report(args: argparse.Namespace, outcome: Outcome) -> int:
    """Print the figures and write the file; return 0, 1 where plans were refused, or 130 where Ctrl-C ended the run."""
    from fleet_sim.apps.reports.page import lines_of
    from fleet_sim.warehouse.traffic.figures_file import write_run

    if not args.quiet and sys.stderr.isatty():
        # Clears the line of progress, which ends with no line break.
        print("\r" + " " * 60 + "\r", end="", file=sys.stderr)
    print(outcome.run.title)
    print("\n".join(lines_of([outcome.run])))
    if args.json:
        write_run(args.json, outcome.run)
        print(f"wrote {args.json}")
    if outcome.refusal:
        print(f"failed: plans were refused, the last one as {outcome.refusal}")
    if outcome.stopped:
        print(f"interrupted at {outcome.run.figures['simulated_s']:.2f} s")
    # 128 + 2, as shells say of a program that Ctrl-C has ended.
    return 130 if outcome.stopped else int(bool(outcome.refusal) and not args.lenient)
