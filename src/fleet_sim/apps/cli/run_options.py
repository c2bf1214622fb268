"""Options of `fleet-sim run` about files and master controls: figures, saved states, recordings, inputs, VDA 5050."""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from fleet_sim.apps.cli.arguments import add_detail
from fleet_sim.base.errors import ConfigError, FleetSimError, InvalidValueError
from fleet_sim.base.files import check_target, exists, load_parquet, named, resolve_config, write_file, write_table

if TYPE_CHECKING:
    from fleet_sim.apps.cli.summary import RobotFigures, RunSummary
    from fleet_sim.facade.recording import InputRecorder, RecordedInputs, RunRecording
    from fleet_sim.facade.runner import RunReport
    from fleet_sim.simulation import MultiRobotSimulationCore


def check(args: argparse.Namespace) -> None:
    """Raise ConfigError, InvalidValueError or MissingDependencyError for options that cannot be carried out."""
    check_file_options(args)
    check_state_options(args)
    check_record_options(args)
    check_broker_options(args)


# Options of `fleet-sim run` that write its figures: of the run and of each robot.


READ = ("config", "from_state", "replay_inputs")
WRITTEN = ("record", "record_inputs", "save_state", "picture", "figures", "json", "metrics", "certificate")
"""Options of `fleet-sim run` that name a file."""
SUMS = ("goals", "distance_m", "waiting_s")
"""Figures of robots that a run has too, as their sum; a collision of two robots is one of the run."""


def add_file_options(parser: argparse._ActionsContainer) -> None:
    """Add the options."""
    parser.add_argument("--json", metavar="FILE", help="write the figures of the run and of each robot as JSON")
    parser.add_argument(
        "--metrics",
        metavar="FILE",
        help="write a table with a row per robot: goals, distance, waiting, collisions (.csv, .parquet)",
    )


def check_file_options(args: argparse.Namespace) -> None:
    """Raise InvalidValueError where a file could not be written, MissingDependencyError where Parquet is not there.

    Raises ConfigError for a name that is empty, and for a file that would be written over by another.
    """
    _check_names(args)
    if args.json:
        check_target(args.json)
    if args.metrics:
        if not args.metrics.lower().endswith((".csv", ".parquet")):
            raise InvalidValueError(f"--metrics: the file must end in .csv or .parquet, got {args.metrics!r}")
        if args.metrics.lower().endswith(".parquet"):
            load_parquet("writing Parquet")
        check_target(args.metrics)


def _check_names(args: argparse.Namespace) -> None:
    """Raise ConfigError for a name that is empty, and for two options with the same file, one of which writes it."""
    options: dict[str, str] = {}
    for name in (*READ, *WRITTEN):
        file = getattr(args, name)
        if file is None:
            continue
        option = "CONFIG" if name == "config" else f"--{name.replace('_', '-')}"
        if not file:
            raise ConfigError(f"{option}: the name of a file is missing, got ''")
        # The name of a shipped scenario is no file.
        if name in READ and not exists(file):
            continue
        other = options.setdefault(os.path.realpath(file), option)
        # A state may be continued from and written again: it is read before the run, and replaced after it.
        if other != option and (other, option) != ("--from-state", "--save-state"):
            raise ConfigError(f"{other} and {option} name the same file, {named(file)}; give them different ones")


class RunFiles:
    """Gathers the figures of one run, or of several one after the other, and writes them where `args` says."""

    def __init__(self, args: argparse.Namespace, scenario: str) -> None:
        self._args, self._scenario = args, scenario
        self._runs: list[dict[str, Any]] = []

    def watch(self, sim: MultiRobotSimulationCore) -> RobotFigures | None:
        """Return what adds up the figures of robots; None where no file is asked for, and nothing is watched."""
        if not (self._args.json or self._args.metrics):
            return None
        from fleet_sim.apps.cli.summary import RobotFigures

        return RobotFigures(sim)

    def add(
        self,
        sim: MultiRobotSimulationCore,
        outcome: RunSummary,
        robots: RobotFigures | None,
        wall: float,
        faults: list[str],
        interrupted: bool,
    ) -> None:
        """Keep the figures of a run that took `wall` s of real time."""
        if robots is None:
            return
        lines = robots.rows()
        sums = {name: sum(line[name] for line in lines) for name in SUMS}
        found = {"seed": sim.params.seed, **outcome.numbers(wall), **sums, "faults": faults, "interrupted": interrupted}
        if self._args.hash:
            found["state_hash"] = sim.state_hash()
        self._runs.append({**found, "robots": lines})

    def write(self) -> None:
        """Write the files and say so; raises InvalidValueError where the system refuses."""
        if self._args.json:
            about = {"scenario": self._scenario, "settings": list(self._args.set), "runs": self._runs}
            write_file(self._args.json, json.dumps(about, indent=1) + "\n")
            print(f"json: {self._args.json}")
        if self._args.metrics:
            lines = [{"seed": run["seed"], **line} for run in self._runs for line in run["robots"]]
            # A run without robots has a table without lines, whose columns are still unknown but for these.
            names = list(lines[0]) if lines else ["seed", "robot"]
            write_table(self._args.metrics, {name: [line[name] for line in lines] for name in names})
            print(f"metrics: {self._args.metrics}")


