"""All columns of the core: their content, unit, frame and writers.

Read this file first to learn what state a simulation has. Feature packages declare their own tables in the same way
and add them with `World.add_table`. The colors given at run time and the log level are here, too.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np

from fleet_sim.base.arrays import AnyArray, Bools, Bytes, Floats, Ints, Rows
from fleet_sim.base.errors import InvalidValueError, did_you_mean
from fleet_sim.world.columns import ColumnTable, column

UNIT_QUATERNION = (0.0, 0.0, 0.0, 1.0)
NO_ROW = -1

KIND_OBJECT, KIND_AGENT, KIND_STATIC_BODY = 0, 1, 2


class BodyColumns(ColumnTable):
    """Columns of every entity: identity, pose, velocity, shape, attachment."""

    version: int = 0
    """Increases with every spawn, removal and rename; caches of entities or names compare it."""

    alive: Bools = column(bool, writer="World.allocate, World.release", doc="row is in use", hashed=False)
    generation: Ints = column(np.int64, writer="World.release", doc="times the row was freed", hashed=False)
    object_id: Ints = column(
        np.int64, default=-1, writer="World.allocate", doc="unique, in order of spawning", hashed=False
    )
    kind: Bytes = column(np.uint8, writer="spawning", doc="KIND_OBJECT, KIND_AGENT or KIND_STATIC_BODY")

    position: Floats = column(float, (3,), unit="m", frame="world", writer="motion, set_pose, physics")
    orientation: Floats = column(
        float, (4,), default=UNIT_QUATERNION, frame="world", writer="motion, set_pose, physics", doc="unit, xyzw"
    )
    velocity: Floats = column(float, (3,), unit="m/s", frame="world", writer="motion, physics")
    angular_velocity: Floats = column(float, (3,), unit="rad/s", frame="world", writer="motion, physics")

    mass: Floats = column(float, unit="kg", writer="spawning", doc="0: kinematic")
    dynamic: Bools = column(bool, writer="spawning", doc="moved by the physics engine, read back after it")
    pickable: Bools = column(bool, writer="spawning, user")

    shape_id: Ints = column(np.int64, default=-1, writer="spawning", doc="index in World.shapes", hashed=False)
    shape_kind: Bytes = column(np.uint8, writer="spawning", doc="collision shape, a spatial.shapes.ShapeKind")
    half_extents: Floats = column(float, (3,), unit="m", frame="collision shape", writer="spawning")
    radius: Floats = column(float, unit="m", writer="spawning", doc="of spheres, cylinders, capsules")
    shape_position: Floats = column(
        float, (3,), unit="m", frame="body", writer="spawning", doc="collision shape's origin"
    )
    shape_orientation: Floats = column(float, (4,), default=UNIT_QUATERNION, frame="body", writer="spawning")
    shape_centred: Bools = column(bool, default=True, writer="spawning", doc="collision shape sits on the body frame")

    collision_mode: Bytes = column(np.uint8, writer="set_collision_mode", doc="code of a CollisionMode")
    collision_group: Ints = column(np.int64, default=1, writer="spawning, set_collision_filter", doc="bits: in these")
    collision_mask: Ints = column(np.int64, default=-1, writer="spawning, set_collision_filter", doc="bits: of others")
    block_on_collision: Bools = column(bool, writer="spawning, user", doc="stops before it would hit something")
    aabb_lower: Floats = column(float, (3,), unit="m", frame="world", writer="bounds system", hashed=False)
    aabb_upper: Floats = column(float, (3,), unit="m", frame="world", writer="bounds system", hashed=False)

    parent: Ints = column(np.int64, default=NO_ROW, writer="attach, detach", reference=True, doc="carried by")
    parent_link: Ints = column(np.int64, default=-1, writer="attach", doc="link of the parent, -1: base", lazy=True)
    attach_position: Floats = column(float, (3,), unit="m", frame="parent link", writer="attach", lazy=True)
    attach_orientation: Floats = column(
        float, (4,), default=UNIT_QUATERNION, frame="parent link", writer="attach", lazy=True
    )

    parting_from: Ints = column(
        np.int64,
        default=NO_ROW,
        writer="detach",
        reference=True,
        doc="was put down by it, into it: they pass through each other until they are apart",
        lazy=True,
        hashed=False,
    )

    # What was written since the engine, the bounds and others have looked.
    moved: Bools = column(bool, writer="whoever writes a pose", doc="pose changed in this step", hashed=False)
    bullet_behind: Bools = column(bool, writer="whoever writes a pose", doc="PyBullet has an older pose", hashed=False)
    bounds_behind: Bools = column(bool, writer="whoever writes a pose", doc="AABB is of an older pose", hashed=False)


class MaterialColumns(ColumnTable):
    """Material of a body in the physics engine, besides its mass; -1: the value of its description or of the engine."""

    on_demand = True

    friction: Floats = column(float, default=-1.0, writer="spawning, set_material", doc="lateral, of all its links")
    rolling_friction: Floats = column(float, default=-1.0, writer="spawning, set_material", doc="of all its links")
    restitution: Floats = column(float, default=-1.0, writer="spawning, set_material", doc="0 dull, 1 bounces back")
    linear_damping: Floats = column(float, default=-1.0, unit="1/s", writer="spawning, set_material")
    angular_damping: Floats = column(float, default=-1.0, unit="1/s", writer="spawning, set_material")
    behind: Bools = column(bool, writer="set_material", doc="PyBullet has older values", hashed=False)


class MotionColumns(ColumnTable):
    """Motion of agents: limits, commands, and their progress."""

    law: Bytes = column(
        np.uint8, law=True, writer="spawning, set_motion_mode", doc="index in the names of the laws; 0: immobile"
    )
    control: Bytes = column(np.uint8, writer="set_goal, set_velocity, motion", doc="code of a ControllerMode")
    direction: Bytes = column(np.uint8, writer="set_path", doc="code of the MovementDirection in use")
    default_direction: Bytes = column(np.uint8, writer="spawning", doc="MovementDirection when none is given")
    planar: Bools = column(bool, writer="spawning", doc="goals keep the robot's height, roll and pitch")
    whole_steps: Bools = column(
        bool, hashed=False, writer="spawning", doc="what blocks it holds it where its step began, as it follows a curve"
    )

    # Limits per axis and of the norm: both hold.
    linear_limits: Floats = column(float, (3,), default=np.inf, unit="m/s", frame="body", writer="spawning")
    linear_limit: Floats = column(float, default=np.inf, unit="m/s", writer="spawning", doc="limit of the norm")
    linear_accels: Floats = column(float, (3,), default=np.inf, unit="m/s2", frame="body", writer="spawning")
    linear_accel: Floats = column(float, default=np.inf, unit="m/s2", writer="spawning", doc="limit of the norm")
    angular_limits: Floats = column(float, (3,), default=np.inf, unit="rad/s", frame="body", writer="spawning")
    angular_limit: Floats = column(float, default=np.inf, unit="rad/s", writer="spawning", doc="limit of the norm")
    angular_accels: Floats = column(float, (3,), default=np.inf, unit="rad/s2", frame="body", writer="spawning")
    angular_accel: Floats = column(float, default=np.inf, unit="rad/s2", writer="spawning", doc="limit of the norm")

    axis_limited: Bools = column(bool, writer="give_limits", doc="some limit above is per axis")

    # Paths are stretches of one pool of waypoints.
    path_start: Ints = column(np.int64, writer="set_path", doc="first waypoint in World.waypoints", hashed=False)
    path_length: Ints = column(np.int64, writer="set_path", doc="number of waypoints, 0: no path")
    waypoint: Ints = column(np.int64, writer="set_path, motion", doc="index in the path of the current waypoint")
    path_fresh: Bools = column(bool, writer="set_path", doc="path not yet prepared by its motion law")
    align_final: Bools = column(bool, writer="set_path", doc="take the last waypoint's orientation too")
    tolerance: Floats = column(float, unit="m", writer="set_path", doc="0: arrive exactly")
    phase: Bytes = column(np.uint8, writer="motion", doc="code of a PosePhase (differential drive)")
    reverse: Bools = column(bool, writer="motion", doc="drives backwards at present (differential drive)")
    turning: Bools = column(
        bool, writer="motion", doc="still has to turn: to the last waypoint's orientation, or to rest"
    )
    reached: Bools = column(bool, writer="set_path, motion", doc="the last goal given was reached")

    command_linear: Floats = column(float, (3,), unit="m/s", frame="body", writer="set_velocity")
    command_angular: Floats = column(float, (3,), unit="rad/s", frame="body", writer="set_velocity")
    avoidance: Floats = column(float, unit="s", writer="spawning", doc="time horizon of avoidance; 0: no avoidance")
    leaving: Ints = column(
        np.int64, default=-1, hashed=False, writer="avoidance", doc="number of the draw by which it leaves a place"
    )
    command_timeout: Floats = column(float, unit="s", writer="spawning", doc="0: commands do not expire")
    command_expiry: Ints = column(np.int64, default=-1, unit="tick", writer="set_velocity", doc="-1: never")
    body_linear: Floats = column(float, (3,), unit="m/s", frame="body", writer="motion", doc="current twist")
    body_angular: Floats = column(float, (3,), unit="rad/s", frame="body", writer="motion", doc="current twist")
    blocked_by: Ints = column(np.int64, default=NO_ROW, writer="blocking", reference=True, doc="stands before it")
    blocked_since: Floats = column(
        float,
        default=np.inf,
        unit="s",
        hashed=False,
        writer="blocking",
        doc="a static body stands before it from then on",
    )
    blocked_timeout: Floats = column(
        float, default=np.inf, unit="s", hashed=False, writer="set_path", doc="it gives its goal up after so long"
    )


Rgba = tuple[float, float, float, float]


class LookColumns(ColumnTable):
    """Colors given at run time, red, green, blue and opacity from 0 to 1; -1: as the shape or description says."""

    on_demand = True

    rgba: Floats = column(float, (4,), default=-1.0, writer="set_color", doc="of the whole entity", hashed=False)
    links: AnyArray = column(
        object, default=None, writer="set_color", doc="a mapping of link to color, before `rgba`", hashed=False
    )
    behind: Bools = column(bool, writer="set_color", doc="PyBullet has older colors", hashed=False)

    def __init__(self, capacity: int = 64) -> None:
        super().__init__(capacity)
        self.version = 0
        """Increases with every change of a color; caches of pictures compare it."""

    def paint(self, row: int, rgba: Rgba | None, link: int | None) -> None:
        """Give `row`, or one link of it, a color; None takes back what was given.

        A color of the whole replaces those of its links.
        """
        self.use()
        if link is None:
            self.rgba[row] = -1.0 if rgba is None else rgba
            self.links[row] = None
        else:
            # A new mapping: checkpoints keep the old one.
            given: dict[int, Rgba] = dict(self.links[row] or {})
            given.pop(link, None)
            self.links[row] = (given if rgba is None else {**given, link: rgba}) or None
        self.behind[row] = True
        self.version += 1

    def colors(self, rows: Rows, links: Ints) -> Floats:
        """Return the color (N, 4) given to each of `links` (N,) of `rows` (N,); -1 where none was given."""
        return colors_given(self.rgba, self.links, rows, links)

    def painted_mask(self, rows: Rows) -> Bools:
        """Return which of `rows` have a color given, or a link with one."""
        mask: Bools = (self.rgba[rows, 0] >= 0.0) | _given_mask(self.links[rows])
        return mask

    def restore_arrays(self, arrays: dict[str, Any]) -> None:
        """Restore arrays from `copy_arrays`; PyBullet has to be told."""
        super().restore_arrays(arrays)
        if self.in_use:
            self.behind[:] = True
        self.version += 1


def colors_given(rgba: Floats, link_rgba: AnyArray, rows: Rows, links: Ints) -> Floats:
    """Return the color (N, 4) of each of `links` (N,) of `rows` (N,), from columns of LookColumns; -1: none given."""
    found = rgba[rows]
    special = link_rgba[rows]
    for index in np.flatnonzero(_given_mask(special)).tolist():
        given: Mapping[int, Rgba] = special[index]
        found[index] = given.get(int(links[index]), found[index])
    return found


def _given_mask(entries: AnyArray) -> Bools:
    # Compared with None, as an empty mapping is never kept.
    mask: Bools = np.asarray(entries != None, np.bool_)  # noqa: E711
    return mask


# The log level of fleet_sim.


LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
}


class LogLevelManager:
    """Sets the level of the package's logger `fleet_sim`; other loggers are not changed."""

    @staticmethod
    def set_log_level(level: str) -> None:
        """Log from `level` on: debug, info, warn, error or critical. Raises InvalidValueError."""
        if level not in LEVELS:
            raise InvalidValueError(f"log level: unknown level {level!r}.{did_you_mean(str(level), LEVELS)}")
        logging.getLogger("fleet_sim").setLevel(LEVELS[level])
