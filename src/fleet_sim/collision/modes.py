"""How an object takes part in collisions, and how contacts are found.

Members are strings (the values of configuration files); `code` is the small integer a column stores.
"""

from __future__ import annotations

from enum import Enum
from typing import TypeVar

from fleet_sim.errors import unknown_name

CodedT = TypeVar("CodedT", bound="_Coded")


class _Coded(str, Enum):
    """A string enum whose members also have a stable small integer, their place in the class."""

    @property
    def code(self) -> int:
        """The integer that stands for this member in a uint8 column."""
        return list(type(self)).index(self)

    @classmethod
    def from_code(cls: type[CodedT], code: int) -> CodedT:
        """Return the member with this code; raises UnknownNameError."""
        members = list(cls)
        if not 0 <= code < len(members):
            raise unknown_name(f"{cls.__name__} code", code, map(str, range(len(members))))
        return members[code]

    @classmethod
    def parse(cls: type[CodedT], value: object) -> CodedT:
        """Return the member `value` names (a member, its value or its name in any case); raises UnknownNameError."""
        if isinstance(value, cls):
            return value
        try:
            return cls(str(value).lower())
        except ValueError:
            raise unknown_name(cls.__name__, value, [member.value for member in cls]) from None

    def __str__(self) -> str:
        return str(self.value)


class CollisionMode(_Coded):
    """How one object takes part in collisions.

    NORMAL_3D and NORMAL_2D objects are tested in x, y and z with the same result; NORMAL_2D says that the object
    stays on its floor. STATIC objects never move and never pair with each other. DISABLED objects pair with nothing.
    """

    NORMAL_3D = "normal_3d"
    NORMAL_2D = "normal_2d"
    STATIC = "static"
    DISABLED = "disabled"


class CollisionDetectionMethod(_Coded):
    """What counts as a contact.

    CLOSEST_POINTS: the distance is at most the margin. CONTACT_POINTS: the physics engine reports a contact.
    HYBRID: contacts where a dynamic body takes part, distances otherwise.
    """

    CLOSEST_POINTS = "closest_points"
    CONTACT_POINTS = "contact_points"
    HYBRID = "hybrid"


class SpatialHashCellSizeMode(_Coded):
    """Where the cell size of the broad phase comes from: given, from the objects now, or from the first objects."""

    CONSTANT = "constant"
    AUTO_ADAPTIVE = "auto_adaptive"
    AUTO_INITIAL = "auto_initial"