# The options of `fleet-sim run` that write the state of a run to a file, and go on from one.


def add_state_options(parser: argparse.ArgumentParser) -> None:
    """Add the options to the parser of `fleet-sim run`."""
    group = parser.add_argument_group("saved states")
    group.add_argument("--save-state", metavar="FILE", help="write the state to a file, at the end or at --at")
    add_detail(group, "--save-state", "--at", "the simulated time to write it at", type=float, metavar="SECONDS")
    group.add_argument(
        "--from-state",
        metavar="FILE",
        help="continue from the state in a file, which includes the scenario; no CONFIG is needed",
    )


def check_state_options(args: argparse.Namespace) -> None:
    """Raise ConfigError for options that contradict each other."""
    if not (args.config or args.from_state or args.replay_inputs):
        raise ConfigError("CONFIG is missing: a YAML file, or the name of a shipped one; or --from-state FILE")
    if args.config and args.from_state:
        raise ConfigError("give a CONFIG to run, or --from-state FILE to go on from, one of them")
    if args.from_state is not None and (args.seed is not None or args.seeds):
        raise ConfigError("a state has the seed of its run; leave --seed out")
    if args.at is not None and args.save_state is None:
        raise ConfigError("--at says when to write the state; name the file with --save-state")
    if args.at is not None and not 0.0 <= args.at < math.inf:
        raise ConfigError(f"--at must be a simulated time of at least 0 s, and finite, got {args.at}")
    if args.save_state is not None:
        if args.seeds:
            raise ConfigError("--save-state is for one run; use it with --seed, not with --seeds")
        check_target(args.save_state)


def scenario_of_state(args: argparse.Namespace) -> dict[str, Any]:
    """Return the scenario in the state file of `args`; raises StateFileError."""
    from fleet_sim.facade.state import scenario_of

    with scenario_of(args.from_state) as (found, _):
        return found


def open_state(args: argparse.Namespace, config: Mapping[str, Any]) -> MultiRobotSimulationCore:
    """Return the simulation of the state file of `args`, with its scenario as `config`; raises StateFileError."""
    from fleet_sim.facade.state import scenario_of
    from fleet_sim.simulation import MultiRobotSimulationCore

    with scenario_of(args.from_state) as (_, source):
        sim = MultiRobotSimulationCore.from_dict(config, source=source)
    try:
        sim.state.begin(args.from_state)
    except BaseException:
        sim.close()
        raise
    return sim


class LaterSave:
    """Writes the state of `sim` to a file when the time `at` in s is reached; None: at the end of the run."""

    def __init__(self, sim: MultiRobotSimulationCore, file: str, at: float | None) -> None:
        """Raises StateFileError at once where there is code that the file cannot hold."""
        sim.state.check_code()
        self._sim, self._file = sim, file
        self._tick = None if at is None else sim.clock.ticks(at)
        self._done: Future[Any] | None = None
        if self._tick is not None and sim.clock.tick > self._tick:
            raise ConfigError(f"--at: the run begins at {sim.sim_time:g} s, after {at:g} s")
        if self._tick == sim.clock.tick:
            self._save()
        elif self._tick is not None:
            sim.events.on("post_step", self._look)

    def _look(self, **details: Any) -> None:
        # The step that ends counts when it is over.
        if self._done is None and self._tick is not None and self._sim.clock.tick + 1 >= self._tick:
            self._save()

    def _save(self) -> None:
        self._done = self._sim.between_steps(lambda: self._sim.save_state(self._file))

    def finish(self) -> str:
        """Return a line about the file, after the run; raises what kept it from being written."""
        if self._done is None and self._tick is None:
            self._save()
        if self._done is None:
            raise ConfigError(
                f"--at: no state was written: the run ended at {self._sim.sim_time:g} s, before that time"
            )
        self._done.result()
        return f"state: {self._file}"


