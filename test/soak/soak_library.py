"""The library under load: one long run with spawns, goals, physics, logs and checkpoints, and short ones beside it.

A process of `make soak`, see run.py. Each round is the same work, so that what remains after a round is a leak.
"""

from __future__ import annotations

import gc
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from soak_tally import Tally

import fleet_sim as fs
from fleet_sim.base.errors import FleetSimError
from fleet_sim.base.files import resolve_config
from fleet_sim.base.settings import load_mapping
from fleet_sim.swarm import World_from_config
from fleet_sim.swarm.pictures import GifRecorder

RTF = 1.5
ROBOTS = 40
SMALL = fs.ShapeParams("box", half_extents=(0.2, 0.2, 0.1))
BOX = {"shape_type": "box", "half_extents": [0.25, 0.2, 0.1]}
LIDAR = {"type": "lidar", "rate": 5, "rays": 90, "range_max": 6.0, "pose": [0.0, 0.0, 0.05]}
SCENARIO: dict[str, Any] = {
    "simulation": {"timestep": 0.05, "target_rtf": RTF, "physics": True, "monitor": False, "seed": 5, "gui": False},
    "robots": [
        {
            "name": "bot",
            "grid": {"count": ROBOTS, "columns": 10, "spacing": [1.5, 1.5, 0]},
            "pose": [0, 0, 0.1],
            "shape": BOX,
        }
    ],
    "objects": [
        {"name": "crate", "grid": {"count": 6, "spacing": [1, 0, 0]}, "pose": [0, -3, 0.5], "shape": BOX, "mass": 1.0},
        {"name": "pallet", "grid": {"count": 6, "spacing": [1, 0, 0]}, "pose": [0, -6, 0.1], "shape": BOX},
    ],
}


