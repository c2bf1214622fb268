"""Colors of entities and of their links, changed at run time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fleet_sim.arrays import as_floats
from fleet_sim.core.look import Rgba
from fleet_sim.core.robot_model import BASE
from fleet_sim.core.shapes import Geometry
from fleet_sim.core.world import World
from fleet_sim.entities import attachments
from fleet_sim.errors import InvalidValueError


def read_color(value: Sequence[float]) -> Rgba:
    """Return a color as four numbers from 0 to 1; raises InvalidValueError."""
    red, green, blue, opacity = as_floats(value, (4,), "rgba").tolist()
    if not all(0.0 <= part <= 1.0 for part in (red, green, blue, opacity)):
        raise InvalidValueError(f"rgba: red, green, blue and opacity are from 0 to 1, got {value!r}")
    return (red, green, blue, opacity)


def set_color(world: World, row: int, rgba: Sequence[float] | None, link: int | str | None) -> None:
    """Give the entity in `row`, or one of its links, a color; None takes it back. Raises for what cannot be seen."""
    color = None if rgba is None else read_color(rgba)
    place = None if link is None else attachments.link_index(world, row, link)
    model = world.model_of(row)
    if place == BASE and (model is None or not model.num_joints):
        # Its only link is the whole of it, also for markers and snapshots.
        place = None
    # A body made by the user has no shape here, but PyBullet knows what it looks like.
    if world.shape_id[row] >= 0 and not any(place in (None, of) for of, _ in _visuals(world, row)):
        part = "it" if link is None else f"its link {link!r}"
        raise InvalidValueError(f"{world.label(row)!r} cannot be colored: {part} has no visual shape")
    world.look.paint(row, color, place)
    # The mirror writes colors together with poses, to rows that are behind.
    world.bullet_behind[row] = True
    # In a window, the color is to be seen before the next movement.
    if world.parts.bodies is not None:
        world.parts.bodies.pose_written(np.array([row]))


def color_of(world: World, row: int, link: int | str) -> Rgba | None:
    """Return the color of a link of the entity in `row`, of its first shape; None where there is nothing to see."""
    place = attachments.link_index(world, row, link)
    # The first shape stands for the link, as PyBullet has one color per link in its answers.
    own = next((geometry.rgba for of, geometry in _visuals(world, row) if of == place), None)
    red, green, blue, opacity = world.look.colors(np.array([row]), np.array([place]))[0].tolist()
    return own if red < 0.0 else (red, green, blue, opacity)


def _visuals(world: World, row: int) -> Iterator[tuple[int, Geometry]]:
    """Yield link and geometry of each visual shape of the entity in `row`."""
    model, shape_id = world.model_of(row), int(world.shape_id[row])
    if model is not None:
        yield from ((part.link, part.geometry) for part in model.visuals)
    elif shape_id >= 0 and world.shapes[shape_id].visual is not None:
        visual = world.shapes[shape_id].visual
        assert visual is not None
        yield BASE, visual
