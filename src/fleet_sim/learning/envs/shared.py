"""What environments share: spaces, ids, what exists only during an episode, and what people see of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import InvalidValueError, of_extra
from fleet_sim.simulation import MultiRobotSimulationCore

# Spaces of the arena environments, and the Gymnasium ids; importing this module checks that Gymnasium is there.


with of_extra("gymnasium", "gym", "an environment of fleet_sim.learning.envs"):
    import gymnasium
    from gymnasium import spaces

OBSERVATION_BOUND = 2.0
"""Observations are clipped to this bound, in both directions."""


def observation_box(size: int) -> Any:
    """Return the observation space of a robot."""
    return spaces.Box(-OBSERVATION_BOUND, OBSERVATION_BOUND, (size,), np.float32)


def drive_box() -> Any:
    """Return the action space: linear and angular velocity, each from -1 to 1."""
    return spaces.Box(-1.0, 1.0, (2,), np.float32)


# The Gymnasium ids of the environments.


NAMESPACE = "FleetSim"
ENTRY_POINTS = "fleet_sim.environment"
"""Entry-point group for environments of other distributions: `Theirs/Dock-v0 = theirs.dock:DockEnv`."""


@dataclass(frozen=True)
class Entry:
    """The import paths of an environment; `vector` if there is also a form with many worlds in one simulation."""

    single: str
    vector: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Default arguments of the environment."""


ENVIRONMENTS: dict[str, Entry] = {
    f"{NAMESPACE}/Navigation-v0": Entry(
        "fleet_sim.learning.envs.vector:NavigationEnv", "fleet_sim.learning.envs.vector:NavigationVectorEnv"
    ),
    f"{NAMESPACE}/Warehouse-v0": Entry(
        "fleet_sim.learning.envs.vector:WarehouseEnv", "fleet_sim.learning.envs.vector:WarehouseVectorEnv"
    ),
    f"{NAMESPACE}/FrankaPosition-v0": Entry(
        "fleet_sim.learning.envs.franka:Franka0Env", settings={"normalized_actions": True}
    ),
    f"{NAMESPACE}/FrankaVelocity-v0": Entry(
        "fleet_sim.learning.envs.franka:Franka1Env", settings={"normalized_actions": True}
    ),
    f"{NAMESPACE}/FrankaDelta-v0": Entry("fleet_sim.learning.envs.franka:Franka2Env"),
}
"""Every environment by id."""


def register_all() -> None:
    """Register all ids with Gymnasium, including those of other distributions; may be called again."""
    for name, entry in ENVIRONMENTS.items():
        # Once: registering an id again would print a warning in every program that imports this twice.
        if name not in gymnasium.registry:
            gymnasium.register(
                id=name, entry_point=entry.single, vector_entry_point=entry.vector, kwargs=dict(entry.settings)
            )
    # No registry of our own here: Gymnasium's imports the class when an environment is made.
    for point in entry_points(group=ENTRY_POINTS):
        if point.name not in gymnasium.registry:
            gymnasium.register(id=point.name, entry_point=f"{point.module}:{point.attr}")


# Top views of arenas: discs, rings and lines drawn into an array, without a window or a graphics library. Each shape
# is drawn from the signed distance of a pixel's centre to its edge: coverage falls from 1 to 0 within one pixel,
# which gives smooth edges. Only the pixels of the shape's bounding box are touched.


Image = npt.NDArray[np.uint8]
Color = tuple[int, int, int]

PAPER: Color = (245, 245, 242)
OBSTACLE: Color = (120, 122, 126)
ROBOTS: tuple[Color, ...] = (
    (42, 107, 191),
    (214, 101, 38),
    (46, 145, 82),
    (150, 84, 178),
    (186, 52, 66),
    (94, 104, 20),
)
"""Colors of the robots, reused in this order."""


