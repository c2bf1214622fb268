"""PyBullet's own functions, through a handle that is always up to date and refuses what the columns would undo."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from fleet_sim.bullet.engine_calls import ENGINE_CALLS
from fleet_sim.bullet.filter_calls import FILTER_CALLS
from fleet_sim.bullet.mirror import BulletMirror
from fleet_sim.bullet.own_shapes import PARAMETERS
from fleet_sim.bullet.takeover import TAKEN_OVER, body_of, check_steppable
from fleet_sim.core.schema import NO_ROW
from fleet_sim.errors import StateError

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
        """Raise StateError for a call that would write a body whose state is in the columns, with what to use.

        Bodies that PyBullet itself moves may be written; only their removal is refused.
        """
        instead = _WRITES.get(self.__name__)
        row = int(self._mirror.rows_of_bodies([body])[0]) if isinstance(body, int) else NO_ROW
        world = self._mirror.world
        # The engine moves dynamic bodies and may be told to; only their removal is ours alone.
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
        # PyBullet takes the mode as the third argument, by position or by name.
        mode = kwargs.get("controlMode", args[2] if len(args) > 2 else None)
        if _FORCES[self.__name__] or mode == client.TORQUE_CONTROL:
            self._mirror.forces.add(partial(getattr(client, self.__name__), *args, **kwargs))
        return result


class _Shared(_Ensured):
    """A function that sets what the simulation follows too: who collides, gravity; or that it refuses."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # What these answer says whether all is done; otherwise PyBullet still has to hear of it.
        if not _SHARED[self.__name__](self._mirror, *args, **kwargs):
            return super().__call__(*args, **kwargs)


_SHARED = {**FILTER_CALLS, **ENGINE_CALLS}


def _kind_of(name: str) -> type[_Ensured]:
    """Return the class of the calls of pybullet's function `name`."""
    if name in _SHARED:
        return _Shared
    if name in TAKEN_OVER:
        return _TakenOver
    if name == "stepSimulation":
        return _Stepping
    if name in PARAMETERS:
        return _Making
    return _Lasting if name in _FORCES else _Writing if name in _WRITES else _Ensured


def _is_pure(name: str) -> bool:
    return name in _PURE or name.startswith(_PURE_PREFIXES)
