"""PyBullet's own functions, through a handle that is always up to date and refuses what the columns would undo."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import StateError
from fleet_sim.base.files import is_file
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.engines.bullet.calls import RULES, BulletCall
from fleet_sim.engines.bullet.client import NO_BODY, BulletClient
from fleet_sim.engines.bullet.mirror import BulletMirror
from fleet_sim.engines.bullet.shapes import PARAMETERS as OWN_SHAPES
from fleet_sim.engines.bullet.shapes import simple_geometry
from fleet_sim.models.meshes.formats import FORMATS
from fleet_sim.models.profile import model_of_body
from fleet_sim.world.shapes import BASE, Geometry, LinkGeometry, RobotModel

# Functions that do not depend on bodies: they must not cost a flush.
_PURE_PREFIXES = ("compute", "getQuaternion", "getEuler", "getMatrix", "getAxisAngle", "getDifference")

_PURE = frozenset({"multiplyTransforms", "invertTransform", "rotateVector", "calculateVelocityQuaternion",
                   "getAPIVersion", "isNumpyEnabled", "isConnected", "getConnectionInfo", "getKeyboardEvents",
                   "getMouseEvents", "getDebugVisualizerCamera", "resetDebugVisualizerCamera",
                   "configureDebugVisualizer", "setAdditionalSearchPath"})  # fmt: skip

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
        """Return a function or constant of PyBullet, bound to the mirror's client and with its writes taken over.

        Raises AttributeError for names that only fleet_sim may call, with what to use in their place, and StateError
        once the mirror is closed.
        """
        # copy and pickle ask for such names before there is a mirror to ask.
        if name.startswith("_"):
            raise AttributeError(name)
        if name in _OURS:
            # An AttributeError, so that asking whether there is such a name is answered with no.
            raise AttributeError(f"sim.bullet has no {name}(): {_OURS[name]}")
        self._mirror.check_open()
        value = getattr(self._mirror.client, name)
        self._mirror.called_by_user = True
        # Classes are given as they are: `except sim.bullet.error` needs the class itself.
        if not callable(value) or isinstance(value, type) or _is_pure(name):
            return value
        call = self._calls.get(name)
        # Kept by name: scripts call the same few functions in each step.
        if call is None:
            call = self._calls[name] = _Function(self._mirror, name)
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


class _Function:
    """A function of pybullet: PyBullet is brought up to date first, and what has a rule follows it."""

    def __init__(self, mirror: BulletMirror, name: str) -> None:
        self._mirror = mirror
        self._rule = RULES.get(name)
        self.__name__ = name
        self.__doc__ = getattr(mirror.client.module, name, None).__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        mirror, name = self._mirror, self.__name__
        if "physicsClientId" in kwargs and kwargs.pop("physicsClientId") != mirror.client.id:
            raise StateError(f"sim.bullet.{name}: it acts on the simulation's own PyBullet; leave physicsClientId out")
        if self._rule is not None:
            call = BulletCall(mirror, name, args, kwargs)
            mirror.ensure()
            return self._rule(call)
        mirror.ensure()
        made = getattr(mirror.client, name)(*args, **kwargs)
        if name in OWN_SHAPES:
            # Remembered, as PyBullet does not tell it.
            mirror.own_shapes.remember(name, args, kwargs, made)
        return made


def _is_pure(name: str) -> bool:
    return name in _PURE or name.startswith(_PURE_PREFIXES)


# What the user made in PyBullet: robots, with their joints and the shapes they collide as; and how much there is.


def adopted_model(client: BulletClient, body: int) -> RobotModel:
    """Return the model of `body`, with the shapes on its links.

    Boxes, spheres, cylinders and capsules are as they are. A link that collides as something else collides as the box
    around it; meshes of known files are seen, other visual shapes are not.
    """
    model = model_of_body(body, client)
    shapes = [part for link in range(BASE, model.num_joints) for part in _link_shapes(client, body, link)]
    return replace(model, visuals=_visuals(client, body), collisions=tuple(shapes))


def joint_positions(client: BulletClient, body: int, model: RobotModel) -> Floats:
    """Return the present positions (M,) of the movable joints of `body`."""
    return np.array([client.getJointState(body, joint)[0] for joint in model.movable.tolist()], np.float64)


def count_own(mirror: BulletMirror) -> tuple[int, int]:
    """Return how many bodies and constraints there are that the user made, and that stand for no entity."""
    client = mirror.client
    if not client.connected:
        return 0, 0
    ours = mirror.bodies.count + (client.floor_id != NO_BODY)
    return int(client.getNumBodies()) - ours, int(client.getNumConstraints()) - _count_gears(mirror)


def _count_gears(mirror: BulletMirror) -> int:
    """Return how many constraints hold mimic joints to their leaders: which are created again with their bodies."""
    world = mirror.world
    rows = world.rows[mirror.bodies.table.body[world.rows] != NO_BODY]
    rows = rows[world.robots.mimics[rows] & world.robots.motors[rows]]
    return sum(len(world.models[number].mimics) for number in world.robots.model[rows].tolist())


def _visuals(client: BulletClient, body: int) -> tuple[LinkGeometry, ...]:
    """Return the visual geometries of a user's body, in link frames; meshes by their file where it can be read."""
    found: list[LinkGeometry] = []
    for _, link, kind, sizes, name, position, orientation, rgba, *_ in client.getVisualShapeData(body):
        geometry = simple_geometry(client, kind, sizes)
        file = Path(name.decode(errors="replace"))
        if kind == client.GEOM_MESH and file.suffix.lower() in FORMATS and is_file(file):
            geometry = Geometry(ShapeKind.MESH, mesh_path=str(file.resolve()), mesh_scale=sizes)
        if geometry is not None:
            # Unlike collision shapes, these are in the frame of their link.
            posed = replace(geometry, position=position, orientation=orientation, rgba=rgba)
            found.append(LinkGeometry(link, posed))
    return tuple(found)


