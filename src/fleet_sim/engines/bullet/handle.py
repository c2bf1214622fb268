"""PyBullet's own functions, through a handle that is always up to date and refuses what the columns would undo.

Of the user's own bodies every call is PyBullet's. Of entities there are three rules:

- what writes a body (`_WRITES`) is refused for kinematic entities and the floor, as their state is in the columns. What
  the engine moves may be written, and is read back into the columns at once;
- what pushes lasts until the end of the next step, of which the engine makes several of its own;
- what fleet_sim must know of (`_OURS`, `_REFUSED`), or what would have no effect, is refused, with what
  to call instead.

Motors of entities are commanded again in an engine that is made anew, and are in saved states. All else that is set
(dynamics, looks, constraints) is PyBullet's alone: it lasts as long as its body.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fleet_sim.base.arrays import Floats, as_float, as_floats
from fleet_sim.base.errors import InvalidValueError, StateError
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.engines.bullet.client import NO_BODY, BulletClient
from fleet_sim.engines.bullet.mirror import BulletMirror
from fleet_sim.engines.bullet.models import MOTOR, RawMotor
from fleet_sim.engines.bullet.shapes import told_geometry
from fleet_sim.world.joints import HOLD
from fleet_sim.world.schema import NO_ROW
from fleet_sim.world.shapes import BASE, BodyShape
from fleet_sim.world.world import World

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

_POSE, _JOINTS = "set_pose()", "set_joint_target() or set_joints_targets()"
_PUSH = "set_velocity() or set_pose(), as forces move only what has a mass, with physics on"
_WRITES = {
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
"""Calls that write a body, and what changes a kinematic entity."""

_REFUSED = {
    "removeBody": "sim.remove_object()",
    "setCollisionFilterPair": "sim.set_collision_pair(a, b, enabled)",
    "setCollisionFilterGroupMask": "set_collision_filter(group, mask) of the entity",
    "changeDynamics": "the mass of the entity, and set_material()",
}
"""Calls that are refused for all entities, and what to use in their place."""

_PUSHES = {
    "applyExternalForce": ("objectUniqueId", "linkIndex", "forceObj", "posObj", "flags"),
    "applyExternalTorque": ("objectUniqueId", "linkIndex", "torqueObj", "flags"),
}
"""The parameters of calls that push."""

_PARAMETERS = {"setTimeStep": "fixedTimeStep", "setDefaultContactERP": "contactERP"}
"""Calls that set one parameter of the engine, and its name in `setPhysicsEngineParameter`."""

_BODIES = ("bodyUniqueId", "objectUniqueId", "bodyIndex", "bodyUniqueIdA", "bodyUniqueIdB", "parentBodyUniqueId",
           "childBodyUniqueId")  # fmt: skip
"""Parameters that name a body."""

_MOTORS = ("controlMode", "targetPositions", "targetVelocities", "forces", "positionGains", "velocityGains",
           "maxVelocities")  # fmt: skip
"""The parameters of calls that command several motors, as `MOTOR` has those of one."""

_STEPS = "the simulation steps the engine by params.physics_substep, or less; set that, or timestep, before it is built"


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
        """Return a function or constant of PyBullet, bound to the mirror's client.

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
        if not callable(value) or isinstance(value, type) or name in _PURE or name.startswith(_PURE_PREFIXES):
            return value
        call = self._calls.get(name)
        # Kept by name: scripts call the same few functions in each step.
        if call is None:
            call = functools.partial(_call, self._mirror, name)
            self._calls[name] = functools.update_wrapper(call, getattr(self._mirror.client.module, name))
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


