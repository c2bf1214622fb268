"""Queries of PyBullet: its own functions, through a handle that is always up to date, and queries by row."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from fleet_sim.arrays import Floats, Rows, as_float
from fleet_sim.bullet.client import NO_BODY
from fleet_sim.bullet.filter_calls import FILTER_CALLS
from fleet_sim.bullet.mirror import BulletMirror
from fleet_sim.bullet.models import inertial_frame
from fleet_sim.bullet.own_shapes import PARAMETERS
from fleet_sim.bullet.takeover import TAKEN_OVER, body_of, check_steppable
from fleet_sim.core.contacts import Contact, Vector
from fleet_sim.core.schema import NO_ROW
from fleet_sim.core.shapes import BodyShape
from fleet_sim.errors import InvalidValueError, StateError
from fleet_sim.spatial.shapes import ShapeKind

# Functions that do not depend on bodies: they must not cost a flush.
_PURE_PREFIXES = ("compute", "getQuaternion", "getEuler", "getMatrix", "getAxisAngle", "getDifference")
_PURE = frozenset({"multiplyTransforms", "invertTransform", "rotateVector", "calculateVelocityQuaternion",
                   "getAPIVersion", "isNumpyEnabled", "isConnected", "getConnectionInfo", "getKeyboardEvents",
                   "getMouseEvents", "getDebugVisualizerCamera", "resetDebugVisualizerCamera", "setGravity",
                   "configureDebugVisualizer", "setAdditionalSearchPath", "setTimeStep"})  # fmt: skip


_EMPTY_IT = (
    "it would empty the engine behind the simulation's back; use sim.clear() to begin anew, sim.reset() to go back"
)
_OURS = {
    "reset": _EMPTY_IT,
    "resetSimulation": _EMPTY_IT,
    "close": "use sim.close()",
    "disconnect": "use sim.close()",
    "setRealTimeSimulation": "the engine would run apart from the simulation's time; use sim.run_simulation()",
    "setJointMotorControl": "it takes no client; use setJointMotorControl2()",
    "connect": "it is connected when it is first needed; use sim.setup_pybullet()",
}
_FORCES = {
    "applyExternalForce": True,
    "applyExternalTorque": True,
    "setJointMotorControl2": False,
    "setJointMotorControlArray": False,
}
"""Functions whose effect the engine forgets after each of its own steps: always, or with TORQUE_CONTROL only."""


_POSE, _JOINTS = "set_pose()", "set_joint_target() or set_joints_targets()"
_PUSH = "set_velocity() or set_pose(), as forces move only what has a mass, with physics on"
_WRITES = {
    "removeBody": "sim.remove_object()",
    "resetBasePositionAndOrientation": _POSE,
    "resetBaseVelocity": "set_velocity()",
    "resetJointState": _JOINTS,
    "resetJointStateMultiDof": _JOINTS,
    "resetJointStatesMultiDof": _JOINTS,
    "setJointMotorControl2": _JOINTS,
    "setJointMotorControlArray": _JOINTS,
    "setJointMotorControlMultiDof": _JOINTS,
    "setJointMotorControlMultiDofArray": _JOINTS,
    "applyExternalForce": _PUSH,
    "applyExternalTorque": _PUSH,
}
"""Functions that change a body, and what changes a kinematic entity: its state is in the columns."""


class BulletHandle:
    """All of pybullet, bound to one simulation: `sim.bullet.rayTest(start, end)`.

    Each call first updates PyBullet, so it sees the poses of the columns; in phase 1 of a step, those at the end of the
    last step. The columns are authoritative: what would change a kinematic entity in PyBullet alone raises StateError,
    and so does removing the body of any entity.
    """

    def __init__(self, mirror: BulletMirror, owner: object = None) -> None:
        """`owner` is the simulation."""
        self._mirror = mirror
        self._owner = owner
        self._calls: dict[str, Callable[..., Any]] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in _OURS:
            # An AttributeError, so that asking whether there is such a name is answered with no.
            raise AttributeError(f"sim.bullet has no {name}(): {_OURS[name]}")
        value = getattr(self._mirror.client, name)
        self._mirror.called_by_user = True
        # Classes are given as they are: `except sim.bullet.error` needs the class itself.
        if not callable(value) or isinstance(value, type) or _is_pure(name):
            return value
        call = self._calls.get(name)
        if call is None:
            call = self._calls[name] = _kind_of(name)(self._mirror, name)
        return call

    @property
    def owner(self) -> object:
        """The simulation whose world this is."""
        return self._owner

    def set_rendering(self, on: bool) -> None:
        """Switch drawing of the window on or off; without a window it has no effect."""
        self._mirror.client.set_rendering(on)

    def __dir__(self) -> list[str]:
        return sorted(set(dir(self._mirror.client.module)))


class _Ensured:
    """A pybullet function that flushes first."""

    def __init__(self, mirror: BulletMirror, name: str) -> None:
        self._mirror = mirror
        self.__name__ = name
        self.__doc__ = getattr(mirror.client.module, name, None).__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._mirror.ensure()
        return getattr(self._mirror.client, self.__name__)(*args, **kwargs)


class _Writing(_Ensured):
    """A function that changes a body: refused where the next write from the columns would undo it, without a word."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        body = body_of(args, kwargs)
        self._check(body)
        if self.__name__ == "removeBody":
            self._mirror.own_shapes.forget(body)
            self._mirror.detached.forget(body)
        return super().__call__(*args, **kwargs)

    def _check(self, body: object) -> None:
        instead = _WRITES.get(self.__name__)
        row = int(self._mirror.rows_of_bodies([body])[0]) if isinstance(body, int) else NO_ROW
        world = self._mirror.world
        if instead is None or row == NO_ROW or (world.dynamic[row] and self.__name__ != "removeBody"):
            return
        raise StateError(
            f"sim.bullet.{self.__name__}: PyBullet's body {int(str(body))} is {world.label(row)!r}, whose state is in "
            f"fleet_sim's columns, from which PyBullet is written; use {instead}"
        )


