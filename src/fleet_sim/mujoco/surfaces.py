"""Surfaces of links: friction and restitution, from columns, from the <contact> of URDF files, or PyBullet's own."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from fleet_sim.core.robot_model import RobotModel
from fleet_sim.models.markup import read_file

FLOOR_FRICTION = 1.0
"""As in PyBullet's plane.urdf."""

_NAMES = ("lateral_friction", "rolling_friction", "spinning_friction", "restitution")


class ContactSurface(NamedTuple):
    """What contacts of a link are like. Two surfaces act as in PyBullet: frictions and restitutions are multiplied."""

    friction: float = 0.5
    rolling: float = 0.0
    spinning: float = 0.0
    restitution: float = 0.0

    def with_material(self, friction: float, rolling: float, restitution: float) -> ContactSurface:
        """Return the surface with the values of a material in place of its own; negative ones are not given."""
        return ContactSurface(
            friction if friction >= 0.0 else self.friction,
            rolling if rolling >= 0.0 else self.rolling,
            self.spinning,
            restitution if restitution >= 0.0 else self.restitution,
        )


def surfaces_of(model: RobotModel) -> dict[str, ContactSurface]:
    """Return the surfaces, by name of the link, that the URDF file of `model` gives in <contact> elements."""
    path = Path(model.path)
    if path.suffix.lower() != ".urdf" or not path.is_file():
        return {}
    return _read(str(path), path.stat().st_mtime_ns)


@lru_cache(maxsize=256)
def _read(path: str, _changed: int) -> dict[str, ContactSurface]:
    """Return the <contact> of each link of a file by name; links without one are left out."""
    found: dict[str, ContactSurface] = {}
    for link in read_file(Path(path)).all("link"):
        contact = link.child("contact")
        if contact is None:
            continue
        given = {child.tag: child for child in contact.children}
        plain = ContactSurface()
        values = [
            given[name].parsed(given[name].attributes.get("value", given[name].text), 1, name)[0]
            if name in given
            else default
            for name, default in zip(_NAMES, plain, strict=True)
        ]
        found[link.attributes.get("name", "")] = ContactSurface(*values)
    return found