# Options of `fleet-sim run` that keep a run, and repeat it: recordings and inputs.


def add_record_options(parser: argparse._ActionsContainer) -> None:
    """Add the options."""
    parser.add_argument(
        "--record",
        metavar="FILE.mcap",
        help="record the run; see `fleet-sim replay`, `fleet-sim film`, ros2 bag, Foxglove",
    )
    rate, sensors = (
        "samples per simulated second, at most one per step (default: 10)",
        "kinds of sensors whose readings are recorded",
    )
    add_detail(parser, "--record", "--record-rate", rate, type=float, metavar="HZ")
    add_detail(parser, "--record", "--record-sensors", f"{sensors}, such as lidar,imu; or all", metavar="KINDS")
    parser.add_argument(
        "--certificate", metavar="FILE", help="write how robots of the traffic moved, for `fleet-sim certify`"
    )
    parser.add_argument(
        "--record-inputs", metavar="FILE.jsonl", help="record all external input, to repeat the run without it"
    )
    parser.add_argument(
        "--replay-inputs",
        metavar="FILE.jsonl",
        help="repeat a run recorded with --record-inputs, bit for bit, as fast as possible; with --view in real time, "
        "and nobody can act; no CONFIG is needed",
    )


def check_record_options(args: argparse.Namespace) -> None:
    """Raise ConfigError for options of no recording."""
    if args.record_rate is not None and not args.record:
        raise ConfigError("--record-rate is the rate of a recording; name its file with --record")
    if args.record_sensors is not None and not args.record:
        raise ConfigError("--record-sensors is about a recording; name its file with --record")
    if args.record_inputs and args.from_state:
        raise ConfigError("--record-inputs is for runs from the beginning of a scenario, not for --from-state")


def inputs_of(args: argparse.Namespace) -> RecordedInputs | None:
    """Return the inputs that the options name, with their scenario in `args.config`; raises ConfigError.

    What would make another run of it is refused.
    """
    if not args.replay_inputs:
        return None
    changes = {
        "CONFIG": args.config,
        "--from-state": args.from_state,
        "--set": args.set,
        "--seed": args.seed,
        "--seeds": args.seeds,
        "--duration": args.duration,
        # Its pace is none of a run.
        "--rtf": None if args.view else args.rtf,
        "--engine": args.engine,
        "--vda5050": args.vda5050,
        "--record-inputs": args.record_inputs,
    }
    for name, value in changes.items():
        if value not in (None, []):
            raise ConfigError(f"{name} cannot be used with --replay-inputs: the file says what is run")
    from fleet_sim.facade.recording import RecordedInputs

    inputs = RecordedInputs.load(args.replay_inputs)
    # A click would make another run of it.
    args.read_only = args.read_only or args.view
    args.config = inputs.source or str(inputs.path)
    return inputs


def steps_of(
    sim: MultiRobotSimulationCore, inputs: RecordedInputs | None, *, watched: bool
) -> Callable[[], RunReport | None]:
    """Return what makes the steps of the run: `sim` itself, or `inputs`, paced where somebody watches."""
    if inputs is None:
        return sim.run_simulation
    if not watched:
        return partial(inputs.replay, sim)
    from fleet_sim.facade.runner import Pacer

    pacer = Pacer(sim.clock.dt)
    return partial(inputs.replay, sim, lambda: time.sleep(pacer.wait_for(sim.clock.time, sim.params.target_rtf)))


