"""The trace of a run: a hash of the state after each step, and of each of its parts at times."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from fleet_sim.config.scenario import as_scenario
from fleet_sim.core.hashing import column_hashes
from fleet_sim.sensors.sensor import Reading, Sensor
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.verification.errand import send_idle_robots

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
