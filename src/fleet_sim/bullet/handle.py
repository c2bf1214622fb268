"""PyBullet's own functions, through a handle that is always up to date and refuses what the columns would undo."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fleet_sim.bullet.calls import RULES, BulletCall
from fleet_sim.bullet.mirror import BulletMirror
from fleet_sim.bullet.own_shapes import PARAMETERS as OWN_SHAPES
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
