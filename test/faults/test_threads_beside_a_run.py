"""Four threads command, read, pause and look into a run, as fast as they can: each call is answered, and rightly."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from random import Random
from threading import Thread
from typing import Any

import numpy as np
import pytest

import fleet_sim as fs

THREADS = 4
OPERATIONS = 4_400
"""Of all threads, in an ordinary test."""

ROBOTS = 30
PATIENCE = 120.0
UPRIGHT = (0.0, 0.0, 0.0, 1.0)
BOX = {"shape_type": "box", "half_extents": [0.3, 0.2, 0.15]}
SCENARIO: dict[str, Any] = {
    "simulation": {"gui": False, "monitor": False, "target_rtf": 0, "timestep": 0.05},
    "robots": [{"name": "bot", "shape": BOX, "grid": {"count": ROBOTS, "columns": 6, "spacing": [2.0, 2.0, 0.0]}}],
    "objects": [{"name": "pallet", "shape": BOX, "pose": [0.0, 30.0, 0.0]}],
}


class Visitor:
    """One thread's work on a simulation that runs in another one."""

    def __init__(self, sim: fs.MultiRobotSimulationCore, number: int, count: int) -> None:
        self._sim, self._number, self._count = sim, number, count
        self._random = Random(number)
        self._waiting: list[Future[Any]] = []
        self._guests: list[str] = []
        self.refused = 0

    def work(self) -> int:
        """Do `count` operations; return how many were done. Raises what one of them raised."""
        with self._sim.snapshots.subscribe() as reader:
            self._reader = reader
            for _ in range(self._count):
                self._random.choice(self._WORK)(self)
                if len(self._waiting) > 20:
                    self._settle()
            self._settle()
        return self._count

    def _settle(self) -> None:
        done, missing = wait(self._waiting, PATIENCE)
        assert not missing, f"{len(missing)} calls were not answered"
        for future in done:
            try:
                self.refused += not getattr(future.result(), "ok", True)
            except fs.FleetSimError:
                self.refused += 1
        self._waiting.clear()

    def _put(self, command: fs.Command) -> None:
        self._waiting.append(self._sim.inbox.put(command))

    def _bot(self) -> str:
        return f"bot_{self._random.randrange(ROBOTS)}"

    def _pose(self) -> tuple[float, float, float]:
        return (self._random.uniform(-9.0, 9.0), self._random.uniform(-9.0, 9.0), 0.0)

    def drive(self) -> None:
        self._put(fs.Navigate(names=(self._bot(),), positions=[self._pose()], orientations=[UPRIGHT]))

    def turn(self) -> None:
        angular = [[0.0, 0.0, self._random.uniform(-1.0, 1.0)]]
        self._put(fs.SetVelocity(names=(self._bot(),), linear=[[0.5, 0.0, 0.0]], angular=angular, timeout=1.0))

    def jump(self) -> None:
        self._put(fs.SetPoses(names=(self._bot(),), positions=[self._pose()], orientations=[UPRIGHT]))

    def act(self) -> None:
        action = {"type": "move_to", "target_pose": list(self._pose())}
        self._put(fs.ExecuteAction(names=(self._bot(),), actions=(action,)))

    def cancel(self) -> None:
        self._put(fs.CancelActions(names=(self._bot(), self._bot())))

    def carry(self) -> None:
        attach = self._random.random() < 0.5
        self._put(fs.Attach(name=self._bot(), object_name="pallet", attach=attach, search_radius=100.0))

    def come(self) -> None:
        name = f"guest_{self._number}_{self._random.randrange(8)}"
        self._put(fs.Spawn(robots=({"name": name, "shape": BOX, "pose": list(self._pose())},)))
        self._guests.append(name)

    def go(self) -> None:
        if self._guests:
            self._put(fs.Remove(names=(self._guests.pop(),)))

    def pause(self) -> None:
        self._sim.pause()
        self._sim.resume()

    def look(self) -> None:
        snapshot = self._reader.latest
        if snapshot is not None:
            assert np.isfinite(snapshot.positions).all()
            assert len(snapshot.names) == len(snapshot.positions)

    def ask(self) -> None:
        self._waiting.append(self._sim.between_steps(lambda: len(self._sim.agents)))

    def save(self) -> None:
        self._put(fs.SaveState(name=f"state_{self._number}"))
        if self._random.random() < 0.1:
            self._put(fs.RestoreState(name=f"state_{self._number}"))

    _WORK = (drive, drive, turn, turn, jump, act, act, cancel, carry, come, go, pause, look, look, ask, save)


@pytest.mark.slow
def test_threads_beside_a_run(times: int, tried: Callable[[str, int], None]) -> None:
    with fs.MultiRobotSimulationCore.from_dict(SCENARIO) as sim:
        run = Thread(target=sim.run_simulation)
        run.start()
        visitors = [Visitor(sim, number, OPERATIONS * times // THREADS) for number in range(THREADS)]
        try:
            with ThreadPoolExecutor(THREADS) as pool:
                done = list(pool.map(Visitor.work, visitors))
            assert run.is_alive() and sim.guard.total == 0
        finally:
            sim.stop()
            run.join(PATIENCE)
        assert not run.is_alive()
        sim.step_once()
        assert np.isfinite(sim.world.position[sim.world.rows]).all()
        # Robots that were gone already, and states that were not saved yet.
        assert sum(visitor.refused for visitor in visitors) < sum(done) / 2
    tried("operations of threads beside a run", sum(done))
