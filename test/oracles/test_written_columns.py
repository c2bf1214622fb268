"""What is written to bodies that an engine moves stays written: random operations on both engines, beside a record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from oracle_rows import holds

import fleet_sim as fs

Make = Callable[..., fs.MultiRobotSimulationCore]
BOX = fs.ShapeParams("box", half_extents=(0.1, 0.2, 0.3))


class World:
    """Boxes that fly and an arm, and what each of them was last told: poses, and positions of joints."""

    def __init__(self, make_sim: Make, engine: str, rng: np.random.Generator, timestep: float) -> None:
        self.rng = rng
        self.sim = make_sim(physics=True, timestep=timestep, engine=engine, enable_floor=False)
        place = fs.Pose.from_euler(0.3, -4.0, 0.2, yaw=0.7)
        self.arm = fs.Agent.from_urdf("arm6", place, sim_core=self.sim, use_fixed_base=True)
        self.boxes: list[Any] = []
        self.made = 0
        self.told: dict[Any, Any] = {}
        self.steps: list[Any] = []
        for _ in range(3):
            self.spawn()

    def state(self) -> list[np.ndarray]:
        """Return all that can be read of the entities."""
        read = [np.concatenate([box.position, box.get_pose().orientation, box.velocity]) for box in self.boxes]
        return [*read, self.arm.joint_positions.copy(), self.arm.joint_velocities.copy()]

    def box(self) -> Any:
        return self.boxes[self.rng.integers(len(self.boxes))]

    def spawn(self) -> None:
        self.made += 1
        turn = self.rng.normal(size=4)
        # So far apart that they never touch.
        pose = fs.Pose([7.0 * self.made, 0.3, 30.0], (turn / np.linalg.norm(turn)).tolist())
        self.boxes.append(self.sim.spawn(fs.SimObjectSpawnParams(BOX, BOX, pose, mass=1.5)))
        self.told[self.boxes[-1]] = pose

    def remove(self) -> None:
        if len(self.boxes) > 2:
            box = self.boxes.pop(int(self.rng.integers(len(self.boxes))))
            self.sim.remove_object(box)
            self.told.pop(box, None)

    def set_pose(self) -> None:
        box, turn = self.box(), self.rng.normal(size=4)
        pose = fs.Pose([box.position[0], *self.rng.uniform(5, 30, 2).tolist()], (turn / np.linalg.norm(turn)).tolist())
        box.set_pose(pose)
        self.told[box] = pose

    def joints(self) -> None:
        low, high = -0.4, 0.4
        angles = dict(zip(self.arm.joint_names[1:7], self.rng.uniform(low, high, 6).tolist(), strict=True))
        self.arm.set_joint_positions(angles)
        self.told[self.arm] = angles

    def command(self) -> None:
        self.arm.set_joint_target(int(self.rng.integers(1, 7)), float(self.rng.uniform(-0.4, 0.4)))
        self.told.pop(self.arm, None)

    def look(self) -> None:
        self.box().set_color((0.2, 0.4, 0.6, 1.0))
        self.box().set_material(friction=0.3)

    def step(self) -> None:
        self.sim.step_once()
        self.told.clear()

    def push(self) -> None:
        self.box().apply_force(self.rng.uniform(-9, 9, 3).tolist())

    def rebuild(self) -> None:
        before = self.state()
        self.sim.rebuild_engine()
        same(self.state(), before)

    def there_and_back(self) -> None:
        """Go on twice from a saved state: the same as before, and with what waited then."""
        checkpoint, before, runs = self.sim.save_state(), self.state(), []
        for _ in range(2):
            for _ in range(3):
                self.sim.step_once()
            runs.append(self.state())
            self.box().set_pose(fs.Pose((0.0, 0.0, 90.0)))
            self.sim.restore_state(checkpoint)
            same(self.state(), before)
        same(runs[1], runs[0])

    def check(self) -> None:
        for told, what in self.told.items():
            if told is self.arm:
                for name, angle in what.items():
                    assert told.get_joint_state_by_name(name)[0] == pytest.approx(angle, abs=1e-12)
            else:
                assert told.get_pose().position == pytest.approx(what.position, abs=1e-9)
                assert abs(float(np.dot(told.get_pose().orientation, what.orientation))) == pytest.approx(1.0)


def same(one: list[np.ndarray], two: list[np.ndarray]) -> None:
    assert len(one) == len(two)
    for here, there in zip(one, two, strict=True):
        assert here == pytest.approx(there, rel=1e-9, abs=1e-9)


OPERATIONS = ("spawn", "remove", "set_pose", "joints", "command", "look", "step", "push", "rebuild", "there_and_back")


@holds(
    "api:SimObject.get_pose",
    "api:Agent.joint_positions",
    "api:MultiRobotSimulationCore.restore_state",
    fault="engines/bullet/engine.py: forces that wait for the next step are not restored",
)
@pytest.mark.parametrize("engine", ["bullet", "mujoco"])
@pytest.mark.parametrize(("seed", "timestep"), [(1, 0.05), (2, 0.013)])
def test_what_was_written_is_there(make_sim: Make, engine: str, seed: int, timestep: float) -> None:
    pytest.importorskip("pybullet" if engine == "bullet" else "mujoco")
    rng = np.random.default_rng(seed)
    world, done = World(make_sim, engine, rng, timestep), []
    for _ in range(40):
        done.append(OPERATIONS[rng.integers(len(OPERATIONS))])
        try:
            getattr(world, done[-1])()
            world.check()
        except AssertionError as error:
            raise AssertionError(f"after {done}: {error}") from error
