"""Calls of `sim.bullet` that change an entity, and set it in the columns as well, from which PyBullet is written."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fleet_sim.arrays import as_floats
from fleet_sim.bullet.dynamics import MATERIAL
from fleet_sim.bullet.mirror import BulletMirror
from fleet_sim.core.schema import NO_ROW
from fleet_sim.core.world import World
from fleet_sim.errors import InvalidValueError, StateError

log = logging.getLogger("fleet_sim.bullet")

Call = Callable[[BulletMirror, int, Sequence[Any], Mapping[str, Any]], Any]


def body_of(args: Sequence[Any], kwargs: Mapping[str, Any]) -> object:
    """Return the body that a call of PyBullet is about; None if it names none."""
    return kwargs.get("bodyUniqueId", kwargs.get("objectUniqueId", args[0] if args else None))


def change_visual_shape(mirror: BulletMirror, row: int, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Give a link of the entity in `row` the color of the call, for all cameras; the rest is PyBullet's alone.

    Raises StateError for the color of one of several shapes of a link.
    """
    given = dict(zip(_VISUAL, args, strict=False)) | dict(kwargs)
    mirror.ensure(np.array([row]))
    color = given.pop("rgbaColor", None)
    others = given.keys() - {"objectUniqueId", "linkIndex", "shapeIndex"}
    if others:
        mirror.client.changeVisualShape(**given)
        _say_once(mirror, row, others)
    if color is None:
        return
    world, link = mirror.world, int(given.get("linkIndex", -1))
    red, green, blue, opacity = as_floats(color, (4,), "rgbaColor").tolist()
    if not all(0.0 <= part <= 1.0 for part in (red, green, blue, opacity)):
        raise InvalidValueError(f"rgbaColor: red, green, blue and opacity are from 0 to 1, got {color!r}")
    body = int(mirror.bodies.table.body[row])
    shapes = [shape for shape in mirror.client.getVisualShapeData(body) if shape[1] == link]
    if int(given.get("shapeIndex", -1)) >= 0 and len(shapes) > 1:
        raise StateError(
            f"sim.bullet.changeVisualShape: {world.label(row)!r} has {len(shapes)} shapes on link {link}, and a link "
            "of an entity has one color; leave shapeIndex out, or give the shapes to links of their own"
        )
    world.look.paint(row, (red, green, blue, opacity), link)
    world.bullet_behind[row] = True
    mirror.ensure(np.array([row]))


def change_dynamics(mirror: BulletMirror, row: int, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Change the dynamics of a link of the entity in `row`, for good: also of a body that is made anew for it.

    Its mass and material are set in the columns where the entity has no links besides its base. Raises StateError for
    the mass of a link of a kinematic robot, which weighs nothing in the engine.
    """
    given = dict(zip(_DYNAMICS, args, strict=False)) | dict(kwargs)
    given.pop("bodyUniqueId", None)
    link = int(given.pop("linkIndex", -1))
    world, bodies, client = mirror.world, mirror.bodies, mirror.client
    mirror.ensure(np.array([row]))
    body = int(bodies.table.body[row])
    single = client.getNumJoints(body) == 0
    if "mass" in given and not single and not world.dynamic[row]:
        raise StateError(
            f"sim.bullet.changeDynamics: {world.label(row)!r} is kinematic, so its links weigh nothing in the engine; "
            "spawn it with a mass and physics on"
        )
    if given.get("mass") and _is_concave(world, row):
        raise StateError(
            f"sim.bullet.changeDynamics: {world.label(row)!r} collides as a concave mesh, which the engine cannot move"
        )
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
        bodies.dynamics.refresh(np.array([row]))
    if not bodies.table.adopted[row]:
        bodies.dynamics.keep(row, link, given)


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


def check_steppable(mirror: BulletMirror) -> None:
    """Raise StateError where a step of the engine alone would move entities without fleet_sim seeing where to."""
    world = mirror.world
    rows = world.rows[world.dynamic[world.rows]]
    if len(rows):
        raise StateError(
            f"sim.bullet.stepSimulation: the engine moves {world.label(int(rows[0]))!r}, and fleet_sim would not see "
            "where to; use sim.step_once(), or sim.run_simulation(seconds)"
        )


def _say_once(mirror: BulletMirror, row: int, names: set[str]) -> None:
    """Warn, once for each object, that what `names` say about its look is not kept in columns."""
    object_id, said = int(mirror.world.object_id[row]), mirror.bodies.colors.said
    if object_id not in said:
        said.add(object_id)
        log.warning(
            "sim.bullet.changeVisualShape: %s of %r are seen in PyBullet's own pictures only, not by OpenGL cameras, "
            "and are gone after rebuild_engine(); a color (rgbaColor) stays",
            ", ".join(sorted(names)),
            mirror.world.label(row),
        )


_VISUAL = ("objectUniqueId", "linkIndex", "shapeIndex", "textureUniqueId", "rgbaColor", "specularColor", "flags")

_DYNAMICS = (
    *("bodyUniqueId", "linkIndex", "mass", "lateralFriction", "spinningFriction", "rollingFriction", "restitution"),
    *("linearDamping", "angularDamping", "contactStiffness", "contactDamping", "frictionAnchor"),
    *("localInertiaDiagonal", "ccdSweptSphereRadius", "contactProcessingThreshold", "activationState", "jointDamping"),
    *("anisotropicFriction", "maxJointVelocity", "collisionMargin", "jointLowerLimit", "jointUpperLimit"),
    "jointLimitForce",
)

TAKEN_OVER: dict[str, Call] = {"changeVisualShape": change_visual_shape, "changeDynamics": change_dynamics}
"""The functions, each with what it does to an entity."""
