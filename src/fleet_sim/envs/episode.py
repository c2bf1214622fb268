"""What environments share about a run: what exists only during an episode, and people who watch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from fleet_sim.envs.drawing import Image
from fleet_sim.errors import InvalidValueError
from fleet_sim.simulation import MultiRobotSimulationCore

Part = TypeVar("Part")


class Drawn(Protocol):
    """What an environment makes at its first reset."""

    @property
    def sim(self) -> MultiRobotSimulationCore:
        """The simulation that it is in."""

    def draw(self) -> Image:
        """Return a picture (H, W, 3)."""

    def close(self) -> None:
        """End it."""


Shown = TypeVar("Shown", bound=Drawn)


def begun(part: Part | None) -> Part:
    """Return what `reset` has made; raises InvalidValueError before the first reset."""
    if part is None:
        raise InvalidValueError("this needs a running episode; call reset() first")
    return part


HUMAN, PICTURES = "human", "rgb_array"
RENDER_MODES = [HUMAN, PICTURES]


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


class Rendered(Generic[Shown]):
    """Rendering and closing, for environments that keep what they show in `_shown`; None before the first reset."""

    render_mode: str | None
    _shown: Shown | None = None
    _is_seen = False

    def begun_anew(self, make: Callable[[], Shown], begin: Callable[[Shown], object]) -> Shown:
        """Return what is shown, after `begin`; `make` makes it the first time, and people see it from then on."""
        if self._shown is None:
            self._shown, self._is_seen = make(), False
        begin(self._shown)
        if not self._is_seen and self.render_mode == HUMAN:
            # Not before, when all of it is out of the way: pages begin where all is seen.
            self._is_seen = True
            show_to_people(self._shown.sim)
        return self._shown

    def render(self) -> Image | None:
        """Return a picture (480, 480, 3) in the mode rgb_array, else None: "human" is the live view in the browser."""
        return begun(self._shown).draw() if self.render_mode == PICTURES else None

    def close(self) -> None:
        """End the simulation; may be called again."""
        if self._shown is not None:
            self._shown.close()
            self._shown = None