def _link_shapes(client: BulletClient, body: int, link: int) -> list[LinkGeometry]:
    """Return the collision geometries of one link, in its frame; a box around it where PyBullet cannot tell them."""
    found = client.getCollisionShapeData(body, link)
    # PyBullet has shapes in the inertial frame of their link.
    centre, turned = (np.array([part]) for part in client.getDynamicsInfo(body, link)[3:5])
    shapes: list[LinkGeometry] = []
    for _, _, kind, sizes, _, position, orientation in found:
        place, turn = quaternions.compose(centre, turned, np.array([position]), np.array([orientation]))
        geometry = simple_geometry(client, kind, sizes)
        if geometry is None:
            return [LinkGeometry(link, _box_around(client, body, link))]
        posed = replace(geometry, position=tuple(place[0].tolist()), orientation=tuple(turn[0].tolist()))
        shapes.append(LinkGeometry(link, posed))
    return shapes


def _box_around(client: BulletClient, body: int, link: int) -> Geometry:
    """Return the box around a link in its frame: measured with the link upright at the origin, and put back."""
    pose, twist = client.getBasePositionAndOrientation(body), client.getBaseVelocity(body)
    if link == BASE:
        offset = client.getDynamicsInfo(body, BASE)[3:5]
        client.resetBasePositionAndOrientation(body, *offset)
    else:
        state = client.getLinkState(body, link, computeForwardKinematics=1)
        inverse = client.invertTransform(state[4], state[5])
        client.resetBasePositionAndOrientation(body, *client.multiplyTransforms(*inverse, *pose))
    lower, upper = (np.array(corner) for corner in client.getAABB(body, link))
    client.resetBasePositionAndOrientation(body, *pose)
    client.resetBaseVelocity(body, *twist)
    x, y, z = (0.5 * (upper - lower)).tolist()
    return Geometry(ShapeKind.BOX, half_extents=(x, y, z), position=tuple((0.5 * (lower + upper)).tolist()))