class ArenaCanvas:
    """A square picture of the square of side `size` m around the origin; x to the right, y up."""

    def __init__(self, pixels: int, size: float, paper: Color = PAPER) -> None:
        self.image: Image = np.empty((pixels, pixels, 3), np.uint8)
        self.image[:] = paper
        self._scale = pixels / size
        self._middle = 0.5 * pixels

    def disc(self, centre: Floats, radius: float, color: Color, *, hole: float = 0.0) -> None:
        """Draw a disc, or a ring if `hole` (its inner radius in m) is given."""
        x, y = self._to_pixels(centre)
        outer, inner = radius * self._scale, hole * self._scale
        left, right = self._span(x, outer)
        low, high = self._span(y, outer)
        columns, lines = np.arange(left, right) + 0.5 - x, np.arange(low, high) + 0.5 - y
        distance = np.hypot(columns[None, :], lines[:, None])
        cover = np.clip(outer - distance + 0.5, 0.0, 1.0)
        if inner > 0.0:
            cover *= np.clip(distance - inner + 0.5, 0.0, 1.0)
        self._blend((slice(low, high), slice(left, right)), cover, color)

    def line(self, start: Floats, end: Floats, width: float, color: Color) -> None:
        """Draw a line `width` m wide with round ends."""
        (ax, ay), (bx, by) = self._to_pixels(start), self._to_pixels(end)
        half = 0.5 * width * self._scale
        left, right = self._span(0.5 * (ax + bx), 0.5 * abs(bx - ax) + half)
        low, high = self._span(0.5 * (ay + by), 0.5 * abs(by - ay) + half)
        x, y = np.meshgrid(np.arange(left, right) + 0.5, np.arange(low, high) + 0.5)
        # The nearest point of the segment, as a share of its length; the floor keeps a line of length 0 valid.
        length = max((bx - ax) ** 2 + (by - ay) ** 2, 1e-12)
        along = np.clip(((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / length, 0.0, 1.0)
        distance = np.hypot(x - ax - along * (bx - ax), y - ay - along * (by - ay))
        self._blend((slice(low, high), slice(left, right)), np.clip(half - distance + 0.5, 0.0, 1.0), color)

    def _to_pixels(self, point: Floats) -> tuple[float, float]:
        # Rows of pixels count down, y counts up.
        return self._middle + float(point[0]) * self._scale, self._middle - float(point[1]) * self._scale

    def _span(self, middle: float, reach: float) -> tuple[int, int]:
        edge = len(self.image)
        low = int(np.clip(np.floor(middle - reach - 1.0), 0, edge))
        return low, int(np.clip(np.ceil(middle + reach + 1.0), low, edge))

    def _blend(self, where: tuple[slice, slice], cover: Floats, color: Color) -> None:
        patch = self.image[where]
        mixed = patch + cover[..., None] * (np.array(color) - patch.astype(np.float64))
        # Rounded, not cut off: repeated blending would darken the picture.
        self.image[where] = (mixed + 0.5).astype(np.uint8)


Part = TypeVar("Part")


def begun(part: Part | None) -> Part:
    """Return what `reset` has made; raises InvalidValueError before the first reset."""
    if part is None:
        raise InvalidValueError("this needs a running episode; call reset() first")
    return part


HUMAN, PICTURES = "human", "rgb_array"
RENDER_MODES = [HUMAN, PICTURES]


def check_render_mode(mode: str | None, allowed: list[str]) -> None:
    """Raise InvalidValueError unless `mode` is None or one of `allowed`."""
    if mode is not None and mode not in allowed:
        raise InvalidValueError(f"render_mode: expected one of {', '.join(allowed)} or None, got {mode!r}")


def show_to_people(sim: MultiRobotSimulationCore) -> None:
    """Show `sim` in the browser until it is closed, and print the address.

    It goes at the pace of whoever makes the steps. The page can only watch: a pause, a reset or a robot that was sent
    elsewhere would change the episode. Raises MissingDependencyError without the extra `view`.
    """
    view = sim.view.show(browser=True, read_only=True)
    print(f"view: {view.url}", flush=True)


class Fixed(Generic[Part]):
    """An attribute that is set once, when its owner is made; setting it again is refused, as it would not count."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, owner: object, kind: type | None = None) -> Part:
        if owner is None or self._name not in vars(owner):
            raise AttributeError(f"{self._name!r} is known when an environment is made")
        value: Part = vars(owner)[self._name]
        return value

    def __set__(self, owner: object, value: Part) -> None:
        if self._name in vars(owner):
            what = f"{type(owner).__name__}.{self._name}"
            raise AttributeError(f"{what} is read when the environment is made, and stays; make another environment")
        vars(owner)[self._name] = value
