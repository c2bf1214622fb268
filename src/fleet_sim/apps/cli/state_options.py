"""The options of `fleet-sim run` that write the state of a run to a file, and go on from one."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from fleet_sim.apps.cli.arguments import add_detail
from fleet_sim.base.errors import ConfigError
from fleet_sim.base.files import check_target

if TYPE_CHECKING:
    from fleet_sim.simulation import MultiRobotSimulationCore


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options to the parser of `fleet-sim run`."""
    group = parser.add_argument_group("saved states")
    group.add_argument("--save-state", metavar="FILE", help="write the state to a file, at the end or at --at")
    add_detail(group, "--save-state", "--at", "the simulated time to write it at", type=float, metavar="SECONDS")
    group.add_argument(
        "--from-state",
        metavar="FILE",
        help="continue from the state in a file, which includes the scenario; no CONFIG is needed",
    )


def check(args: argparse.Namespace) -> None:
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


def scenario(args: argparse.Namespace) -> dict[str, Any]:
    """Return the scenario in the state file of `args`; raises StateFileError."""
    from fleet_sim.facade.state import scenario_of

    with scenario_of(args.from_state) as (found, _):
        return found


def opened(args: argparse.Namespace, config: Mapping[str, Any]) -> MultiRobotSimulationCore:
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