def _call(mirror: BulletMirror, name: str, *args: Any, **kwargs: Any) -> Any:
    """Bring PyBullet up to date and call it, unless a rule refuses that."""
    client, world = mirror.client, mirror.world
    if "physicsClientId" in kwargs and kwargs.pop("physicsClientId") != client.id:
        raise StateError(f"sim.bullet.{name}: it acts on the simulation's own PyBullet; leave physicsClientId out")
    mirror.ensure()
    if name in _WRITES:
        return _write(mirror, name, args, kwargs)
    reason = ""
    if name in _REFUSED and (name != "changeDynamics" or "mass" in kwargs or len(args) > 2):
        named = _bodies(args[: 2 if name == "setCollisionFilterPair" else 1], kwargs)
        ours = [_label(mirror, body) for body in dict.fromkeys(named)]
        # A pair with a body of the user's own is known to the engine alone.
        if ours and all(ours) and (name != "setCollisionFilterPair" or len(ours) == 2):
            reason = f"of {' and '.join(ours)} fleet_sim must know it; use {_REFUSED[name]}"
    elif name in ("setTimeStep", "setPhysicsEngineParameter") and world.physics:
        reason = _STEPS if name == "setTimeStep" or "fixedTimeStep" in kwargs else ""
    elif name == "enableJointForceTorqueSensor":
        reason = _why_measured(mirror, args, kwargs)
    elif name.endswith("Constraint"):
        reason = _why_unconstrained(mirror, name, args, kwargs)
    elif name == "stepSimulation" and world.dynamic[world.rows].any():
        reason = "the engine moves entities, and fleet_sim would not see where to; use sim.step_once()"
    elif name == "restoreState" and (mirror.bodies.table.body[world.rows] != NO_BODY).any():
        reason = "entities would go back in PyBullet alone; use sim.save_state() and sim.restore_state()"
    if reason:
        raise StateError(f"sim.bullet.{name}: {reason}")
    if name == "setGravity":
        given = dict(zip(("gravX", "gravY", "gravZ"), args, strict=False)) | kwargs
        x, y, z = as_floats([given.get(key) for key in ("gravX", "gravY", "gravZ")], (3,), name).tolist()
        mirror.set_gravity((x, y, z))
        return None
    if name == "setPhysicsEngineParameter":
        if args:
            raise InvalidValueError(f"sim.bullet.{name}: give each value with the name of its parameter")
        client.set_engine_parameters(kwargs)
        return None
    if name in _PARAMETERS and (args or kwargs):
        parameter = _PARAMETERS[name]
        client.set_engine_parameters({parameter: as_float([*args, *kwargs.values()][0], f"sim.bullet.{name}", low=0.0)})
        return None
    return getattr(client, name)(*args, **kwargs)


