"""Hashes of runs, of the state after each step and of its parts at times, and the table of shipped scenarios."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from importlib.metadata import PackageNotFoundError, version
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from fleet_sim.base.errors import ConfigError
from fleet_sim.base.files import data_roots, listed, read_text, write_file
from fleet_sim.base.geometry import Pose
from fleet_sim.base.params import ControllerMode
from fleet_sim.base.scenario import as_scenario
from fleet_sim.base.settings import load_mapping
from fleet_sim.robots.agent import Agent
from fleet_sim.sensing.sensors.sensor import Reading, Sensor
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.world.checkpoint import column_hashes

# Tasks for idle robots during verification: a run in which nothing moves proves little.


PERIOD = 40
"""Steps between two errands."""


def send_idle_robots(sim: MultiRobotSimulationCore, step: int) -> None:
    """Give a goal to every robot that could drive and does not, and targets to the joints of every robot.

    The goals depend on `step` and on the robot's place in the fleet, and are made without rounding.
    """
    if step % PERIOD != 0:
        return
    for number, agent in enumerate(sim.agents):
        if agent.can_move and _is_idle(agent):
            across, along, turn = ((number * prime + step) % 9 - 4 for prime in (7, 5, 2))
            here = agent.get_pose()
            agent.set_goal(Pose.from_yaw(here.x + 0.25 * along, here.y + 0.125 * across, here.z, 0.5 * turn))
        if agent.movable_joint_names:
            agent.set_joints_targets_by_name(_targets(agent, number + step))


def _is_idle(agent: Agent) -> bool:
    # What a rule keeps from driving, such as the traffic that drives it, has work of its own.
    kept = any(rule.refuses(np.array([agent.row])).any() for rule in agent.world.drive_rules)
    return not kept and agent.controller_mode is ControllerMode.IDLE and agent.is_action_queue_empty()


def _targets(agent: Agent, number: int) -> dict[str, float]:
    """Return a target for each joint, within its limits, and within half a turn or metre from zero."""
    model, targets = agent.robot_model, {}
    followers = {model.joint_names[mimic.follower] for mimic in model.mimics} if model is not None else set()
    for place, name in enumerate(agent.movable_joint_names):
        # It goes where its leader does.
        if name in followers:
            continue
        low, high = (min(max(limit, -0.5), 0.5) for limit in agent.get_joint_limits(name))
        share = ((number + 3 * place) % 8) * 0.125
        targets[name] = low + share * (high - low)
    return targets


STEPS = 100
STRIDE = 10
"""Steps between two hashes of each part."""

DIGITS = 6
"""Hexadecimal digits that are kept of a hash."""

UNVERIFIED = frozenset({"camera", "lidar_3d"})
"""The kinds of sensors that are left out: what they see is computed by graphics drivers and by PyBullet."""


@dataclass(frozen=True)
class Trace:
    """The hashes of a run.

    `states` has one of the whole state for each step. `parts` has one for each STRIDE steps of each column, of each
    of sensor and of the pairs in collision, of all these steps; or a single one where it never changes. `engine` is the
    version of PyBullet where the run needs it, else empty.
    """

    states: tuple[str, ...]
    parts: Mapping[str, tuple[str, ...]]
    engine: str = ""


def quiet(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a scenario as it is verified: without window, monitor and waiting."""
    scenario = dict(as_scenario(config))
    settings = {"gui": False, "monitor": False, "target_rtf": 0.0}
    return {**scenario, "simulation": {**(scenario.get("simulation") or {}), **settings}}


def trace(sim: MultiRobotSimulationCore, steps: int = STEPS, first: int = 0) -> Trace:
    """Make `steps` steps and return their hashes. `sim` must be as its scenario is after `first` steps.

    All its sensors but the UNVERIFIED are read. It is stepped by `step_once`: systems that others added run, too.
    """
    sensors = [sensor for sensor in sim.sensors.all if sensor.type not in UNVERIFIED]
    for sensor in sensors:
        sensor.subscribe()
    states: list[str] = []
    moments: list[dict[str, str]] = []
    for step in range(first, first + steps):
        send_idle_robots(sim, step)
        sim.step_once()
        states.append(sim.state_hash()[:DIGITS])
        moments.append(_parts_of(sim, sensors))
    # A path, or a feature, is not there all the time.
    names = sorted({name for moment in moments for name in moment})
    parts = {}
    for name in names:
        hashes = [moment.get(name, "") for moment in moments]
        strides = (hashes[start : start + STRIDE] for start in range(0, steps, STRIDE))
        digests = tuple(_digest(stride)[:DIGITS] for stride in strides)
        parts[name] = digests if len(set(digests)) > 1 else digests[:1]
    return Trace(tuple(states), parts, engine_version() if sim.view.connected else "")


