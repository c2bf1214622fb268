"""Dynamics of bodies: materials of the columns, and what users set with changeDynamics.

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


class BodyDynamics:
    """Writes materials to bodies, and keeps arguments of changeDynamics by entity and link."""

    def __init__(self, world: World, client: BulletClient, bodies: Callable[[], tuple[Ints, Bools]]) -> None:
        """`bodies` returns the columns of body ids and of those that were loaded from a model file."""
        self._world = world
        self._client = client
        self._bodies = bodies
        self._kept: dict[int, dict[int, dict[str, Any]]] = {}
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
                for link, kept in self._of(row).items():
                    self._client.changeDynamics(int(bodies[row]), link, **kept)

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
                for kept in self._of(row).values():
                    for name in options:
                        kept.pop(name, None)

    @property
    def kept(self) -> dict[int, dict[int, dict[str, Any]]]:
        """What users set, by object id and link."""
        return {entity: {link: dict(values) for link, values in links.items()} for entity, links in self._kept.items()}

    def take(self, kept: dict[int, dict[int, dict[str, Any]]]) -> None:
        """Keep what `kept` returned, for bodies that are made from now on."""
        self._kept = kept

    def keep(self, row: int, link: int, values: Mapping[str, Any]) -> None:
        """Keep `values` of a link of the entity in `row`, over those given before."""
        links = self._kept.setdefault(int(self._world.object_id[row]), {})
        links[link] = {**links.get(link, {}), **values}

    def _of(self, row: int) -> dict[int, dict[str, Any]]:
        return self._kept.get(int(self._world.object_id[row]), {})

    def _removed(self, rows: Rows) -> None:
        for object_id in self._world.object_id[rows].tolist() if self._kept else ():
            self._kept.pop(object_id, None)
