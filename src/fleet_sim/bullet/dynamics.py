"""Dynamics of bodies: materials of the columns, and what users set of bodies with PyBullet's own functions.

Both are written again when a body is created again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from fleet_sim.arrays import Bools, Ints, Rows
from fleet_sim.bullet.client import BulletClient
from fleet_sim.core.world import World

MATERIAL = {
    "friction": "lateralFriction",
    "rolling_friction": "rollingFriction",
    "restitution": "restitution",
    "linear_damping": "linearDamping",
    "angular_damping": "angularDamping",
}
"""Columns of materials, and their names in changeDynamics."""

DYNAMICS, SENSORS, MOTORS = "changeDynamics", "enableJointForceTorqueSensor", "motors"
"""What is kept of a link or joint: arguments of these functions, and of the last command of a motor."""

FLOOR = -1
"""Stands for the floor where settings are kept: entities have their object ids, own bodies lower numbers."""

Kept = dict[int, dict[tuple[str, int], dict[str, Any]]]
"""Settings by whose they are, then by what they are and the link or joint."""


def own(body: int) -> int:
    """Return under what number settings of a body of the user's own are kept."""
    return FLOOR - 1 - body


def body_of_own(subject: int) -> int:
    """Return the body of `own(body)`."""
    return FLOOR - 1 - subject


class BodyDynamics:
    """Writes materials to bodies, and keeps what users set, by entity and link."""

    def __init__(self, world: World, client: BulletClient, bodies: Callable[[], tuple[Ints, Bools]]) -> None:
        """`bodies` returns the columns of body ids and of those that were loaded from a model file."""
        self._world = world
        self._client = client
        self._bodies = bodies
        self._kept: Kept = {}
        # By object id: the row of a removed entity is another one's later.
        world.on_remove.append(self._removed)

    def refresh(self, rows: Rows, *, made: bool = False) -> None:
        """Write changed materials of `rows`, which must have bodies; dampings of joints are separate.

        Where the bodies were `made` just now, what was kept is written over them.
        """
        material = self._world.material
        changed = rows[material.behind[rows]]
        if len(changed):
            material.behind[changed] = False
            self._write(changed, made)
        if made and self._kept:
            bodies, _ = self._bodies()
            for row in rows.tolist():
                self._write_kept(int(self._world.object_id[row]), int(bodies[row]))

    def write_floor(self) -> None:
        """Write what was kept of the floor, which is new."""
        self._write_kept(FLOOR, self._client.floor_id)

    def _write_kept(self, subject: int, body: int) -> None:
        for (function, link), values in self.kept_of(subject).items():
            if function != MOTORS:
                getattr(self._client, function)(body, link, **values)

    def _write(self, rows: Rows, made: bool) -> None:
        """Give the materials in the columns of `rows` to all links of their bodies; negative values mean PyBullet's.

        For rows that were not just made, what was kept of their earlier values is forgotten, so that the columns win.
        """
        material, client = self._world.material, self._client
        bodies, models = self._bodies()
        values = np.stack([getattr(material, name)[rows] for name in MATERIAL], axis=1)
        for index in np.flatnonzero((values >= 0.0).any(axis=1)).tolist():
            row, body = int(rows[index]), int(bodies[rows[index]])
            given = zip(MATERIAL.values(), values[index].tolist(), strict=True)
            options = {option: value for option, value in given if value >= 0.0}
            for link in range(-1, client.getNumJoints(body) if models[row] else 0):
                client.changeDynamics(body, link, **options)
            if not made:
                # The columns are newer than what was kept.
                for (function, _), kept in self.kept_of(int(self._world.object_id[row])).items():
                    for name in options if function == DYNAMICS else ():
                        kept.pop(name, None)

    # ---- what is kept ------------------------------------------------------------------------------------------------

    @property
    def kept(self) -> Kept:
        """What users set, as a copy."""
        return {
            subject: {place: dict(values) for place, values in settings.items()}
            for subject, settings in self._kept.items()
        }

    def take(self, kept: Kept) -> None:
        """Keep what `kept` returned, for bodies that are made from now on."""
        self._kept = kept

    def keep(self, subject: int, link: int, values: Mapping[str, Any], what: str = DYNAMICS) -> None:
        """Keep `values` of a link or joint; those of dynamics are added to what was given before."""
        settings = self._kept.setdefault(subject, {})
        before = settings.get((what, link), {}) if what == DYNAMICS else {}
        settings[what, link] = {**before, **values}

    def kept_of(self, subject: int) -> dict[tuple[str, int], dict[str, Any]]:
        """Return what is kept of an entity, the floor or an own body."""
        return self._kept.get(subject, {})

    def motor(self, row: int, joint: int) -> Mapping[str, Any]:
        """Return the command that the user gave a motor of an entity with PyBullet's own functions."""
        return self.kept_of(int(self._world.object_id[row]))[MOTORS, joint]

    def forget(self, subject: int) -> None:
        """Forget what was kept of a body that is gone."""
        self._kept.pop(subject, None)

    def forget_own(self) -> None:
        """Forget what was kept of own bodies: the engine was emptied."""
        self._kept = {subject: settings for subject, settings in self._kept.items() if subject >= FLOOR}

    def _removed(self, rows: Rows) -> None:
        for object_id in self._world.object_id[rows].tolist() if self._kept else ():
            self.forget(object_id)
