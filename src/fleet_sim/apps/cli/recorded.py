"""Options of `fleet-sim run` that keep a run, and repeat it: recordings and inputs."""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from fleet_sim.apps.cli.arguments import add_detail
from fleet_sim.base.errors import ConfigError, FleetSimError
from fleet_sim.base.files import resolve_config

if TYPE_CHECKING:
    from fleet_sim.facade.recording import InputRecorder, RecordedInputs, RunRecording
    from fleet_sim.facade.runner import RunReport
    from fleet_sim.simulation import MultiRobotSimulationCore


def add_options(parser: argparse.ArgumentParser) -> None:
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
        "--record-inputs", metavar="FILE.jsonl", help="record all external input, to repeat the run without it"
    )
    parser.add_argument(
        "--replay-inputs",
        metavar="FILE.jsonl",
        help="repeat a run recorded with --record-inputs, bit for bit, as fast as possible; with --view in real time, "
        "and nobody can act; no CONFIG is needed",
    )


def check(args: argparse.Namespace) -> None:
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

    def __enter__(self) -> KeptRun:
        return self

    def __exit__(self, *exception: object) -> None:
        for one in (self._inputs, self._recording):
            # Raised by `report`, when the rest of what is known of the run is printed.
            with contextlib.suppress(FleetSimError):
                if one is not None:
                    one.close()

    def report(self) -> None:
        """Print which files there are now; raises FleetSimError where one could not be written."""
        for name, one in (("inputs", self._inputs), ("recording", self._recording)):
            if one is None:
                continue
            if one.error is not None:
                raise FleetSimError(f"the run went on to its end, its {name} did not: {one.error}")
            print(f"{name}: {one.path}")
