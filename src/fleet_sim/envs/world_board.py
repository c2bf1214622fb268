"""What the parts of a SpreadVectorEnv write into, and what runs in each of their processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from fleet_sim.arrays import Bools, Floats
from fleet_sim.envs.observations import Observations
from fleet_sim.envs.vector import NavigationVectorEnv
from fleet_sim.parallel import Perform

ALIGNMENT = 64
"""Arrays begin at multiples of a line of the processor's cache, in bytes."""


class WorldBoard:
    """Arrays with a row for each of N robots: `actions` (N, 2) as given, and what came of the last step.

    `seen` and `last` are observations (N, S): after the step, and before episodes began anew in it. `rewards`,
    `terminated`, `truncated` and `reached` are (N,). In `block` of shared memory, or of this process alone.
    """

    def __init__(self, robots: int, size: int, block: SharedMemory | None) -> None:
        kinds = _kinds(robots, size)
        buffer = memoryview(bytearray(_bytes(robots, size))) if block is None else block.buf
        arrays, begin = {}, 0
        for name, (kind, shape) in kinds.items():
            arrays[name] = np.ndarray(shape, kind, buffer, begin)
            begin += _aligned(arrays[name].nbytes)
        self.actions: Floats = arrays["actions"]
        self.rewards: Floats = arrays["rewards"]
        self.seen: Observations = arrays["seen"]
        self.last: Observations = arrays["last"]
        self.terminated: Bools = arrays["terminated"]
        self.truncated: Bools = arrays["truncated"]
        self.reached: Bools = arrays["reached"]

    def take(self, rows: slice, values: Mapping[str, Any]) -> None:
        """Write `values` by the names of arrays into `rows`."""
        for name, value in values.items():
            getattr(self, name)[rows] = value


def _kinds(robots: int, size: int) -> dict[str, tuple[type, tuple[int, ...]]]:
    seen, flags = (np.float32, (robots, size)), (np.bool_, (robots,))
    found: dict[str, tuple[type, tuple[int, ...]]] = {"actions": (np.float64, (robots, 2)), "seen": seen, "last": seen}
    found |= {"rewards": (np.float64, (robots,)), "terminated": flags, "truncated": flags, "reached": flags}
    return found


def _aligned(count: int) -> int:
    return -(-count // ALIGNMENT) * ALIGNMENT


def _bytes(robots: int, size: int) -> int:
    return sum(_aligned(int(np.prod(shape)) * np.dtype(kind).itemsize) for kind, shape in _kinds(robots, size).values())


def shared_block(robots: int, size: int) -> SharedMemory:
    """Return new shared memory for a WorldBoard."""
    return SharedMemory(create=True, size=_bytes(robots, size))


@dataclass(frozen=True)
class PartOfWorlds:
    """Begins a process that holds the robots of `rows`, of `robots` in all with `size` values in an observation.

    With the name of shared `memory` results are written there; without it they are returned.
    """

    rows: slice
    robots: int
    size: int
    memory: str | None
    arguments: Mapping[str, Any]

    def __call__(self) -> Perform:
        envs = NavigationVectorEnv(self.rows.stop - self.rows.start, **self.arguments)
        return _Part(envs, self)


class _Part:
    """Some of the worlds, in their process."""

    def __init__(self, envs: NavigationVectorEnv, part: PartOfWorlds) -> None:
        self._envs, self._rows = envs, part.rows
        self._block = SharedMemory(part.memory) if part.memory is not None else None
        self._board = WorldBoard(part.robots, part.size, self._block) if self._block is not None else None

    def __call__(self, call: tuple[Any, ...]) -> Any:
        """Do "reset", "step" or "render", with what belongs to it."""
        what, *given = call
        if what == "render":
            return self._envs.render()
        values = self._step(given[0]) if what == "step" else self._reset(*given)
        if self._board is None:
            return values
        self._board.take(self._rows, values)
        return None

    def _reset(self, seeds: Sequence[int | None], mask: Bools) -> dict[str, Any]:
        return {"seen": self._envs.reset(seed=seeds, options={"reset_mask": mask})[0]}

    def _step(self, actions: Floats | None) -> dict[str, Any]:
        """Step the worlds of this process and return its results by the names of the board.

        Where there is a board, its rows of that have the actions, and `actions` is not used.
        """
        wanted = actions if self._board is None else self._board.actions[self._rows]
        seen, rewards, terminated, truncated, infos = self._envs.step(wanted)
        values = {"seen": seen, "rewards": rewards, "terminated": terminated, "truncated": truncated}
        values["reached"] = infos["is_success"]
        if self._envs.autoreset_mode is AutoresetMode.SAME_STEP:
            # In worlds in which nothing ended, what was seen last is what is seen.
            values["last"] = infos.get("final_obs", seen)
        return values
