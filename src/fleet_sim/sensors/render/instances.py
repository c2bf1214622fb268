"""What a picture shows: instances of meshes, with what carries them, sorted by mesh."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fleet_sim.arrays import Floats, Ints, Rows
from fleet_sim.meshes import primitives
from fleet_sim.spatial.shapes import ROUND_KINDS, ShapeKind


class MeshKey(NamedTuple):
    """Names a mesh; instances with equal keys are drawn together. `size` is part of capsules, `path` of files.

    A `mirrored` mesh has one or three negative scale factors. A `two_sided` one is seen from behind as well.
    `version` is that of the file.
    """

    kind: ShapeKind
    path: str = ""
    size: tuple[float, ...] = ()
    mirrored: bool = False
    two_sided: bool = False
    version: int = 0

    @property
    def levels(self) -> int:
        """How many levels of detail there are."""
        return len(primitives.SEGMENTS) if self.kind in ROUND_KINDS else 1


class MeshInstances(NamedTuple):
    """Instances `start` to `stop` of a table, which show one mesh."""

    key: MeshKey
    start: int
    stop: int


@dataclass(frozen=True, eq=False)
class InstanceTable:
    """Instances (M) in the order of `batches`: what they show, and the row and link that carry them."""

    batches: tuple[MeshInstances, ...]
    rows: Rows
    links: Ints
    ids: npt.NDArray[np.int32]
    """Object id and link (M, 2)."""
    positions: Floats
    orientations: Floats
    scales: npt.NDArray[np.float32]
    colors: npt.NDArray[np.uint8]
    radii: Floats
    """Of spheres around the instances' origins that hold them."""
    on_links: Rows
    """Instances that are carried by a link other than the base."""
    placed: Rows
    """Instances that do not sit on the frame that carries them."""
