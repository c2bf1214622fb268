"""SpreadVectorEnv: the worlds of NavigationVectorEnv, spread over processes of this machine or actors of Ray.

Each process steps some of the worlds and writes what it observes into memory that the caller reads; actors of Ray send
it instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from multiprocessing.shared_memory import SharedMemory
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from fleet_sim.base.arrays import Bools, Floats
from fleet_sim.base.errors import FleetSimError, InvalidValueError, StateError
from fleet_sim.base.parallel import Host, Perform, local_hosts, ray_hosts
from fleet_sim.learning.envs.arena import Observations, Share
from fleet_sim.learning.envs.episode import Image
from fleet_sim.learning.envs.tasks import NavigationTask
from fleet_sim.learning.envs.vector import NavigationVectorEnv, WorldsVectorEnv

# What the parts of a SpreadVectorEnv write into, and what runs in each of their processes.


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


_T = TypeVar("_T", bound=np.generic)


class SpreadVectorEnv(WorldsVectorEnv):
    """NavigationVectorEnv whose worlds are stepped by `processes` at the same time: the same results, bit for bit.

    Processes of this machine write what they observe into memory that they share with the caller. With `address` they
    are actors of Ray instead ("local", "auto" or "ray://host:port"), which may be on other machines; each takes a
    processor of the cluster. `step_async` and `step_wait` are the two halves of `step`: between them the caller can
    learn, or choose the next actions, while the worlds are stepped. With `copy` the arrays that are returned stay as
    they are; without it observations and rewards are the shared memory itself, which the next step writes over and
    which ends with the environment.

    Processes import the caller's main module: guard it with `if __name__ == "__main__"`. Raises InvalidValueError for
    more processes than worlds or, with Ray, than processors. A process that dies ends all of them: FleetSimError.
    """

    def __init__(
        self,
        num_envs: int = 2,
        processes: int = 2,
        address: str | None = None,
        copy: bool = True,
        render_mode: str | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        **settings: Any,
    ) -> None:
        super().__init__(num_envs, render_mode, autoreset_mode, settings)
        self._copy = copy
        worlds, robots = self._shape
        if not 1 <= processes <= worlds:
            raise InvalidValueError(f"processes: expected 1 to {worlds}, the number of worlds, got {processes}")
        # Parts differ by one world at most.
        limits = [worlds * part // processes for part in range(processes + 1)]
        self._worlds = [slice(begin, end) for begin, end in pairwise(limits)]
        self._rows = [slice(part.start * robots, part.stop * robots) for part in self._worlds]
        size = NavigationTask.observation_size(self.params)
        # Ray's actors may be on other machines, with which no memory is shared.
        self._block = shared_block(num_envs, size) if address is None else None
        self._board = WorldBoard(num_envs, size, self._block)
        name = self._block.name if self._block is not None else None
        begins = []
        for part, rows in zip(self._worlds, self._rows, strict=True):
            own = {"render_mode": render_mode, "autoreset_mode": self.autoreset_mode.value, **settings}
            own["share"] = Share(part.start, worlds)
            place = PartOfWorlds(rows, num_envs, size, name, own)
            begins.append((f"worlds {part.start} to {part.stop - 1}", place))
        self._hosts: list[Host] = []
        self._asked: list[int] = []
        """The parts whose answers nobody has waited for yet."""
        self.closed = False
        try:
            self._hosts = local_hosts(begins) if address is None else ray_hosts(begins, address)
        finally:
            # They did not start: nobody else gives the memory back.
            if not self._hosts:
                self.close()

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """Begin new episodes in all worlds, or for the robots of `options["reset_mask"]` (a bool array)."""
        mask, seeds = self._reset_mask(options), self._seeds(seed)
        concerned = [part for part, rows in enumerate(self._rows) if mask[rows].any()]
        self._call({part: ("reset", seeds[self._worlds[part]], mask[self._rows[part]]) for part in concerned})
        self._ended[mask] = False
        return self._returned(self._board.seen), {}

    def step(self, actions: Any) -> tuple[Observations, Floats, Bools, Bools, dict[str, Any]]:
        """Advance all worlds by one time step."""
        self.step_async(actions)
        return self.step_wait()

    def step_async(self, actions: Any) -> None:
        """Let all worlds begin a time step, and return at once: `step_wait` returns what comes of it.

        Until then nothing else can be asked of the worlds, and without `copy` what they returned before changes.
        """
        self._check_none_ended()
        self._check_ready()
        board = self._board
        board.actions[:] = np.asarray(actions, np.float64).reshape(self.num_envs, 2)
        self._send(
            {
                # Processes of this machine find the actions in shared memory.
                part: ("step", None if self._block is not None else board.actions[rows])
                for part, rows in enumerate(self._rows)
            }
        )

    def step_wait(self) -> tuple[Observations, Floats, Bools, Bools, dict[str, Any]]:
        """Wait until the step that `step_async` began has ended, and return what `step` does.

        Raises StateError where none was begun.
        """
        if not self._asked:
            raise StateError("no step is under way; begin one with step_async")
        self._receive()
        board = self._board
        # The board is written over by the next step.
        terminated, truncated = board.terminated.copy(), board.truncated.copy()
        self._ended = terminated | truncated
        same_step = self.autoreset_mode is AutoresetMode.SAME_STEP and bool(self._ended.any())
        infos = self._infos(board.reached.copy(), board.last.copy() if same_step else None)
        return self._returned(board.seen), self._returned(board.rewards), terminated, truncated, infos

    def render(self) -> tuple[Image, ...] | None:
        """Return a top view of each world, or None without a render mode."""
        if self.render_mode is None:
            return None
        pictures = self._call(dict.fromkeys(range(len(self._hosts)), ("render", None)))
        return tuple(picture for part in pictures for picture in part)

    def close_extras(self, **kwargs: Any) -> None:
        """End the processes and give the memory back."""
        for host in self._hosts:
            host.close()
        self._hosts, self._asked = [], []
        if self._block is not None:
            # The arrays lie in it: a block that is in use cannot be closed.
            del self._board
            self._block.close()
            self._block.unlink()
            self._block = None

    def _returned(self, values: npt.NDArray[_T]) -> npt.NDArray[_T]:
        return values.copy() if self._copy else values

    def _call(self, calls: dict[int, tuple[Any, ...]]) -> list[Any]:
        """Make a call in each of some parts at the same time; return what is not on the board."""
        self._check_ready()
        self._send(calls)
        return self._receive()

    def _check_ready(self) -> None:
        if not self._hosts:
            raise InvalidValueError("the environment is closed; make a new one")
        if self._asked:
            raise StateError("a step is under way; wait for it with step_wait")

    def _send(self, calls: dict[int, tuple[Any, ...]]) -> None:
        try:
            for part, call in calls.items():
                self._hosts[part].send(call)
                self._asked.append(part)
        except (FleetSimError, KeyboardInterrupt):
            self.close()
            raise

    def _receive(self) -> list[Any]:
        """Return the answers of the parts that were asked, when all of them are there."""
        # Forgotten first: nothing is under way any more, whatever goes wrong.
        parts, self._asked = self._asked, []
        answers = []
        try:
            for part in parts:
                answer = self._hosts[part].receive()
                if isinstance(answer, dict):
                    self._board.take(self._rows[part], answer)
                answers.append(answer)
        except (FleetSimError, KeyboardInterrupt):
            # Some worlds have made a step that others have not: they do not belong together any more.
            self.close()
            raise
        return answers