class _TakenOver(_Ensured):
    """A function that sets what the columns hold too: of an entity it is set there, from where PyBullet has it."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        body = body_of(args, kwargs)
        row = int(self._mirror.rows_of_bodies([body])[0]) if isinstance(body, int) else NO_ROW
        if row == NO_ROW:
            return super().__call__(*args, **kwargs)
        return TAKEN_OVER[self.__name__](self._mirror, row, args, kwargs)


class _Stepping(_Ensured):
    """The step of the engine alone: refused where it would move entities."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        check_steppable(self._mirror)
        return super().__call__(*args, **kwargs)


class _Making(_Ensured):
    """A function that makes a shape or a body of the user's own, which is remembered, as PyBullet does not tell it."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        made = super().__call__(*args, **kwargs)
        self._mirror.own_shapes.remember(self.__name__, args, kwargs, made)
        return made


class _Lasting(_Writing):
    """A function that pushes: until the end of the next step, of which the engine makes several of its own.

    The engine forgets forces and torques after each of its own steps.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        result = super().__call__(*args, **kwargs)
        client = self._mirror.client
        mode = kwargs.get("controlMode", args[2] if len(args) > 2 else None)
        if _FORCES[self.__name__] or mode == client.TORQUE_CONTROL:
            self._mirror.forces.add(partial(getattr(client, self.__name__), *args, **kwargs))
        return result


class _Filtering(_Ensured):
    """A function that sets who collides: for entities it sets what fleet_sim's own checks follow too."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not FILTER_CALLS[self.__name__](self._mirror, *args, **kwargs):
            return super().__call__(*args, **kwargs)


def _kind_of(name: str) -> type[_Ensured]:
    """Return the class of the calls of pybullet's function `name`."""
    if name in FILTER_CALLS:
        return _Filtering
    if name in TAKEN_OVER:
        return _TakenOver
    if name == "stepSimulation":
        return _Stepping
    if name in PARAMETERS:
        return _Making
    return _Lasting if name in _FORCES else _Writing if name in _WRITES else _Ensured