def _bodies(args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[int]:
    """Return the numbers of bodies that `args` and `kwargs` name; NO_BODY for what is no number."""
    given = [*args, *(kwargs[key] for key in _BODIES if key in kwargs)]
    numbers = [operator.index(value) if hasattr(value, "__index__") else NO_BODY for value in given]
    return [number if 0 <= number < 2**31 else NO_BODY for number in numbers]


def _label(mirror: BulletMirror, body: int) -> str:
    """Return what a body is to fleet_sim: an entity or the floor; "" for the user's own."""
    row = int(mirror.rows_of_bodies([body])[0])
    floor = "the floor (enable_floor: false builds none)" if body == mirror.client.floor_id != NO_BODY else ""
    return repr(mirror.world.label(row)) if row != NO_ROW else floor


def _write(mirror: BulletMirror, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Write a body, and read what the engine moves back into the columns.

    Raises StateError where that would be undone without a word, InvalidValueError for numbers that no body can have.
    """
    client, world = mirror.client, mirror.world
    body = next(iter(_bodies(args[:1], kwargs)), NO_BODY)
    row = int(mirror.rows_of_bodies([body])[0])
    moved = row != NO_ROW and world.dynamic[row] and (world.robots.motors[row] or "Joint" not in name)
    label = _label(mirror, body)
    if label and not moved:
        raise StateError(
            f"sim.bullet.{name}: PyBullet's body {body} is {label}, whose state is in fleet_sim's columns, from which "
            f"PyBullet is written; use {_WRITES[name]}"
        )
    if name in _PUSHES:
        kwargs = dict(zip(_PUSHES[name], args, strict=False)) | kwargs
        args = ()
    if row != NO_ROW:
        _check_numbers(world, name, args, kwargs)
        # What waits in the columns comes first: the call counts from there.
        mirror.write_now(row)
    run = functools.partial(getattr(client, name), *args, **kwargs)
    if name in _PUSHES and mirror.forces.enabled:
        push = _PUSHES[name][2]
        # Here and not in the step that applies it, in which PyBullet crashes at a number in place of three.
        as_floats(kwargs.get(push), (3,), f"sim.bullet.{name}, {push}")
        # Without any force PyBullet checks the rest of the call only.
        result = run(**{push: (0.0, 0.0, 0.0)})
        given = {key: value for key, value in kwargs.items() if key != "objectUniqueId"}
        mirror.forces.add(int(world.object_id[row]) if row != NO_ROW else ~body, name, given)
        return result
    if row == NO_ROW:
        return run()
    if name.startswith("setJointMotor"):
        return _command_motors(mirror, row, name, (args, kwargs), run)
    joints, slots = world.joints, world.joints.of(world.robots, row)
    before = joints.position[slots].copy()
    result = run()
    world.motion.path_fresh[row] |= name == "resetBasePositionAndOrientation"
    mirror.read_now(row)
    # A joint that is held is held where it is now, as after set_joint_positions().
    put = slots.start + np.flatnonzero((joints.position[slots] != before) & (joints.control[slots] == HOLD))
    joints.target[put] = joints.position[put]
    joints.motor_behind[put] = True
    return result


def _check_numbers(world: World, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Raise InvalidValueError for what is no number, is NaN, or larger than the world."""
    # Motors may have any force, and their lists are looked at one by one.
    if name.startswith("setJointMotor"):
        return
    for value in [*args[1:], *kwargs.values()]:
        limit = np.inf if name.startswith("apply") else world.extent
        numbers = _numbers(value, f"sim.bullet.{name}")
        if not (np.abs(numbers) <= limit).all():
            raise InvalidValueError(f"sim.bullet.{name}: expected finite numbers of at most {limit:g}, got {value!r}")
    if name == "resetBasePositionAndOrientation" and not np.any(kwargs.get("ornObj", args[-1:])):
        raise InvalidValueError(f"sim.bullet.{name}, ornObj: a quaternion of zeros is no rotation")


def _numbers(value: object, what: str) -> Floats:
    try:
        numbers = np.asarray(value, np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidValueError(f"{what}: expected numbers, or lists of equal length, got {value!r}") from error
    if np.isnan(numbers).any():
        raise InvalidValueError(f"{what}: NaN is no number, got {value!r}")
    return numbers


# Motors, and what else the engine keeps of joints.


def _command_motors(
    mirror: BulletMirror, row: int, name: str, given: tuple[tuple[Any, ...], dict[str, Any]], run: Callable[[], Any]
) -> Any:
    """Command motors of the entity in `row`, and note how. Raises StateError for joints that follow others."""
    world, joints = mirror.world, mirror.world.joints
    movable = world.models[int(world.robots.model[row])].movable.tolist()
    slots = dict(zip(movable, range(int(world.robots.joint_start[row]), joints.used), strict=False))
    motors = _motors(f"sim.bullet.{name}", *given)
    for joint in motors:
        if joint in slots and joints.leader[slots[joint]] != NO_ROW:
            raise StateError(f"sim.bullet.{name}: joint {joint} of {world.label(row)!r} {_FOLLOWS}")
    # PyBullet checks the rest.
    result = run()
    for joint, motor in motors.items():
        if joint in slots:
            mirror.bodies.joints.take_raw(slots[joint], motor)
    return result


def _motors(what: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[int, RawMotor]:
    """Return the command of each joint of a call on motors, by index; what PyBullet refuses may be missing or wrong."""
    names = ("jointIndices", *_MOTORS) if what.endswith("Array") else ("jointIndex", *MOTOR)
    named = dict[str, Any](zip(names, args[1:], strict=False)) | dict(kwargs)
    given = {key: value for key, value in named.items() if key in names}
    indices = _numbers(given.pop(names[0], ()), f"{what}, {names[0]}").ravel().tolist()
    mode = given.pop("controlMode", NO_BODY)
    mode = operator.index(mode) if hasattr(mode, "__index__") else mode
    motors: dict[int, RawMotor] = {int(joint): {"controlMode": mode} for joint in indices}
    for plural, value in given.items():
        numbers = _numbers(value, f"{what}, {plural}").ravel()
        key = MOTOR[names.index(plural) - 1]
        if len(numbers) != len(indices) or (key != "force" and np.isinf(numbers).any()):
            raise InvalidValueError(f"{what}, {plural}: expected one finite number for each joint, got {value!r}")
        for joint, number in zip(indices, numbers.tolist(), strict=True):
            # PyBullet takes no notice of a fastest speed that is not positive.
            if key != "maxVelocity" or number > 0.0:
                motors[int(joint)][key] = number
    return motors


_FOLLOWS = "mimics another one; command that one, or spawn the robot with mimic_joints: false"


def _why_measured(mirror: BulletMirror, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    """Return why the engine's sensor of a joint cannot be switched; "" where it can."""
    given = dict[str, Any](zip(("bodyUniqueId", "jointIndex", "enableSensor"), args, strict=False)) | dict(kwargs)
    body, joint = next(iter(_bodies((), given)), NO_BODY), next(iter(_bodies([given.get("jointIndex")], {})))
    row = int(mirror.rows_of_bodies([body])[0])
    if given.get("enableSensor", True) or row == NO_ROW or not mirror.reactions.wants(row, joint):
        return ""
    return f"fleet_sim measures that joint of {mirror.world.label(row)!r}, for a sensor or an arm that reads forces"


def _why_unconstrained(mirror: BulletMirror, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    """Return why constraints cannot be made, changed or removed; "" where they can."""
    client, world = mirror.client, mirror.world
    if name == "createConstraint":
        bodies = _bodies(args[:3:2], kwargs)
        ours = next((label for body in bodies if (label := _label(mirror, body))), "")
        if not ours or any(_is_moved(mirror, body) for body in bodies):
            return ""
        return (
            f"the engine moves neither {ours} nor the other side, so that it would hold nothing; constrain what has "
            "a mass, with physics on, or use attach_object()"
        )
    number: Any = args[0] if args else kwargs.get("userConstraintUniqueId")
    if name not in ("changeConstraint", "removeConstraint") or not hasattr(number, "__index__"):
        return ""
    try:
        parent, follower, child, leader, kind = client.getConstraintInfo(operator.index(number))[:5]
    except client.module.error:
        return ""
    row = int(mirror.rows_of_bodies([parent])[0])
    if kind != client.JOINT_GEAR or parent != child or row == NO_ROW or not world.robots.mimics[row]:
        return ""
    gears = {(mimic.follower, mimic.leader) for mimic in world.models[int(world.robots.model[row])].mimics}
    return f"joint {follower} of {world.label(row)!r} {_FOLLOWS}" if (follower, leader) in gears else ""


def _is_moved(mirror: BulletMirror, body: int) -> bool:
    """Return whether the engine moves a body, or links of it."""
    row, client = int(mirror.rows_of_bodies([body])[0]), mirror.client
    if row != NO_ROW or body in (NO_BODY, client.floor_id):
        return row != NO_ROW and bool(mirror.world.dynamic[row])
    return any(client.getDynamicsInfo(body, link)[0] > 0.0 for link in range(-1, client.getNumJoints(body)))


# What the user made in PyBullet: its shape, and how much there is.


def adopted_shape(client: BulletClient, body: int) -> BodyShape | None:
    """Return what a body of one shape looks like and collides as, in its base frame; None for others.

    Meshes are others: PyBullet does not tell whether one collides as its triangles or as their hull.
    """
    shapes = client.getCollisionShapeData(body, BASE)
    if client.getNumJoints(body) or len(shapes) != 1:
        return None
    _, _, kind, sizes, name, position, orientation = shapes[0]
    geometry = told_geometry(client, kind, sizes, name)
    if geometry is None or geometry.kind == ShapeKind.MESH:
        return None
    # Unlike visual shapes, these are in the frame of the centre of mass.
    information = client.getDynamicsInfo(body, BASE)
    place, turn = quaternions.compose(*(np.array([part]) for part in (*information[3:5], position, orientation)))
    collision = replace(geometry, position=tuple(place[0].tolist()), orientation=tuple(turn[0].tolist()))
    for _, _, kind, sizes, name, position, orientation, rgba, *_ in client.getVisualShapeData(body):
        seen = told_geometry(client, kind, sizes, name)
        if seen is not None:
            return BodyShape(replace(seen, position=position, orientation=orientation, rgba=rgba), collision)
    return BodyShape(collision, collision)


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
