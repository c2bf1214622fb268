"""Calls of `sim.bullet` that change something: what they do to entities, the floor and the engine.

Of the user's own bodies every call is PyBullet's. Of entities there are four rules, one for each kind of call:

- what writes a body (`_write`) is refused where the columns or the simulation would undo it: for kinematic entities and
  the floor. What the engine moves may be written, and is read back into the columns at once;
- what sets a property (`_set_look`, `_set_dynamics`, `_set_motor`, ...) is set in the columns, or kept with the entity:
  it counts for a body that is made anew, and is part of saved states;
- what pushes (`_push`) lasts until the end of the next step, of which the engine makes several of its own;
- what concerns the engine as a whole is set for the simulation, or refused.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Mapping
from operator import index
from typing import Any

import numpy as np

from fleet_sim.base.arrays import as_floats
from fleet_sim.base.errors import InvalidValueError, StateError
from fleet_sim.base.gate import check_extent
from fleet_sim.engines.bullet.client import NO_BODY
from fleet_sim.engines.bullet.mirror import BulletMirror
from fleet_sim.engines.bullet.models import FLOOR, MATERIAL, MOTORS, SENSORS, own
from fleet_sim.world.collision_rules import checked_group, checked_mask
from fleet_sim.world.joints import HOLD, RAW_MOTOR
from fleet_sim.world.schema import NO_ROW
from fleet_sim.world.world import World

log = logging.getLogger("fleet_sim.engines.bullet")

_MOTOR = "bodyUniqueId jointIndex controlMode targetPosition targetVelocity force positionGain velocityGain maxVelocity"
_MOTORS = "bodyUniqueId jointIndices controlMode targetPositions targetVelocities forces positionGains velocityGains"
_LOOK = "objectUniqueId linkIndex shapeIndex textureUniqueId rgbaColor specularColor flags"

PARAMETERS = {
    name: tuple(parameters.split())
    for name, parameters in {
        "removeBody": "bodyUniqueId",
        "resetBasePositionAndOrientation": "bodyUniqueId posObj ornObj",
        "resetBaseVelocity": "objectUniqueId linearVelocity angularVelocity",
        "resetJointState": "bodyUniqueId jointIndex targetValue targetVelocity",
        "resetJointStateMultiDof": "bodyUniqueId jointIndex targetValue targetVelocity",
        "resetJointStatesMultiDof": "bodyUniqueId jointIndices targetValues targetVelocities",
        "setJointMotorControl2": _MOTOR,
        "setJointMotorControlArray": _MOTORS,
        "setJointMotorControlMultiDof": f"{_MOTOR} damping",
        "setJointMotorControlMultiDofArray": f"{_MOTORS} maxVelocities",
        "enableJointForceTorqueSensor": "bodyUniqueId jointIndex enableSensor",
        "applyExternalForce": "objectUniqueId linkIndex forceObj posObj flags",
        "applyExternalTorque": "objectUniqueId linkIndex torqueObj flags",
        "changeVisualShape": _LOOK,
        "resetVisualShapeData": _LOOK,
        "changeDynamics": "bodyUniqueId linkIndex mass lateralFriction spinningFriction rollingFriction restitution "
        "linearDamping angularDamping contactStiffness contactDamping frictionAnchor localInertiaDiagonal "
        "ccdSweptSphereRadius contactProcessingThreshold activationState jointDamping anisotropicFriction "
        "maxJointVelocity collisionMargin jointLowerLimit jointUpperLimit jointLimitForce sleepThreshold",
        "createConstraint": "parentBodyUniqueId parentLinkIndex childBodyUniqueId childLinkIndex jointType jointAxis "
        "parentFramePosition childFramePosition parentFrameOrientation childFrameOrientation",
        "changeConstraint": "userConstraintUniqueId jointChildPivot jointChildFrameOrientation maxForce gearRatio "
        "gearAuxLink relativePositionTarget erp",
        "removeConstraint": "userConstraintUniqueId",
        "setCollisionFilterPair": "bodyUniqueIdA bodyUniqueIdB linkIndexA linkIndexB enableCollision",
        "setCollisionFilterGroupMask": "bodyUniqueId linkIndexA collisionFilterGroup collisionFilterMask",
        "setGravity": "gravX gravY gravZ",
        "setTimeStep": "timeStep",
        "setDefaultContactERP": "defaultContactERP",
        "setPhysicsEngineParameter": "",
        "stepSimulation": "",
        "restoreState": "stateId fileName",
    }.items()
}
"""The parameters of the calls that have rules, in PyBullet's order."""

