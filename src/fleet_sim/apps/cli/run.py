"""`fleet-sim run`: run a scenario and print a summary."""

from __future__ import annotations

import argparse
import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from fleet_sim.apps.cli import arguments, run_options
from fleet_sim.base.errors import ConfigError
from fleet_sim.base.files import check_target, resolve_config, write_png
from fleet_sim.base.monitor import DataMonitor, MonitorOutput, TerminalMonitor, window_hindrance
from fleet_sim.base.params import EngineChoice
from fleet_sim.base.scenario import as_scenario, is_scenario, load_scenario
from fleet_sim.base.settings import set_key

if TYPE_CHECKING:
    from fleet_sim.facade.runner import RunReport
    from fleet_sim.simulation import MultiRobotSimulationCore
    from fleet_sim.warehouse.traffic.figures_file import RunSource

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it; `main` makes 143 of it after SIGTERM."""


def add(commands: Any) -> None:
    """Add the command to the subparsers `commands`."""
    parser = commands.add_parser("run", help="run a scenario and print a summary")
    parser.add_argument("config", metavar="CONFIG", nargs="?", help="a YAML file, or the name of a shipped one")
    parser.add_argument("--duration", type=float, metavar="SECONDS", help="simulated time to run; 0 = endless")
    parser.add_argument("--rtf", type=float, metavar="X", help="real-time factor to keep; 0 = as fast as possible")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="set one key, such as simulation.physics=true; may be repeated",
    )
    seeding = parser.add_mutually_exclusive_group()
    seeding.add_argument("--seed", type=int, metavar="N", help="seed of all random streams")
    seeding.add_argument(
        "--seeds",
        type=arguments.seeds,
        metavar="LIST",
        help="run once with each seed, such as 1-20 or 1,5,9, and print a table",
    )
    parser.add_argument("--engine", choices=get_args(EngineChoice), help="the physics engine (auto: the installed one)")
    _add_looks(parser.add_argument_group("what is shown"))
    files = parser.add_argument_group("files that are written")
    files.add_argument("--picture", metavar="FILE.png", help="save a picture of the final state")
    files.add_argument(
        "--figures", metavar="FILE", help="write the figures of the section `tasks` or `orders`, for `fleet-sim report`"
    )
    run_options.add_file_options(files)
    run_options.add_record_options(files)
    run_options.add_broker_options(parser.add_argument_group("master controls"))
    parser.add_argument("--hash", action="store_true", help="print the hash of the final state")
    parser.add_argument("--lenient", action="store_true", help="exit with 0 also where actions, goals or code failed")
    run_options.add_state_options(parser)
    parser.set_defaults(command=execute)


def _add_looks(parser: argparse._ActionsContainer) -> None:
    """Add the options for looking at the run."""
    window = parser.add_mutually_exclusive_group()
    window.add_argument("--gui", action="store_true", default=None, help="open a window")
    window.add_argument("--headless", dest="gui", action="store_false", help="do not open a window")
    parser.add_argument(
        "--view", action="store_true", help="show the run in a browser, in real time unless --rtf says otherwise"
    )
    arguments.add_view_options(parser)
    parser.add_argument(
        "--monitor", action="store_true", help="show live figures of the run, in a window or in the terminal"
    )
    arguments.add_progress(parser)
    arguments.add_log_level(parser)


def execute(args: argparse.Namespace) -> int:
    """Run the scenario to its end or to Ctrl-C, print a summary; return 0, 1 where something failed, or 130."""
    run_options.check(args)
    if not args.view:
        arguments.check_unused(args)
    inputs = run_options.inputs_of(args)
    if args.seeds:
        return execute_seeds(args)
    config = configuration(args, None if inputs is None else inputs.scenario)
    check_outputs(args, config)
    # Imported here so that --help and errors in options are immediate.
    from fleet_sim.apps.cli.summary import RunSummary
    from fleet_sim.warehouse.orders import figure_source

    sim = simulation_of(args, config)
    if args.monitor:
        sim.setup_monitor(monitor_output())
    if args.view:
        arguments.announce(sim.view.show(**vars(arguments.view_params(args))))
    source = figure_source(sim) if args.figures else None
    outcome, files = RunSummary(sim, source=source), run_options.RunFiles(args, source_of(args))
    robots = files.watch(sim)
    later = run_options.LaterSave(sim, args.save_state, args.at) if args.save_state else None
    kept = run_options.KeptRun(sim, args)
    with run_options.connected(sim, args) as lines:
        wall, interrupted = run(sim, kept, run_options.steps_of(sim, inputs, watched=args.view), progress_of(sim, args))
    print("\n".join([*outcome.lines(wall), *lines]))
    # A run that ends earlier or later than the scenario says has no time to arrive in.
    faults = outcome.faults(whole=args.duration is None and inputs is None and not interrupted)
    files.add(sim, outcome, robots, wall, faults, interrupted)
    files.write()
    if source is not None:
        write_figures(args.figures, sim, source, args, wall)
        print(f"figures: {args.figures}")
    _keep_end(sim, args, later)
    kept.report()
    if faults:
        print(f"failed: {', '.join(faults)}")
    if interrupted:
        print(f"interrupted at {sim.sim_time:.2f} s")
    sim.close()
    return INTERRUPTED if interrupted else int(bool(faults) and not args.lenient)


def _keep_end(sim: MultiRobotSimulationCore, args: argparse.Namespace, later: run_options.LaterSave | None) -> None:
    """Write and print what is asked for of the final state."""
    if args.picture:
        write_png(args.picture, sim.draw_picture(1024, 768))
        print(f"picture: {args.picture}")
    if args.hash:
        print(f"state hash: {sim.state_hash()}")
    if later is not None:
        print(later.finish())


def check_outputs(args: argparse.Namespace, config: Mapping[str, Any]) -> None:
    """Raise ConfigError where a file could not be written after the run, or would have nothing in it."""
    if args.picture:
        arguments.check_png(args.picture)
    if args.figures:
        for path in [figures_of_seed(args, seed) for seed in args.seeds] if args.seeds else [args.figures]:
            check_target(path)
        # Exactly one: figures of both would be counted twice, of neither none.
        if ("tasks" in config) == ("orders" in config):
            raise ConfigError(
                "--figures needs a scenario with a section `tasks` or `orders`, one", source=source_of(args)
            )


def progress_of(sim: MultiRobotSimulationCore, args: argparse.Namespace, label: str = "") -> arguments.ProgressBar:
    """Return a line that shows how far `sim` is."""
    from fleet_sim.base.kernels import compiling

    # A monitor in the terminal writes there itself.
    wanted = False if args.progress is None and args.monitor else args.progress
    line = arguments.ProgressBar(wanted, "s", sim.params.duration or 0.0, label)
    begin = sim.sim_time
    if line.shown:
        sim.events.on("post_step", lambda dt, sim_time: line.show(sim_time - begin, compiling()))
    return line


def run(
    sim: MultiRobotSimulationCore,
    kept: run_options.KeptRun,
    steps: Callable[[], RunReport | None],
    line: arguments.ProgressBar,
) -> tuple[float, bool]:
    """Make the `steps` of `sim`, to the end or to a signal; return how many s it took, and whether a signal came."""
    start = time.perf_counter()
    interrupted = False
    try:
        with kept:
            report = steps()
        interrupted = report is not None and report.reason == "interrupted"
    except KeyboardInterrupt:
        interrupted = True
    finally:
        line.close()
        # Also after Ctrl-C or an error: the last figures are what the run ended with.
        sim.update_monitor()
        sim.close_monitor()
    return time.perf_counter() - start, interrupted


def simulation_of(args: argparse.Namespace, config: Mapping[str, Any]) -> MultiRobotSimulationCore:
    """Return the simulation of the scenario `config`; raises ConfigError."""
    from fleet_sim.simulation import MultiRobotSimulationCore
    from fleet_sim.world.schema import LogLevelManager

    # Shows warnings, exceptions in user code, and the lines of enable_time_profiling.
    logging.basicConfig(format="%(levelname)s: %(message)s")
    if args.log_level:
        LogLevelManager.set_log_level(args.log_level)
    if args.from_state:
        return run_options.open_state(args, config)
    return MultiRobotSimulationCore.from_dict(config, source=str(resolve_config(args.config)))


def source_of(args: argparse.Namespace) -> str:
    """Return what the user gave: a scenario, or a state."""
    return str(args.from_state or args.config)


def write_figures(
    path: str | Path, sim: MultiRobotSimulationCore, source: RunSource, args: argparse.Namespace, wall: float
) -> None:
    """Write the figures that `source` gathered to a run file."""
    import yaml

    import fleet_sim
    from fleet_sim.apps.cli.summary import counted
    from fleet_sim.warehouse.traffic.figures_file import write_run

    # What was set tells two runs of one scenario apart.
    title = ", ".join((Path(source_of(args)).stem, counted(len(sim.agents), "robot"), *args.set))
    about = {
        "scenario": source_of(args),
        "seed": str(sim.params.seed),
        "settings": ", ".join(args.set) or "as shipped",
        "fleet_sim": fleet_sim.__version__,
        "all settings": yaml.safe_dump(dict(sim.population.scenario), sort_keys=False, default_flow_style=None),
    }
    # A run of no time has no factor; 0 would be a bad one.
    factor = sim.sim_time / wall if wall > 0.0 else None
    timing = {"wall_s": wall, "real_time_factor": factor}
    write_run(path, source.run(title, about, timing))


def figures_of_seed(args: argparse.Namespace, seed: int) -> Path:
    """Return where the figures of the run with `seed` are written: the seed stands before the ending."""
    path = Path(args.figures)
    return path.with_name(f"{path.stem}_{seed}{path.suffix}")


def execute_seeds(args: argparse.Namespace) -> int:
    """Run the scenario once with each of the seeds, to the end or to Ctrl-C, and print a table; return as `execute`."""
    for option in ("gui", "picture", "monitor", "record", "record_inputs", "certificate", "view", "vda5050"):
        if getattr(args, option):
            raise ConfigError(f"--{option.replace('_', '-')} is for one run; use it with --seed, not with --seeds")
    check_outputs(args, configuration(args))
    files = run_options.RunFiles(args, source_of(args))
    failed, interrupted = [], False
    for number, seed in enumerate(args.seeds, 1):
        values, interrupted, faults = run_seed(args, seed, files, f"run {number} of {len(args.seeds)}  ")
        failed += [f"seed {seed}: {', '.join(faults)}"] if faults else []
        # Each row as soon as it is known, as a run may be long.
        for row in (values.keys(), values.values()) if number == 1 else (values.values(),):
            print(" ".join(f"{text:>{max(len(name), 7)}}" for text, name in zip(row, values, strict=True)), flush=True)
        if interrupted:
            break
    files.write()
    if args.figures:
        print(f"figures: {figures_of_seed(args, args.seeds[0])} and so on, one for each seed")
    if failed:
        print(f"failed: {'; '.join(failed)}")
    if interrupted:
        print(f"interrupted in run {number} of {len(args.seeds)}")
    return INTERRUPTED if interrupted else int(bool(failed) and not args.lenient)


def run_seed(
    args: argparse.Namespace, seed: int, files: run_options.RunFiles, label: str
) -> tuple[dict[str, str], bool, list[str]]:
    """Run the scenario with a seed; return its line of the table, by headings, if a signal came, and its faults."""
    from fleet_sim.apps.cli.summary import RunSummary
    from fleet_sim.warehouse.orders import figure_source

    # A window for each of twenty runs is none that anybody wants.
    config = configuration(argparse.Namespace(**{**vars(args), "seed": seed, "gui": False}))
    with simulation_of(args, config) as sim:
        if not sim.params.duration:
            raise ConfigError("--seeds needs runs that end; give them a --duration")
        source = figure_source(sim) if args.figures else None
        outcome, robots, line = RunSummary(sim, goals=True), files.watch(sim), progress_of(sim, args, label)
        try:
            report = sim.run_simulation()
        finally:
            line.close()
        values = {"seed": str(seed), **outcome.figures(report.wall_time)}
        if args.hash:
            values["state hash"] = sim.state_hash()
        interrupted = report.reason == "interrupted"
        faults = outcome.faults(whole=args.duration is None and not interrupted)
        files.add(sim, outcome, robots, report.wall_time, faults, interrupted)
        if source is not None:
            write_figures(figures_of_seed(args, seed), sim, source, args, report.wall_time)
    return values, interrupted, faults


def monitor_output() -> MonitorOutput:
    """Return a window for the figures of a run if there is a display, else the terminal."""
    if window_hindrance():
        return TerminalMonitor()
    window = DataMonitor()
    window.start()
    return window


def configuration(args: argparse.Namespace, scenario: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return `scenario` (None: that of `args`) with the options of `args` applied; raises ConfigError."""
    if scenario is None:
        named = args.from_state is not None
        scenario = run_options.scenario_of_state(args) if named else load_scenario(resolve_config(args.config))
    config = dict(as_scenario(scenario))
    # A file may be a scenario, or the settings of a simulation alone.
    section = "simulation." if is_scenario(config) else ""
    options = {"duration": args.duration, "target_rtf": args.rtf, "seed": args.seed, "gui": args.gui}
    # `view` takes its scenario from here, and has no such option.
    options["engine"] = getattr(args, "engine", None)
    options["log_level"] = getattr(args, "log_level", None)
    for name, value in options.items():
        if value is not None:
            set_key(config, section + name, value)
    for key, given in arguments.key_values(args.set, "--set", "simulation.seed=3").items():
        set_key(config, key, given)
    settings = (config.get("simulation") or {}) if section else config
    _check_kept(options, settings)
    run_options.add_section(args, config)
    if args.view and isinstance(settings, Mapping):
        for name, value in arguments.watched(settings).items():
            if options[name] is None:
                set_key(config, section + name, value)
    return config


_OPTIONS = {
    "duration": "--duration",
    "target_rtf": "--rtf",
    "seed": "--seed or --seeds",
    "engine": "--engine",
    "log_level": "-q or -v",
}


def _check_kept(options: Mapping[str, Any], settings: Any) -> None:
    """Raise ConfigError where `--set` has changed what another option says."""
    for name, value in options.items():
        # By `in`, which compares identities first: not a number differs from itself, and is for the reader to reject.
        if value is not None and not (isinstance(settings, Mapping) and value in (settings.get(name),)):
            option = _OPTIONS.get(name, "--gui or --headless")
            raise ConfigError(f"--set changes simulation.{name}, which {option} gives, too; leave one of them out")