class KeptRun:
    """Keeps the run in its `with` block as the options say; `report` says what came of it, at the very end."""

    def __init__(self, sim: MultiRobotSimulationCore, args: argparse.Namespace) -> None:
        self._recording: RunRecording | None = None
        self._inputs: InputRecorder | None = None
        if args.record_inputs:
            from fleet_sim.facade.recording import InputRecorder

            self._inputs = InputRecorder(sim, args.record_inputs, source=str(resolve_config(args.config).resolve()))
        if args.record:
            rate = {} if args.record_rate is None else {"rate": args.record_rate}
            sensors = tuple(args.record_sensors.split(",")) if args.record_sensors is not None else ()
            self._recording = sim.record(args.record, **rate, sensors=sensors)
        self._certified, self._certificate = args.certificate, ExitStack()
        if args.certificate:
            from fleet_sim.warehouse.traffic.certificate import certified

            self._certificate.enter_context(certified(sim, sim.extensions.find_manager("traffic"), args.certificate))

    def __enter__(self) -> KeptRun:
        return self

    def __exit__(self, *exception: object) -> None:
        for one in (self._inputs, self._recording):
            # Raised by `report`, when the rest of what is known of the run is printed.
            with contextlib.suppress(FleetSimError):
                if one is not None:
                    one.close()
        self._certificate.close()

    def report(self) -> None:
        """Print which files there are now; raises FleetSimError where one could not be written."""
        if self._certified:
            print(f"certificate: {self._certified}")
        for name, one in (("inputs", self._inputs), ("recording", self._recording)):
            if one is None:
                continue
            if one.error is not None:
                raise FleetSimError(f"the run went on to its end, its {name} did not: {one.error}")
            print(f"{name}: {one.path}")


# `--vda5050` of `fleet-sim run`: vehicles that a master control drives over an MQTT broker.


OWN = "own"


def add_broker_options(parser: argparse._ActionsContainer) -> None:
    """Add the options."""
    parser.add_argument(
        "--vda5050",
        nargs="?",
        const=OWN,
        metavar="URL",
        help="let a master control drive the robots by VDA 5050, over the MQTT broker at mqtt://host:1883 or"
        " mqtts://user@host:8883; without URL over a broker in this process, at localhost:1883",
    )
    parser.add_argument(
        "--vda5050-ca", metavar="FILE", help="file with CA certificates for the broker (default: those of the system)"
    )


def check_broker_options(args: argparse.Namespace) -> None:
    """Raise ConfigError for options that do not go together."""
    if args.vda5050_ca and args.vda5050 in (None, OWN):
        raise ConfigError("--vda5050-ca is for --vda5050 mqtts://host")
    if args.vda5050 not in (None, OWN):
        # Imported here so that --help and errors in other options are immediate.
        from fleet_sim.warehouse.vda5050.address import BrokerAddress

        BrokerAddress.parse(args.vda5050, args.vda5050_ca)


def add_section(args: argparse.Namespace, config: dict[str, Any]) -> None:
    """Let all robots of a scenario without a section `vda5050` be vehicles, where a broker was named."""
    # `view` has its scenario read in the same way, and has no such option.
    if getattr(args, "vda5050", None) is not None and "robots" in config:
        config.setdefault("vda5050", {})


@contextmanager
def connected(sim: MultiRobotSimulationCore, args: argparse.Namespace) -> Iterator[list[str]]:
    """Connect the vehicles of `sim` while it runs; afterwards the list says in lines what came in."""
    lines: list[str] = []
    if args.vda5050 is None:
        yield lines
        return
    from fleet_sim.warehouse.vda5050.connection import connect_vehicles

    with ExitStack() as stack:
        url = args.vda5050
        if url == OWN:
            from fleet_sim.warehouse.vda5050.broker import OwnBroker

            broker = OwnBroker()
            stack.callback(broker.close)
            url = f"mqtt://{broker.host}:{broker.port}"
        session = stack.enter_context(connect_vehicles(sim, url, ca=args.vda5050_ca))
        print(f"VDA 5050: {session.figures()['vehicles']} vehicles at {session.link.address}", flush=True)
        yield lines
        lines += broker_lines(session.figures())


def broker_lines(figures: dict[str, Any]) -> list[str]:
    """Return in lines what a master control sent."""
    taken, refused = sum(figures["taken"].values()), sum(figures["refused"].values())
    lines = [f"VDA 5050: {taken} messages carried out, {refused} refused"]
    lines += [f"  {number} refused: {reason}" for reason, number in sorted(figures["refused"].items())]
    lines += [f"  {number} not let in: {reason}" for reason, number in sorted(figures["not_let_in"].items())]
    return lines