_OLD_NAMES = {"bodyIndex": "bodyUniqueId"}
"""Names of parameters that PyBullet still takes, and what they are called now."""

_POSE, _JOINTS = "set_pose()", "set_joint_target() or set_joints_targets()"
_PUSH = "set_velocity() or set_pose(), as forces move only what has a mass, with physics on"
_INSTEAD = {
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
"""Calls that write a body, and what changes a kinematic entity: its state is in the columns."""


class BulletCall:
    """A call of a function with a rule, its arguments by name and whole numbers of any type as `int`."""

    def __init__(self, mirror: BulletMirror, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Raises InvalidValueError for more arguments than the function has, or one that is given twice."""
        parameters = PARAMETERS[name]
        given = {_OLD_NAMES.get(key, key): value for key, value in kwargs.items()}
        if len(args) > len(parameters) or given.keys() & set(parameters[: len(args)]):
            raise InvalidValueError(f"sim.bullet.{name}: give each value with the name of its parameter, and once")
        given.update(zip(parameters, args, strict=False))
        self.mirror = mirror
        self.name = name
        self.given: dict[str, Any] = {key: _plain(value) for key, value in given.items()}

    @property
    def world(self) -> World:
        """The world of the simulation."""
        return self.mirror.world

    def body(self, parameter: str = "") -> int:
        """Return the body in a parameter, by default the first one; NO_BODY for what is no number of a body."""
        body = self.given.get(parameter or PARAMETERS[self.name][0])
        return body if isinstance(body, int) and 0 <= body < 2**31 else NO_BODY

    def row(self, parameter: str = "") -> int:
        """Return the row that the body in a parameter stands for; NO_ROW for none."""
        return int(self.mirror.rows_of_bodies([self.body(parameter)])[0])

    def is_floor(self, parameter: str = "") -> bool:
        """Return whether the body in a parameter is the floor of the simulation."""
        body = self.body(parameter)
        return body != NO_BODY and body == self.mirror.client.floor_id

    def subject(self) -> int:
        """Return under what number settings of the body are kept: the entity's id, FLOOR, or that of an own body."""
        row = self.row()
        if row != NO_ROW:
            return int(self.world.object_id[row])
        return FLOOR if self.is_floor() else own(self.body())

    def run(self, **changed: Any) -> Any:
        """BulletCall PyBullet, with some arguments changed."""
        return getattr(self.mirror.client, self.name)(**{**self.given, **changed})

    def refusal(self, reason: str) -> StateError:
        """Return the error that refuses this call."""
        return StateError(f"sim.bullet.{self.name}: {reason}")


def _plain(value: Any) -> Any:
    """Return whole numbers of any type, as those of NumPy, as int; all else as it is."""
    try:
        return index(value)
    except TypeError:
        return value


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, float | int | np.number):
        yield float(value)
    elif isinstance(value, list | tuple | np.ndarray):
        for part in value:
            yield from _numbers(part)


# ---- what writes a body ----------------------------------------------------------------------------------------------


def _check_written(call: BulletCall) -> int:
    """Return the row of the body that a call writes; raise StateError where that would be undone without a word.

    Raises InvalidValueError for numbers that are not finite. The body is then as the columns say.
    """
    mirror, world, row = call.mirror, call.world, call.row()
    if call.is_floor():
        raise call.refusal("the floor is the simulation's own and stays; build the simulation with enable_floor: false")
    if row == NO_ROW:
        return row
    joints = "Joint" in call.name
    moved = world.dynamic[row] and (world.robots.motors[row] or not joints)
    if not moved or call.name == "removeBody":
        raise call.refusal(
            f"PyBullet's body {call.body()} is {world.label(row)!r}, whose {'joints are' if joints else 'state is'} in "
            f"fleet_sim's columns, from which PyBullet is written; use {_INSTEAD[call.name]}"
        )
    for key, value in call.given.items():
        # A motor of any strength is one.
        if not all(map(math.isfinite, _numbers(value))) and "force" not in key.lower().replace("forceobj", ""):
            raise InvalidValueError(f"sim.bullet.{call.name}, {key}: expected finite numbers, got {value!r}")
    # What waits in the columns comes first: the call counts from there.
    mirror.write_now(row)
    return row


def _remove(call: BulletCall) -> Any:
    _check_written(call)
    call.mirror.own_shapes.forget(call.body())
    call.mirror.detached.forget(call.body())
    call.mirror.bodies.dynamics.forget(own(call.body()))
    return call.run()


def _write(call: BulletCall) -> Any:
    """Write a body, and read what the engine moves back into the columns."""
    row, world = _check_written(call), call.world
    if row == NO_ROW:
        return call.run()
    if call.name == "resetBasePositionAndOrientation":
        check_extent(as_floats(call.given.get("posObj"), (3,), f"sim.bullet.{call.name}, posObj"), world.extent)
        turn = as_floats(call.given.get("ornObj"), (4,), f"sim.bullet.{call.name}, ornObj")
        if not turn.any():
            raise InvalidValueError(f"sim.bullet.{call.name}, ornObj: a quaternion of zeros is no rotation")
        world.motion.path_fresh[row] = True
    slots = world.joints.of(world.robots, row)
    before = world.joints.position[slots].copy()
    result = call.run()
    call.mirror.read_now(row)
    # A joint that is held is held where it is now, as after set_joint_positions().
    joints = world.joints
    put = slots.start + np.flatnonzero((joints.position[slots] != before) & (joints.control[slots] == HOLD))
    joints.target[put] = joints.position[put]
    joints.motor_behind[put] = True
    return result


def _push(call: BulletCall) -> Any:
    """Push a body until the end of the next step."""
    _check_written(call)
    forces = call.mirror.forces
    if not forces.enabled:
        return call.run()
    pushed = next(key for key in ("forceObj", "torqueObj", "forces", "force") if key in call.given)
    given = call.given[pushed]
    nothing = 0.0 if not isinstance(given, list | tuple | np.ndarray) else np.zeros(np.shape(given)).tolist()
    # Without any force PyBullet checks the call only.
    result = call.run(**{pushed: nothing})
    rest = {key: value for key, value in call.given.items() if key != PARAMETERS[call.name][0]}
    forces.add(call.subject(), call.name, rest)
    return result


# ---- what is kept with an entity -------------------------------------------------------------------------------------


def _set_motor(call: BulletCall) -> Any:
    """Give motors a command, which is kept; a force lasts as others do."""
    world, dynamics = call.world, call.mirror.bodies.dynamics
    if call.given.get("controlMode") == call.mirror.client.TORQUE_CONTROL:
        forced = {"force", "forces"} & call.given.keys()
        return _push(call) if forced else (_check_written(call), call.run())[1]
    row = _check_written(call)
    slots = {} if row == NO_ROW else _slots_of_joints(world, row)
    for joint in _joints(call):
        if joint in slots and world.joints.leader[slots[joint]] != NO_ROW:
            raise call.refusal(
                f"joint {joint} of {world.label(row)!r} mimics another one; command that one, or spawn the robot with "
                "mimic_joints: false"
            )
    result = call.run()
    subject = call.subject()
    for joint, function, values in _single_motors(call):
        slot = slots.get(joint)
        old = dynamics.kept_of(subject).get((MOTORS, joint), {})
        taken = slot is not None and world.joints.control[slot] != RAW_MOTOR
        # PyBullet keeps the fastest speed of the commands before, until one of a velocity.
        if "maxVelocity" in old and not taken and values["controlMode"] != call.mirror.client.VELOCITY_CONTROL:
            values.setdefault("maxVelocity", old["maxVelocity"])
        dynamics.keep(subject, joint, {"function": function, **values}, MOTORS)
        if slot is not None:
            world.joints.control[slot], world.joints.command[slot] = RAW_MOTOR, 0.0
            # Given again in the next step: what a motor can do depends on the length of the engine's step.
            world.joints.moving[slot], world.joints.motor_behind[slot] = False, True
    return result


def _joints(call: BulletCall) -> list[int]:
    if "jointIndices" in call.given:
        return [int(joint) for joint in call.given["jointIndices"]]
    return [int(call.given["jointIndex"])] if "jointIndex" in call.given else []


def _single_motors(call: BulletCall) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yield each joint of a motor command, with a function and its arguments for that joint alone."""
    values = {key: value for key, value in call.given.items() if key not in ("bodyUniqueId", "jointIndex")}
    if "jointIndices" not in call.given:
        yield int(call.given["jointIndex"]), call.name, values
        return
    mode = values.pop("controlMode")
    del values["jointIndices"]
    function = call.name.removesuffix("Array") + ("" if "MultiDof" in call.name else "2")
    for place, joint in enumerate(_joints(call)):
        single = {_SINGULAR[key]: value[place] for key, value in values.items() if value is not None}
        yield joint, function, {"controlMode": mode, **single}


_SINGULAR = dict(zip(_MOTORS.split()[3:], _MOTOR.split()[3:], strict=False)) | {"maxVelocities": "maxVelocity"}


def _slots_of_joints(world: World, row: int) -> dict[int, int]:
    """Return the places in the table of joints of the movable joints of an entity, by PyBullet's index."""
    model, span = world.model_of(row), world.joints.of(world.robots, row)
    return {} if model is None else dict(zip(model.movable.tolist(), range(span.start, span.stop), strict=True))


def _enable_sensor(call: BulletCall) -> Any:
    """Measure forces in a joint, also in a body that is made anew; not to measure is refused where a sensor does."""
    row, joint = call.row(), int(call.given.get("jointIndex", NO_BODY))
    on = bool(call.given.get("enableSensor", True))
    if not on and row != NO_ROW and call.mirror.reactions.wants(row, joint):
        raise call.refusal(f"a sensor of {call.world.label(row)!r} measures joint {joint}; remove the sensor")
    result = call.run()
    call.mirror.bodies.dynamics.keep(call.subject(), joint, {"enableSensor": on}, SENSORS)
    return result


def _set_look(call: BulletCall) -> Any:
    """Give a link of an entity the color of the call, for all cameras; the rest is PyBullet's alone.

    Raises StateError for the color of one of several shapes of a link.
    """
    mirror, world, row, given = call.mirror, call.world, call.row(), dict(call.given)
    if row == NO_ROW:
        if call.is_floor():
            _say_once(call, given.keys() - {"objectUniqueId", "linkIndex", "shapeIndex"})
        return call.run()
    color = given.pop("rgbaColor", None)
    others = given.keys() - {"objectUniqueId", "linkIndex", "shapeIndex"}
    if others:
        mirror.client.changeVisualShape(**given)
        _say_once(call, others)
    if color is None:
        return None
    link = int(given.get("linkIndex", -1))
    red, green, blue, opacity = as_floats(color, (4,), "rgbaColor").tolist()
    if not all(0.0 <= part <= 1.0 for part in (red, green, blue, opacity)):
        raise InvalidValueError(f"rgbaColor: red, green, blue and opacity are from 0 to 1, got {color!r}")
    shapes = [shape for shape in mirror.client.getVisualShapeData(call.body()) if shape[1] == link]
    if int(given.get("shapeIndex", -1)) >= 0 and len(shapes) > 1:
        raise call.refusal(
            f"{world.label(row)!r} has {len(shapes)} shapes on link {link}, and a link of an entity has one color; "
            "leave shapeIndex out, or give the shapes to links of their own"
        )
    world.look.paint(row, (red, green, blue, opacity), link)
    world.bullet_behind[row] = True
    mirror.ensure(np.array([row]))
    return None


def _say_once(call: BulletCall, names: set[str]) -> None:
    """Warn, once for each object, that what `names` say about its look is not kept in columns."""
    subject, said = call.subject(), call.mirror.bodies.colors.said
    if subject not in said:
        said.add(subject)
        log.warning(
            "sim.bullet.changeVisualShape: %s of %s are seen in PyBullet's own pictures only, not by OpenGL cameras, "
            "and are gone after rebuild_engine()%s",
            ", ".join(sorted(names)),
            "the floor" if subject == FLOOR else repr(call.world.label(call.row())),
            "" if subject == FLOOR else "; a color (rgbaColor) stays",
        )


def _set_dynamics(call: BulletCall) -> Any:
    """Change the dynamics of a link of an entity, or of the floor, for good: also of a body that is made anew.

    Its mass and material are set in the columns where the entity has no links besides its base. Raises StateError for
    the mass of a link of a kinematic robot, which weighs nothing in the engine.
    """
    mirror, world, row, given = call.mirror, call.world, call.row(), dict(call.given)
    dynamics, client = mirror.bodies.dynamics, mirror.client
    body, link = call.body(), int(given.get("linkIndex", -1))
    given.pop("bodyUniqueId", None)
    given.pop("linkIndex", None)
    if row == NO_ROW:
        result = call.run()
        if call.is_floor():
            dynamics.keep(FLOOR, link, given)
        return result
    single = client.getNumJoints(body) == 0
    if "mass" in given and not single and not world.dynamic[row]:
        raise call.refusal(
            f"{world.label(row)!r} is kinematic, so its links weigh nothing in the engine; spawn it with a mass and "
            "physics on"
        )
    if given.get("mass") and _is_concave(world, row):
        raise call.refusal(f"{world.label(row)!r} collides as a concave mesh, which the engine cannot move")
    # PyBullet checks the values first: it raises for what it does not know.
    client.changeDynamics(body, link, **given)
    if single and link == -1:
        if "mass" in given:
            _set_mass(mirror, row, float(given.pop("mass")))
        world.material.use()
        for column, name in MATERIAL.items():
            if name in given:
                getattr(world.material, column)[row] = float(given.pop(name))
        # The body has them already; the row is behind only if another value waits to be written.
        dynamics.refresh(np.array([row]))
    if given and not mirror.bodies.table.adopted[row]:
        dynamics.keep(call.subject(), link, given)
    return None


def _is_concave(world: World, row: int) -> bool:
    model = world.model_of(row)
    return int(world.shape_id[row]) in world.shapes.concave if model is None else bool(model.concave)


def _set_mass(mirror: BulletMirror, row: int, mass: float) -> None:
    world = mirror.world
    world.mass[row] = mass
    world.dynamic[row] = world.physics and mass > 0.0 and world.parent[row] == NO_ROW
    mirror.bodies.table.mass[row] = mass
    # Writes the mass that the engine should have: none for what is kinematic.
    world.bullet_behind[row] = True
    mirror.ensure(np.array([row]))


# ---- constraints -----------------------------------------------------------------------------------------------------


def _create_constraint(call: BulletCall) -> Any:
    """Constrain two bodies. Raises StateError where the engine moves neither, as it would hold nothing."""
    sides = ("parentBodyUniqueId", "childBodyUniqueId")
    ours = [side for side in sides if call.row(side) != NO_ROW or call.is_floor(side)]
    if ours and not any(_is_moved(call, side) for side in sides):
        row = call.row(ours[0])
        what = "the floor" if row == NO_ROW else f"{call.world.label(row)!r}, whose state is in fleet_sim's columns"
        raise call.refusal(
            f"PyBullet's body {call.body(ours[0])} is {what}, and the other side does not move either, so that the "
            "constraint would hold nothing; constrain what has a mass, with physics on, or use attach_object()"
        )
    return call.run()


def _is_moved(call: BulletCall, side: str) -> bool:
    """Return whether the engine moves the body on a side of a constraint."""
    row, body, client = call.row(side), call.body(side), call.mirror.client
    if row != NO_ROW:
        return bool(call.world.dynamic[row])
    if body == NO_BODY or call.is_floor(side):
        return False
    # Links of a fixed base move.
    return any(client.getDynamicsInfo(body, link)[0] > 0.0 for link in range(-1, client.getNumJoints(body)))


def _own_constraint(call: BulletCall) -> Any:
    """Change or remove a constraint; raises StateError for one that holds a mimic joint to its leader."""
    mirror, number = call.mirror, call.given.get("userConstraintUniqueId")
    if isinstance(number, int) and number in mirror.bodies.joints.gears:
        raise call.refusal(
            "this constraint holds a mimic joint to its leader; spawn the robot with mimic_joints: false"
        )
    return call.run()


# ---- who collides ----------------------------------------------------------------------------------------------------


def _set_pair(call: BulletCall) -> Any:
    """Of two entities it is what `sim.set_collision_pair` sets."""
    first, second = call.row("bodyUniqueIdA"), call.row("bodyUniqueIdB")
    rows = {first, second} - {NO_ROW}
    if rows and (call.is_floor("bodyUniqueIdA") or call.is_floor("bodyUniqueIdB")):
        raise call.refusal(
            f"the floor supports all entities, {call.world.label(rows.pop())!r} too; build the simulation with "
            "enable_floor: false, and a floor of your own"
        )
    # Bodies of the user's own are known to the engine alone; so are links of one body.
    if NO_ROW in (first, second) or first == second:
        return call.run()
    instead = "sim.set_collision_pair(a, b, enabled)"
    _require_whole(call, first, "linkIndexA", instead)
    _require_whole(call, second, "linkIndexB", instead)
    call.world.collision_filters.set_pair(first, second, bool(call.given.get("enableCollision")))
    return None


def _set_group_mask(call: BulletCall) -> Any:
    """Of an entity it is what `set_collision_filter` sets."""
    row, world = call.row(), call.world
    if call.is_floor():
        raise call.refusal("the floor supports entities of all groups; build the simulation with enable_floor: false")
    if row == NO_ROW:
        return call.run()
    _require_whole(call, row, "linkIndexA", "set_collision_filter(group, mask) of the entity")
    group, mask = (
        checked_group(call.given.get("collisionFilterGroup")),
        checked_mask(call.given.get("collisionFilterMask")),
    )
    world.collision_group[row], world.collision_mask[row] = group, mask
    world.collision_rules.changed()
    return None


def _require_whole(call: BulletCall, row: int, link: str, instead: str) -> None:
    """Raise StateError unless the link in a parameter is all that the entity in `row` has."""
    body = int(call.mirror.bodies.table.body[row])
    if call.given.get(link) != -1 or call.mirror.client.getNumJoints(body):
        raise call.refusal(
            f"{call.world.label(row)!r} has links, and fleet_sim's collisions are those of whole entities; use "
            f"{instead}"
        )


# ---- the engine as a whole -------------------------------------------------------------------------------------------

_STEPS = "the simulation steps the engine by params.physics_substep, or less; set that, or timestep, before it is built"


def _set_gravity(call: BulletCall) -> None:
    """Set the gravity of the simulation, also for sensors and for an engine that is built anew."""
    x, y, z = as_floats([call.given.get(name) for name in PARAMETERS["setGravity"]], (3,), "setGravity").tolist()
    call.mirror.set_gravity((x, y, z))


def _set_time_step(call: BulletCall) -> None:
    """Set the step of an engine that the user steps. Raises StateError where the simulation steps it."""
    if call.world.physics:
        raise call.refusal(_STEPS)
    call.mirror.client.set_timestep(call.given["timeStep"])


def _set_engine_parameter(call: BulletCall) -> None:
    """Set parameters of the engine, also for one that is built anew.

    Raises StateError for another time step where the simulation steps the engine.
    """
    if call.world.physics and "fixedTimeStep" in call.given:
        raise call.refusal(f"fixedTimeStep: {_STEPS}")
    call.mirror.client.set_engine_parameters(call.given)


def _set_contact_erp(call: BulletCall) -> None:
    """As the parameter of the engine of that name."""
    call.mirror.client.set_engine_parameters({"contactERP": call.given["defaultContactERP"]})


def _step(call: BulletCall) -> Any:
    """Make a step of the engine alone. Raises StateError where it would move entities, unseen by fleet_sim."""
    world = call.world
    rows = world.rows[world.dynamic[world.rows]]
    if len(rows):
        raise call.refusal(
            f"the engine moves {world.label(int(rows[0]))!r}, and fleet_sim would not see where to; use "
            "sim.step_once(), or sim.run_simulation(seconds)"
        )
    return call.run()


def _restore(call: BulletCall) -> Any:
    """Restore a state. Raises StateError where bodies of entities would go back without the simulation seeing it."""
    rows = call.world.rows
    told = rows[call.mirror.bodies.table.body[rows] != NO_BODY]
    if len(told):
        raise call.refusal(
            f"{call.world.label(int(told[0]))!r} would go back in PyBullet alone; use sim.save_state() and "
            "sim.restore_state()"
        )
    return call.run()


RULES: dict[str, Callable[[BulletCall], Any]] = {
    "removeBody": _remove,
    "resetBasePositionAndOrientation": _write,
    "resetBaseVelocity": _write,
    "resetJointState": _write,
    "resetJointStateMultiDof": _write,
    "resetJointStatesMultiDof": _write,
    "setJointMotorControl2": _set_motor,
    "setJointMotorControlArray": _set_motor,
    "setJointMotorControlMultiDof": _set_motor,
    "setJointMotorControlMultiDofArray": _set_motor,
    "enableJointForceTorqueSensor": _enable_sensor,
    "applyExternalForce": _push,
    "applyExternalTorque": _push,
    "changeVisualShape": _set_look,
    "resetVisualShapeData": _set_look,
    "changeDynamics": _set_dynamics,
    "createConstraint": _create_constraint,
    "changeConstraint": _own_constraint,
    "removeConstraint": _own_constraint,
    "setCollisionFilterPair": _set_pair,
    "setCollisionFilterGroupMask": _set_group_mask,
    "setGravity": _set_gravity,
    "setTimeStep": _set_time_step,
    "setDefaultContactERP": _set_contact_erp,
    "setPhysicsEngineParameter": _set_engine_parameter,
    "stepSimulation": _step,
    "restoreState": _restore,
}
"""What each call does; PyBullet is up to date when it is asked."""