def _parts_of(sim: MultiRobotSimulationCore, sensors: Sequence[Sensor]) -> dict[str, str]:
    """Return the hash of each column, of the latest readings of each kind of sensor, and of the colliding pairs."""
    parts = column_hashes(sim.world)
    readings: dict[str, list[str]] = {}
    for sensor in sensors:
        readings.setdefault(f"readings of {sensor.type}", []).append(f"{sensor.label} {_plain(sensor.latest)}")
    parts.update((name, _digest(texts)) for name, texts in readings.items())
    pairs = [sorted(sim.world.label(body.row) for body in pair) for pair in sim.get_active_collision_pairs()]
    parts["pairs in collision"] = _digest(sorted(pairs))
    return parts


def _plain(reading: Reading | None) -> list[Any]:
    """Return all numbers of a reading, exactly."""
    values = [getattr(reading, field.name) for field in fields(reading)] if reading is not None else []
    # The bits of arrays: their text is rounded, and leaves out the middle of long ones.
    # The text of NumPy's numbers depends on its version.
    return [value.tobytes() if isinstance(value, (np.ndarray, np.generic)) else value for value in values]


def _digest(value: object) -> str:
    return hashlib.blake2b(repr(value).encode(), digest_size=8).hexdigest()


def engine_version() -> str:
    """Return the version of PyBullet, empty where it is not installed."""
    try:
        return version("pybullet")
    except PackageNotFoundError:
        return ""


# The table of hashes: the traces of all shipped scenarios, and what differs from them here.


FILE = Path(__file__).with_name("hashes.json")
FORMAT = "fleet_sim hashes 1"


@dataclass(frozen=True)
class Difference:
    """Where a run begins to differ: after `step` steps, in `parts`, which were looked at after step `seen`."""

    step: int
    seen: int
    parts: tuple[str, ...]

    def __str__(self) -> str:
        return f"differs after step {self.step}; until step {self.seen} in: {', '.join(self.parts)}"


def shipped() -> dict[str, Path]:
    """Return the files of all shipped scenarios and swarm worlds by name, in order."""
    for root in data_roots():
        files = [file for kind in ("config", "config/swarm") for file in listed(root / kind, "*.yaml")]
        # Scenarios in sites have the names of others: they are told apart by their folder.
        sites = {f"sites/{file.name}": file for file in listed(root / "config/sites", "*.yaml")}
        if files:
            return {**{file.name: file for file in files}, **sites}
    raise ConfigError(f"the shipped scenarios were not found in {', '.join(map(str, data_roots()))}")


def traced(file: Path) -> Trace:
    """Run a scenario, and return its trace."""
    with MultiRobotSimulationCore.from_dict(quiet(load_mapping(file)), source=str(file)) as sim:
        return trace(sim)


def hindrance(expected: Trace) -> str:
    """Return why a scenario cannot be verified here, empty if it can."""
    here = engine_version()
    if expected.engine and not here:
        return "needs PyBullet"
    if expected.engine != "" and expected.engine != here:
        return f"needs PyBullet {expected.engine}, here is {here}: another version may give other bits"
    return ""


def difference(expected: Trace, found: Trace) -> Difference | None:
    """Return where `found` begins to differ from `expected`, None if it does not."""
    states = [step for step, pair in enumerate(zip_longest(expected.states, found.states), 1) if pair[0] != pair[1]]
    for seen in range(STRIDE, len(expected.states) + STRIDE, STRIDE):
        place = seen // STRIDE - 1
        parts = [
            name
            for name in sorted({*expected.parts, *found.parts})
            if _at(expected.parts, name, place) != _at(found.parts, name, place)
        ]
        early = [step for step in states if step <= seen]
        if early or parts:
            # Readings and collisions are in no state: they are known to differ only until `seen`.
            return Difference(early[0] if early else seen, seen, tuple(parts))
    return None


def _at(parts: Mapping[str, tuple[str, ...]], name: str, place: int) -> str:
    hashes = parts.get(name, ("",))
    return hashes[place] if len(hashes) > 1 else hashes[0]


# ---- the file --------------------------------------------------------------------------------------------------------


def load(file: Path = FILE) -> dict[str, Trace]:
    """Return the traces of the table by scenario; raises ConfigError."""
    try:
        data = json.loads(read_text(file))
        if data["format"] != FORMAT:
            raise ConfigError(f"expected the format {FORMAT!r}, got {data['format']!r}", source=str(file))
        return {
            name: Trace(
                _split(entry["states"]),
                {part: _split(hashes) for part, hashes in entry["parts"].items()},
                entry["pybullet"],
            )
            for name, entry in data["scenarios"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"is no table of hashes: {error}", source=str(file)) from error


def save(traces: Mapping[str, Trace], file: Path = FILE) -> None:
    """Write a table, a line for each part: what changes is seen in a review."""
    scenarios = {
        name: {
            "pybullet": one.engine,
            "states": "".join(one.states),
            "parts": {part: "".join(hashes) for part, hashes in sorted(one.parts.items())},
        }
        for name, one in traces.items()
    }
    text = json.dumps({"format": FORMAT, "scenarios": scenarios}, indent=1)
    write_file(file, text + "\n")


def _split(text: str) -> tuple[str, ...]:
    return tuple(text[start : start + DIGITS] for start in range(0, len(text), DIGITS))
