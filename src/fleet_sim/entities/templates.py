"""The templates of a world, found again for params that say the same.

Checking params costs more than writing rows, and programs that spawn one by one give the same params again and again.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from fleet_sim.core.world import World
from fleet_sim.entities.shape_params import ShapeParams
from fleet_sim.entities.spawn_params import AgentSpawnParams, SimObjectSpawnParams
from fleet_sim.entities.template import Template, make_template, model_of
from fleet_sim.geometry import Pose
from fleet_sim.settings import Checked

_LIMIT = 64

# Weak, so that a world is gone when its simulation is.
_KNOWN: WeakKeyDictionary[World, dict[Hashable, Template]] = WeakKeyDictionary()


class Identity:
    """Stands in a key for a value that cannot be compared; it keeps the value alive, so its id stays its own."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


class Said(NamedTuple):
    """What params say but pose and name: a key that is equal where that is the same."""

    key: tuple[Hashable, ...]
    by_value: bool
    """Whether all of it was compared by value. What is compared by identity may change and stay the same object."""


def template_for(world: World, params: SimObjectSpawnParams, said: Said | None = None) -> Template:
    """Return the template of `params`, see `make_template`; those that say the same share it. `said` is `said_by`."""
    said = said_by(all_but_place(params)) if said is None else said
    # Each time, as it looks whether the file may be read and has changed.
    model = model_of(world, params)
    if not said.by_value or not _says_all(params):
        return make_template(world, params, model)
    known, key = _KNOWN.setdefault(world, {}), (id(model), said.key)
    template = known.get(key)
    if template is None:
        if len(known) >= _LIMIT:
            known.clear()
        template = known[key] = make_template(world, params, model)
    return template


def all_but_place(params: SimObjectSpawnParams) -> tuple[object, ...]:
    """Return the class of `params` and their values but pose and name, in order."""
    values = vars(params).copy()
    values.pop("name", None)
    values.pop("initial_pose", None)
    return type(params), *values.values()


def said_by(values: tuple[object, ...]) -> Said:
    """Return what params say whose class and values are `values`, see `all_but_place`.

    Values that cannot be compared are equal only to themselves.
    """
    by_identity: list[Identity] = []
    cls, *others = values
    key = (cls, *[value if isinstance(value, _PLAIN) else _content(value, by_identity) for value in others])
    return Said(key, not by_identity)


def _says_all(params: SimObjectSpawnParams) -> bool:
    """Return whether the template follows from the params, the model and what a world never changes."""
    if params.user_data or params.features:
        return False
    # The file of a mesh or picture may have changed; that of a description is looked at each time. Lists are never
    # compared.
    shapes = (params.visual_shape, params.collision_shape)
    if any(isinstance(shape, ShapeParams) and (shape.mesh_path or shape.height_image) for shape in shapes):
        return False
    if not isinstance(params, AgentSpawnParams):
        return True
    # Classes behind names may be registered anew, and instances belong to one robot.
    return not (params.controller or params.plugins or params.sensors)


_PLAIN = (type(None), bool, int, float, str, Pose)


def _content(value: Any, by_identity: list[Identity]) -> Hashable:
    """Return what tells whether two values make the same template; equal contents give equal results.

    Values that cannot be compared cheaply, such as arrays and callables, count by identity; they are added to
    `by_identity`, which keeps them alive.
    """
    if isinstance(value, Checked):
        entries = vars(value).values()
        return type(value), *(entry if isinstance(entry, _PLAIN) else _content(entry, by_identity) for entry in entries)
    if isinstance(value, dict) and all(isinstance(entry, Checked) for entry in value.values()):
        return tuple((key, _content(entry, by_identity)) for key, entry in value.items())
    if isinstance(value, tuple) and all(isinstance(entry, _PLAIN) for entry in value):
        return value
    by_identity.append(Identity(value))
    return by_identity[-1]
