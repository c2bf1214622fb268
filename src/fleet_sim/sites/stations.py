"""Stations and zones of a site."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fleet_sim.arrays import Bools, Floats, as_float
from fleet_sim.config.modes import Mode
from fleet_sim.errors import InvalidValueError, brief
from fleet_sim.gate.bounds import LARGEST_SPEED


def check_name(name: object, what: str) -> None:
    """Raise InvalidValueError for a name of a station, zone, door or site that is not text."""
    if not isinstance(name, str):
        raise InvalidValueError(f"{what}: its name must be text, got {brief(name)}")


class StationKind(Mode):
    """What a station is for."""

    PICK = "pick"
    DROP = "drop"
    CHARGE = "charge"
    PARK = "park"
    WORKSTATION = "workstation"


@dataclass(frozen=True)
class Station:
    """A place with a purpose: `x`, `y` in m and `yaw` in rad, in the frame of the world."""

    name: str
    kind: StationKind
    x: float
    y: float
    yaw: float = 0.0

    def __post_init__(self) -> None:
        check_name(self.name, "station")
        # Files and the look-ups tell kinds apart by identity.
        object.__setattr__(self, "kind", StationKind.parse(self.kind))
        for name in ("x", "y", "yaw"):
            object.__setattr__(self, name, as_float(getattr(self, name), f"station {self.name!r}: {name}"))


class ZoneKind(Mode):
    """What holds in a zone."""

    SPEED_LIMIT = "speed_limit"
    ONE_WAY = "one_way"
    NO_GO = "no_go"


@dataclass(frozen=True, eq=False)
class Zone:
    """An area with a rule. `corners` (K, 2) in m, in the frame of the world.

    `speed` in m/s is the limit of a zone of that kind; `direction` in rad is the way of a one-way zone.
    """

    name: str
    kind: ZoneKind
    corners: Floats
    speed: float = float("inf")
    direction: float = 0.0

    def __post_init__(self) -> None:
        check_name(self.name, "zone")
        object.__setattr__(self, "kind", ZoneKind.parse(self.kind))
        self._check_rule()
        corners = np.array(self.corners, np.float64)
        if corners.ndim != 2 or corners.shape[1] != 2 or len(corners) < 3 or not np.isfinite(corners).all():
            raise InvalidValueError(f"zone {self.name!r}: expected at least three corners [x, y], got {self.corners!r}")
        corners.flags.writeable = False
        object.__setattr__(self, "corners", corners)

    def _check_rule(self) -> None:
        """Raise InvalidValueError for a limit or a direction that is missing, wrong, or not of this kind of zone."""
        zone = f"zone {self.name!r}"
        if self.kind is ZoneKind.SPEED_LIMIT:
            if not isinstance(self.speed, (int, float, np.number)) or not 0.0 < self.speed < np.inf:
                raise InvalidValueError(f"{zone}: a speed limit needs a speed above 0 m/s, got {self.speed!r}")
            object.__setattr__(self, "speed", as_float(self.speed, f"{zone}: speed in m/s", high=LARGEST_SPEED))
        # A value that its kind does not use would look as if it acted.
        elif self.speed != float("inf"):
            raise InvalidValueError(f"{zone}: only a zone of the kind speed_limit has a speed")
        object.__setattr__(self, "direction", as_float(self.direction, f"{zone}: direction in rad"))
        if self.direction and self.kind is not ZoneKind.ONE_WAY:
            raise InvalidValueError(f"{zone}: only a zone of the kind one_way has a direction")

    def contains(self, points: Floats) -> Bools:
        """Return which of `points` (N, 2) are inside; either answer is right for points on the edge."""
        inside_mask = np.zeros(len(points), bool)
        x, y = points[:, 0], points[:, 1]
        for (x1, y1), (x2, y2) in zip(self.corners, np.roll(self.corners, -1, axis=0), strict=True):
            # Edges that a ray to the right crosses: an odd number of them from inside.
            crosses_mask = (y1 > y) != (y2 > y)
            slope = (x2 - x1) / (y2 - y1) if y1 != y2 else 0.0
            inside_mask ^= crosses_mask & (x < x1 + slope * (y - y1))
        return inside_mask