class BulletQueries:
    """Queries by row; only the queried rows get bodies and are written."""

    def __init__(self, mirror: BulletMirror) -> None:
        self.mirror = mirror
        self.world = mirror.world
        self._bounds: dict[int, tuple[Floats, Floats]] = {}

    def closest_distances(self, pairs: Rows, limit: float) -> Floats:
        """Return the distance in m of each pair of rows (M, 2) -> (M,), negative where they overlap.

        Infinite if they are farther apart than `limit` or have no collision shape. All links of models are included.
        """
        pairs = np.asarray(pairs, np.int64).reshape(-1, 2)
        distances = np.full(len(pairs), np.inf)
        if not len(pairs):
            return distances
        limit = as_float(limit, "limit", low=0.0)
        self.mirror.ensure(np.unique(pairs))
        ask = self.mirror.client.getClosestPoints
        bodies = self.mirror.bodies.table.body[pairs].tolist()
        for index, (first, second) in enumerate(bodies):
            # Entry 8 of a point is the distance; a body of several links has several points.
            points = ask(first, second, limit)
            if points:
                distances[index] = min(point[8] for point in points)
        return distances

    def aabbs(self, rows: Rows) -> tuple[Floats, Floats]:
        """Return the world boxes (N, 3), (N, 3) around all links of `rows`; a body without shape is a point."""
        rows = np.asarray(rows, np.int64)
        self.mirror.ensure(rows)
        boxes = [self._aabb(body) for body in self.mirror.bodies.table.body[rows].tolist()]
        lower = np.array([box[0] for box in boxes], np.float64).reshape(-1, 3)
        upper = np.array([box[1] for box in boxes], np.float64).reshape(-1, 3)
        return lower, upper

    def contacts(self, row: int) -> list[Contact]:
        """Return the contact points of the entity in `row` in the last step of physics, in the engine's order."""
        mirror = self.mirror
        body = int(mirror.bodies.table.body[row])
        if body == NO_BODY or not mirror.client.connected:
            return []
        # Without `ensure`: these are the contacts of the last step, whatever was written since.
        points = mirror.client.getContactPoints(bodyA=body) or ()
        rows = mirror.rows_of_bodies([point[2] for point in points]).tolist()
        others = [None if row < 0 else self.world.handles[row] for row in rows]
        return [
            Contact(other, point[3], point[4], point[6], point[7], point[8], point[9], _friction(point))
            for other, point in zip(others, points, strict=True)
        ]

    def local_bounds(self, shape_id: int) -> tuple[Floats, Floats]:
        """Return centre and half extents (3,), (3,) of the box around a shape's collision geometry, in the body frame.

        A model is measured with all links, its joints at zero. Raises InvalidValueError for unusable files and for
        planes, which are unbounded.
        """
        known = self._bounds.get(shape_id)
        if known is None:
            known = self._bounds[shape_id] = self._measure(self.world.shapes[shape_id])
        # Copies: the cached arrays serve all bodies of this shape.
        return known[0].copy(), known[1].copy()

    def body_bounds(self, row: int) -> tuple[Floats, Floats]:
        """Return centre and half extents (3,), (3,) of the body of `row` in its body frame, at present joint values.

        For bodies the user made and registered. The body is rotated upright for the measurement and put back.
        """
        self.mirror.ensure(np.array([row], np.int64))
        return self._measure_body(int(self.mirror.bodies.table.body[row]))

    def _measure(self, shape: BodyShape) -> tuple[Floats, Floats]:
        if shape.collision is not None and shape.collision.kind == ShapeKind.PLANE:
            raise InvalidValueError("a plane is unbounded and has no bounds; query a finite shape")
        bodies = self.mirror.bodies
        body = bodies.create_loose(shape)
        try:
            return self._measure_body(body)
        finally:
            bodies.remove_loose(body)

    def _measure_body(self, body: int) -> tuple[Floats, Floats]:
        client = self.mirror.client
        pose = client.getBasePositionAndOrientation(body)
        # Writing a pose also stops a body, so its velocity is put back as well.
        twist = client.getBaseVelocity(body)
        com_position, com_orientation = inertial_frame(client, body)
        # With the centre of mass at its offset, the base frame is at the origin and the box is in that frame.
        client.resetBasePositionAndOrientation(body, com_position.tolist(), com_orientation.tolist())
        lower, upper = (np.array(corner) for corner in self._aabb(body))
        client.resetBasePositionAndOrientation(body, *pose)
        client.resetBaseVelocity(body, *twist)
        return 0.5 * (lower + upper), 0.5 * (upper - lower)

    def _aabb(self, body: int) -> tuple[list[float], list[float]]:
        client = self.mirror.client
        boxes = [client.getAABB(body, link) for link in range(-1, client.getNumJoints(body))]
        # What does not collide has the box of a point. Asking for shapes would miss height fields.
        boxes = [box for box in boxes if box[0] != box[1]]
        if not boxes:
            point = list(client.getBasePositionAndOrientation(body)[0])
            return point, point
        lower = [min(box[0][axis] for box in boxes) for axis in range(3)]
        upper = [max(box[1][axis] for box in boxes) for axis in range(3)]
        return lower, upper


def _friction(point: Any) -> Vector:
    """Return the friction force (along the surface) of a PyBullet contact point."""
    first, first_way, second, second_way = point[10:14]
    x, y, z = (first * a + second * b for a, b in zip(first_way, second_way, strict=True))
    return x, y, z


def _is_pure(name: str) -> bool:
    return name in _PURE or name.startswith(_PURE_PREFIXES)