class Library:
    """The long run and what happens in a round."""

    def __init__(self, folder: Path) -> None:
        self.tally = Tally("library")
        self.folder = folder
        self.sim = fs.MultiRobotSimulationCore.from_dict(SCENARIO)
        self.rng = np.random.default_rng(0)
        self.round = 0
        self.stopping = False

    def run(self) -> None:
        """Work in rounds until the process is stopped."""
        while not self.stopping:
            self.round += 1
            for work, every in WORK:
                if not self.stopping and self.round % every == 0:
                    try:
                        work(self)
                    except Exception:
                        self.tally.fail_with_traceback(work.__name__)
                self.tally.tell()
            # Simulations that were closed are cycles of objects. Python itself collects them every forty rounds or so,
            # and what waits looks like a leak until then.
            gc.collect()

    def stop(self, number: int, frame: object) -> None:
        """Let the present work be the last; a signal handler."""
        self.stopping = True
        self.sim.stop()

    def go(self, seconds: float) -> None:
        """Let the long run go on."""

        def told(sim: fs.MultiRobotSimulationCore, dt: float) -> None:
            self.tally.steps += 1
            self.tally.step_times.append(sim.profiler.totals[-1])
            self.tally.tell()

        self.sim.run_simulation(seconds, told)

    def did(self, count: int = 1) -> None:
        """Count operations."""
        self.tally.operations += count

    def goal(self) -> fs.Pose:
        """Return a random goal in the hall."""
        x, y = self.rng.random(2) * 15.0
        return fs.Pose.from_yaw(x, y, 0.1, float(self.rng.random()))

    # ---- the work of a round -----------------------------------------------------------------------------------------

    def commands(self) -> None:
        """Commands from the inbox, recorded, written as plain data and read again."""
        log = fs.record_commands(self.sim)
        names = tuple(f"bot_{index}" for index in range(ROBOTS))
        places = np.column_stack((self.rng.random((ROBOTS, 2)) * 15.0, np.full(ROBOTS, 0.1)))
        upright = np.tile([0.0, 0.0, 0.0, 1.0], (ROBOTS, 1))
        sent = [self.sim.inbox.put(fs.Navigate(names=names, positions=places, orientations=upright))]
        sent += [self.sim.inbox.put(fs.Stop(names=(name,))) for name in names[::7]]
        self.go(8.0)
        log.stop()
        given = [entry.command for entry in log.entries]
        if [fs.Command.from_dict(command.to_dict()) for command in given] != given:
            self.tally.fail("a command log was read otherwise than it was written")
        if not self.stopping and any(future.result(10.0).rejected for future in sent):
            self.tally.fail("commands were rejected")
        self.did(len(sent) + 2)

    def visitors(self) -> None:
        """Robots and crates come, work with a sensor that is read, and go."""
        guests = [
            self.sim.spawn(fs.AgentSpawnParams(SMALL, SMALL, pose, name=f"guest_{n}", sensors=[LIDAR]))
            for n, pose in enumerate(fs.Pose((20.0 + n, 0.0, 0.1)) for n in range(8))
        ]
        crates = [
            self.sim.spawn(fs.SimObjectSpawnParams(SMALL, SMALL, fs.Pose((18.0, n, 2.0)), mass=0.5, name=f"box_{n}"))
            for n in range(8)
        ]
        readings: list[float] = []
        for guest in guests:
            guest.sensor("scan").on_reading(lambda sensor, reading: readings.append(reading.time))
            guest.add_action_sequence([fs.MoveTo(self.goal()), fs.Wait(0.5), fs.MoveTo(self.goal())])
        self.go(3.0)
        for guest in guests[::2]:
            guest.clear_actions()
        self.go(2.0)
        self.sim.remove_objects([*guests, *crates])
        if not readings and not self.stopping:
            self.tally.fail("no sensor was read")
        # Spawned and removed; goals and cancellations; readings.
        self.did(2 * 16 + 8 + 4 + len(readings))

    def carrying(self) -> None:
        """Pick, drop, and what is refused."""
        bot = self.sim.get_object("bot_0")
        bot.add_action_sequence([fs.Pick("pallet_0"), fs.Drop(fs.Pose((float(self.round % 5), -6.0, 0.1)))])
        for wrong in ({"pose": [float("nan"), 0, 0]}, {"shape": {"shape_type": "blob"}}, {"colour": 1}):
            try:
                fs.AgentSpawnParams.from_dict({"name": "wrong", "shape": BOX, **wrong})
            except FleetSimError:
                self.tally.refused += 1
            else:
                self.tally.fail(f"{wrong} was accepted")
        self.go(3.0)
        self.sim.draw_picture(64, 48)
        self.did(3)

    def checkpoints(self) -> None:
        """Save, go on, restore, go on: the same state again."""
        saved = self.sim.save_state()
        self.go(1.0)
        first = self.sim.state_hash()
        self.sim.restore_state(saved)
        self.go(1.0)
        if self.sim.state_hash() != first and not self.stopping:
            self.tally.fail("a restored state went on otherwise")
        self.did(2)

    def resets(self) -> None:
        """Begin anew, with a new engine."""
        self.sim.reset()
        self.sim.rebuild_engine()
        self.did(2)

    def other_runs(self) -> None:
        """Open, run and close a swarm world with a film, an environment and a second simulation."""
        config = load_mapping(resolve_config("flocking.yaml"))
        world = World_from_config(config)
        world.setup()
        with world:
            world.subscribers.append(GifRecorder(self.folder / "film.gif", every_ith_frame=10, width=80))
            world.evaluate(60)
        with fs.MultiRobotSimulationCore.from_dict(SCENARIO) as other:
            for _ in range(20):
                other.step_once()
            other.draw_picture(32, 24)
        self.did(2)
        self.tally.tell()
        import gymnasium

        env = gymnasium.make("fleet_sim.learning.envs:FleetSim/Navigation-v0", num_robots=4)
        env.reset(seed=1)
        for _ in range(20):
            env.step(env.action_space.sample())
        env.close()
        self.did()


WORK: list[tuple[Callable[[Library], None], int]] = [
    (Library.commands, 1),
    (Library.visitors, 1),
    (Library.carrying, 1),
    (Library.checkpoints, 2),
    (Library.other_runs, 5),
    (Library.resets, 10),
]
"""Each kind of work, and each how many rounds it is done."""


def main() -> int:
    """Work until the process is ended by SIGTERM or Ctrl-C."""
    with tempfile.TemporaryDirectory() as folder:
        library = Library(Path(folder))
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, library.stop)
        library.run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
