"""The motion laws by name and by index: `world.motion.law[row]` holds a law's index; 0 means "cannot move"."""

from __future__ import annotations

from fleet_sim.errors import InvalidValueError
from fleet_sim.motion.ackermann.law import AckermannLaw
from fleet_sim.motion.driving import DifferentialLaw, OmnidirectionalLaw
from fleet_sim.motion.law import FeatureLaw, MotionLaw, MotorLaw
from fleet_sim.motion.wheels import WheelLaw
from fleet_sim.registry import Registry, instances_of

MAX_LAWS = 255
"""An index is one byte, and 0 is reserved."""

LAWS = Registry(
    "motion law",
    instances_of(MotionLaw, "an object with `name` and `step(world, rows, dt)`"),
    group="fleet_sim.motion_law",
)
"""The laws by name."""

_names = ["immovable"]
_laws: list[MotionLaw | None] = [None]
"""Names and laws by index. An index never changes, as columns and saved states hold it."""


def register_motion_law(name: str, law: MotionLaw) -> int:
    """Register `law` as `name` and return its index; raises DuplicateNameError if the name is taken."""
    LAWS.register(name, law)
    return _numbered(name, law)


def motion_law_names() -> list[str]:
    """Return the names of all laws, in order of their index (from 1)."""
    return _names[1:]


def motion_law_index(name: str) -> int:
    """Return the index of the law called `name`, or at the dotted path `name`.

    Raises UnknownNameError with the closest name, InvalidValueError for a path that leads to no law.
    """
    key = str(name)
    law = LAWS.find(key)
    # A law from another package's entry point, or from a path, gets its index on first use.
    return _names.index(key, 1) if key in _names[1:] else _numbered(key, law)


def motion_law(index: int) -> MotionLaw:
    """Return the law with `index`; raises InvalidValueError if there is none."""
    law = _laws[index] if 0 < index < len(_laws) else None
    if law is None:
        raise InvalidValueError(f"no motion law has index {index}; known are 1 to {len(_laws) - 1}")
    return law


def feature_of(index: int) -> str | None:
    """Return the name of the feature that robots with the law of `index` need, None where they need none."""
    law = _laws[index] if 0 < index < len(_laws) else None
    return law.feature if isinstance(law, FeatureLaw) else None


def drives_by_motors(index: int) -> bool:
    """Return whether the law with `index` commands motors and leaves the body to the engine."""
    return isinstance(motion_law(index), MotorLaw)


def _numbered(name: str, law: MotionLaw) -> int:
    if len(_laws) > MAX_LAWS:
        LAWS.unregister(name)
        raise InvalidValueError(f"there can be at most {MAX_LAWS} motion laws")
    _names.append(name)
    _laws.append(law)
    return len(_laws) - 1


for _law in (OmnidirectionalLaw(), DifferentialLaw(), WheelLaw(), AckermannLaw()):
    register_motion_law(_law.name, _law)
