"""RecordParams: the settings of a recording."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fleet_sim.config.ros_names import FRAME_SCHEMA, NAMESPACE_SCHEMA, read_frame, read_namespace
from fleet_sim.settings import Checked, setting

OnFull = Literal["wait", "drop"]
PATH_PERIOD = 500_000_000
"""In ns of simulated time, between two looks at the paths."""


@dataclass(frozen=True)
class RecordParams(Checked):
    """What a recording holds, and what it does when writing is slower than the run. Checked when constructed."""

    rate: float | None = setting(
        10.0, above=0, unit="Hz", doc="Samples per simulated second, at most one per step; null: at each step."
    )
    on_full: OnFull = setting(
        "wait", doc="Where writing is too slow: the run waits, or samples are dropped and counted."
    )
    sensors: tuple[str, ...] = setting(
        (), doc="Kinds of sensors whose readings are recorded: camera, imu, lidar, odometry; or all alone."
    )
    map_frame: str = setting("map", reader=read_frame, schema=FRAME_SCHEMA, doc="Name of the fixed frame.")
    namespace: str = setting(
        "/",
        reader=read_namespace,
        schema=NAMESPACE_SCHEMA,
        doc="What the names of frames begin with, as those of a node in a namespace do.",
    )
