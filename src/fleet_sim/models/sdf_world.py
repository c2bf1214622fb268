"""Reads SDF files with any number of models: where each of them is, and what of the file is left out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from fleet_sim.core.robot_model import RobotModel
from fleet_sim.errors import did_you_mean
from fleet_sim.models.markup import Element
from fleet_sim.models.meshes import MeshFinder
from fleet_sim.models.sdf import Include, SdfModel, included, is_true, name_of
from fleet_sim.models.sdf_frames import Pose, SdfFrames, tuples
from fleet_sim.models.values import Quaternion, Vector
from fleet_sim.spatial import poses

_TAKEN = {
    "sdf": {"world", "model", "include"},
    "world": {"model", "include", "frame", "gravity"},
    "include": {"uri", "name", "pose", "static"},
    "model": {"static", "pose", "link", "joint", "frame", "model", "include"},
    "link": {"pose", "inertial", "visual", "collision"},
    "visual": {"pose", "geometry", "material", "transparency"},
    "material": {"ambient", "diffuse"},
    "collision": {"pose", "geometry"},
    "joint": {"pose", "parent", "child", "axis"},
}
"""What is read of each element; what is below other elements is read as a whole."""
_COSMETIC = {"cast_shadows", "laser_retro", "meta", "specular", "emissive", "visibility_flags", "lighting", "name"}
"""What no part of a simulation could show, so that leaving it out need not be said."""


@dataclass(frozen=True, eq=False)
class PlacedModel:
    """A model of a world: its name there, and the pose of its base link."""

    name: str
    model: RobotModel
    static: bool
    position: Vector
    orientation: Quaternion


@dataclass(frozen=True, eq=False)
class SdfWorld:
    """What an SDF file holds: models in its order, and the gravity in m/s2, None where it says nothing.

    `left_out` names what is not taken, such as lights and plugins: each tag with names or a count.
    """

    models: tuple[PlacedModel, ...]
    gravity: Vector | None
    left_out: tuple[str, ...]


def read_sdf_world(root: Element, path: str, meshes: MeshFinder, include: Include) -> SdfWorld:
    """Return the world of an <sdf> element; raises InvalidValueError naming the element at fault."""
    if root.tag != "sdf":
        raise root.error(f"an SDF file has an <sdf> element at its top.{did_you_mean(root.tag, ['sdf'])}")
    # A file of loose models has no <world>; its top holds them then.
    place = root.child("world") or root
    entries = [_WorldModel(element, meshes, include) for element in place.all("model", "include")]
    by_name: dict[str, _WorldModel] = {}
    for entry in entries:
        if by_name.setdefault(entry.name, entry) is not entry:
            first = by_name[entry.name].element.line
            raise entry.element.error(f"another model is called {entry.name!r}, in line {first}; rename one of them")
    # Models and frames are found by the same names, as the poses of both may be relative to either.
    placed = {entry.name: entry.placed for entry in entries}
    placed.update((frame.need("name"), frame) for frame in place.all("frame"))
    frames = SdfFrames(placed, {entry.name: entry.model.frame for entry in entries})
    gravity = place.child("gravity")
    x, y, z = gravity.text_numbers(3) if gravity else (0.0, 0.0, 0.0)
    return SdfWorld(
        models=tuple(entry.read(path, frames.pose(entry.name)) for entry in entries),
        gravity=(x, y, z) if gravity else None,
        left_out=_left_out([root, *(entry.file_element for entry in entries if entry.element.tag == "include")]),
    )


class _WorldModel:
    """A <model> or <include> of a world."""

    def __init__(self, element: Element, meshes: MeshFinder, include: Include) -> None:
        self.element = element
        self.file_element, finder = included(element, meshes, include)
        self.name = name_of(element, self.file_element)
        self.model = SdfModel(self.file_element, finder, include)
        # The pose of an <include> takes the place of that in the file.
        self.placed = element if element.child("pose") else self.file_element
        for part in (element, self.file_element):
            if part.child("placement_frame") or part.attributes.get("placement_frame"):
                raise part.error("a placement frame is not supported; give the pose of the model")

    def read(self, path: str, pose: Pose) -> PlacedModel:
        # What the place of inclusion says wins over the included file.
        given = self.element.child("static") if self.element.tag == "include" else None
        static = self.model.static if given is None else is_true(given)
        model = self.model.read(path, static=static)
        position, orientation = tuples(*poses.compose(*pose, *self.model.frame(model.base_name)))
        return PlacedModel(self.name, model, static, position, orientation)


def _left_out(roots: list[Element]) -> tuple[str, ...]:
    found: dict[str, list[str]] = defaultdict(list)
    for root in roots:
        for element in _unread(root):
            found[element.tag].append(element.attributes.get("name", ""))
    return tuple(_described(tag, names) for tag, names in sorted(found.items()))


def _unread(element: Element) -> Iterator[Element]:
    taken = _TAKEN.get(element.tag)
    for child in element.children if taken is not None else ():
        if child.tag in (taken or ()):
            yield from _unread(child)
        elif child.tag not in _COSMETIC:
            yield child


def _described(tag: str, names: list[str]) -> str:
    if 0 < len(names) <= 3 and all(names):
        return f"{tag} {', '.join(map(repr, names))}"
    return tag if len(names) == 1 else f"{tag} ({len(names)})"
