"""PodShelves: the pods as bodies that stand, and are carried."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fleet_sim.arrays import Floats, Rows
from fleet_sim.core.schema import NO_ROW
from fleet_sim.core.world import World
from fleet_sim.entities.shape_params import ShapeParams
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.entities.spawn_params import SimObjectSpawnParams
from fleet_sim.entities.spawning import spawn_many
from fleet_sim.errors import StateError, UnknownNameError
from fleet_sim.geometry import Pose
from fleet_sim.orders.pods.settings import PodsSettings
from fleet_sim.orders.pods.visit import NO_POD

ROUNDING = 1e-6
"""Heights (m) that differ by less are one."""


class PodShelves:
    """Each pod is an object of its own, above the height of its legs: robots that are lower pass under it."""

    def __init__(self, world: World, settings: PodsSettings, names: Sequence[str], points: Floats) -> None:
        """Put pods at `points` (P, 2) m; raises DuplicateNameError for names of other things."""
        self.names = list(names)
        self._world = world
        length, width, height = settings.size
        self._standing = settings.legs + 0.5 * height
        self._lift = settings.lift
        self.reach = 0.5 * float(np.sqrt(length * length + width * width))
        """Radius in m of a robot that carries one."""
        shape = ShapeParams("box", half_extents=(0.5 * length, 0.5 * width, 0.5 * height), rgba_color=settings.color)
        # Pods stand on legs: the shape is what is above them.
        params = SimObjectSpawnParams(visual_shape=shape, collision_shape=shape, mass=settings.mass)
        positions = np.column_stack((points, np.full(len(points), self._standing)))
        upright = np.tile((0.0, 0.0, 0.0, 1.0), (len(points), 1))
        self.objects: list[SimObject] = spawn_many(world, SimObject, params, positions, upright, self.names)
        self._ids = [pod.object_id for pod in self.objects]
        self._pods = {number: pod for pod, number in enumerate(self._ids)}

    def __len__(self) -> int:
        return len(self._ids)

    def id_of(self, pod: int) -> int:
        """Return the object id of a pod, also of one that is gone."""
        return self._ids[pod]

    def row(self, pod: int) -> int:
        """Return the row of a pod; NO_ROW if it is gone."""
        try:
            return self._world.index.row_of(self._ids[pod])
        except UnknownNameError:
            return NO_ROW

    def pods_in(self, rows: Rows) -> list[int]:
        """Return the pods in `rows`."""
        found = (self._pods.get(number, NO_POD) for number in self._world.object_id[rows].tolist())
        return [pod for pod in found if pod != NO_POD]

    def carried_by(self, pod: int) -> int:
        """Return the row of who carries a pod; NO_ROW if nobody does."""
        row = self.row(pod)
        return NO_ROW if row == NO_ROW else int(self._world.parent[row])

    def is_at(self, pod: int, point: Sequence[float]) -> bool:
        """Return whether a pod stands at `point` in m, as nobody has moved it by hand."""
        row = self.row(pod)
        if row == NO_ROW or self._world.parent[row] != NO_ROW:
            return False
        # Within half of its own size: it may have been pushed a little.
        return bool(np.abs(self._world.position[row, :2] - np.asarray(point)).max() < self.reach)

    def point_of(self, pod: int) -> Floats | None:
        """Return where a pod is (2,) in m; None if it is gone."""
        row = self.row(pod)
        return None if row == NO_ROW else self._world.position[row, :2].copy()

    def raise_onto(self, pod: int, robot: int) -> None:
        """Let the robot in row `robot`, which is under a pod, carry it; raises StateError where it cannot."""
        world, body = self._world, self.objects[pod]
        pose = body.get_pose()
        x, y, z = pose.position
        # Lifted before it is attached, as it keeps the pose that it has then.
        body.set_pose(Pose((x, y, z + self._lift), pose.orientation))
        if not world.handles[robot].attach_object(body, keep_world_pose=True):
            body.set_pose(pose)
            raise StateError(f"pod {self.names[pod]!r} cannot be lifted: something else holds it")

    def leave(self, pod: int, robot: int) -> None:
        """Put a pod down where it is that the robot in row `robot` carries, or did until just now."""
        self.lower(pod, robot)
        row, body = self.row(pod), self.objects[pod]
        if row == NO_ROW or self._world.parent[row] != NO_ROW:
            return
        x, y, z = (pose := body.get_pose()).position
        # A robot that is being removed has let go of it already, in the air.
        if abs(z - self._standing - self._lift) < ROUNDING:
            body.set_pose(Pose((x, y, self._standing), pose.orientation))

    def lower(self, pod: int, robot: int, point: Sequence[float] | None = None) -> None:
        """Put a pod down at `point` in m, or where it is, if the robot in row `robot` carries it."""
        row = self.row(pod)
        # Somebody else may have taken it.
        if row == NO_ROW or int(self._world.parent[row]) != robot:
            return
        body = self.objects[pod]
        pose = body.get_pose()
        x, y = pose.position[:2] if point is None else point
        self._world.handles[robot].detach_object(body, drop_pose=Pose((x, y, self._standing), pose.orientation))
