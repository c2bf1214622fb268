"""The target of the Python API: sequences of operations with values of all kinds, decoded from bytes.

Only FleetSimError may come of an operation, no column may hold what is no number, a handle whose entity is gone stays
gone, and the same sequence gives the same state again.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from fuzz_draws import ODD, TURNS, Draw
from fuzz_target import Target
from fuzz_worlds import check_columns, new_simulation

from fleet_sim import (
    Agent,
    AgentSpawnParams,
    Drop,
    JointAction,
    MoveTo,
    MultiRobotSimulationCore,
    Pick,
    ShapeParams,
    SimObject,
    SimObjectSpawnParams,
    StaleHandleError,
    Wait,
)
from fleet_sim.errors import FleetSimError

OPERATIONS_OF_A_SEQUENCE = 60


class Player:
    """Carries out a program on a simulation of its own, and remembers what it was told."""

    operations = 0
    """Of all programs in this process."""

    def __init__(self, data: bytes) -> None:
        self.told: list[str] = []
        self._draw = Draw(data)
        self._handles: list[SimObject] = []
        self._sensors: list[Any] = []
        self._saved: list[Any] = []
        self._count = 0

    def play(self, sim: MultiRobotSimulationCore) -> None:
        """Carry out operations until the bytes are used up."""
        for _ in range(OPERATIONS_OF_A_SEQUENCE):
            name, operation = self._draw.choice(OPERATIONS)
            if self._draw.is_empty:
                break
            Player.operations += 1
            try:
                operation(self, sim)
                self.told.append(f"{name}: done")
            except FleetSimError as error:
                self.told.append(f"{name}: {type(error).__name__}")
            check_columns(sim)
            self._check_gone(sim)
        sim.step_once()
        check_columns(sim)

    def _check_gone(self, sim: MultiRobotSimulationCore) -> None:
        living = {id(handle) for handle in sim.sim_objects}
        for handle in self._handles:
            if id(handle) not in living:
                try:
                    handle.get_pose()
                except StaleHandleError:
                    continue
                raise AssertionError("a stale handle works")

    def _any(self) -> Any:
        return self._draw.choice(self._handles) or self._draw.choice(ODD)

    def _agent(self) -> Any:
        agents = [handle for handle in self._handles if isinstance(handle, Agent)]
        return self._draw.choice(agents) or _Nobody()

    # ---- operations --------------------------------------------------------------------------------------------------

    def spawn(self, sim: MultiRobotSimulationCore) -> None:
        draw = self._draw
        kind, self._count = draw.byte(), self._count + 1
        shape = ShapeParams(draw.choice(("box", "sphere", "cylinder")), half_extents=(0.2, 0.2, 0.1), radius=0.2)
        common: dict[str, Any] = {"name": f"n{self._count % 40}", "collision_shape": shape, "initial_pose": draw.pose()}
        if kind < 80:
            self._handles.append(sim.spawn(SimObjectSpawnParams(mass=draw.choice((0.0, 0.0, draw.number())), **common)))
        elif kind < 200:
            mode = draw.choice(("omnidirectional", "differential"))
            battery = {"battery": {"capacity_wh": draw.number()}} if kind < 100 else {}
            speed = draw.choice((1.0, 5.0, draw.number()))
            params = AgentSpawnParams(motion_mode=mode, max_linear_vel=speed, features=battery, **common)
            self._handles.append(sim.spawn(params))
        else:
            common.pop("collision_shape")
            model = draw.choice(("arm6", "mobile_manipulator", "diff_base"))
            self._handles.append(sim.spawn(AgentSpawnParams(urdf_path=model, **common)))

    def remove(self, sim: MultiRobotSimulationCore) -> None:
        sim.remove_object(self._any())

    def step(self, sim: MultiRobotSimulationCore) -> None:
        for _ in range(self._draw.byte() % 5 + 1):
            sim.step_once()

    def set_pose(self, sim: MultiRobotSimulationCore) -> None:
        target = self._draw.choice(self._handles) or _Nobody()
        target.set_pose(self._draw.pose(), self._draw.byte() < 128)

    def set_poses(self, sim: MultiRobotSimulationCore) -> None:
        ids = [self._draw.byte() % 8 for _ in range(2)]
        numbers = [[self._draw.number() for _ in range(3)] for _ in ids]
        sim.set_poses(ids, numbers, [self._draw.choice(TURNS) for _ in ids])

    def goal(self, sim: MultiRobotSimulationCore) -> None:
        self._agent().set_goal_pose(self._draw.pose(), self._draw.choice((None, "forward", "backward", 5)))

    def path(self, sim: MultiRobotSimulationCore) -> None:
        self._agent().set_path([self._draw.pose() for _ in range(self._draw.byte() % 4)])

    def velocity(self, sim: MultiRobotSimulationCore) -> None:
        draw = self._draw
        self._agent().set_velocity(
            draw.number(), draw.number(), draw.number(), timeout=draw.choice((None, draw.number()))
        )

    def stop(self, sim: MultiRobotSimulationCore) -> None:
        self._agent().stop()

    def attach(self, sim: MultiRobotSimulationCore) -> None:
        (self._draw.choice(self._handles) or _Nobody()).attach_object(
            self._any(), self._draw.choice((-1, -1, 0, "x", 99))
        )

    def detach(self, sim: MultiRobotSimulationCore) -> None:
        (self._draw.choice(self._handles) or _Nobody()).detach_object(self._any())

    def act(self, sim: MultiRobotSimulationCore) -> None:
        draw = self._draw
        kind = draw.byte() % 6
        if kind == 0:
            action: Any = MoveTo(draw.pose())
        elif kind == 1:
            action = Wait(draw.number())
        elif kind == 2:
            action = Pick(target_object_id=self._any())
        elif kind == 3:
            action = Drop(draw.pose())
        elif kind == 4:
            action = JointAction([draw.number() for _ in range(draw.byte() % 9)])
        else:
            action = draw.choice(ODD)
        self._agent().execute_action(action)

    def cancel(self, sim: MultiRobotSimulationCore) -> None:
        self._agent().clear_actions()

    def joints(self, sim: MultiRobotSimulationCore) -> None:
        draw = self._draw
        self._agent().set_all_joints_targets([draw.number() for _ in range(draw.byte() % 9)])

    def reset(self, sim: MultiRobotSimulationCore) -> None:
        sim.reset()

    def save(self, sim: MultiRobotSimulationCore) -> None:
        self._saved.append(sim.save_state())

    def restore(self, sim: MultiRobotSimulationCore) -> None:
        sim.restore_state(self._draw.choice(self._saved) or self._draw.choice(ODD))

    def clear(self, sim: MultiRobotSimulationCore) -> None:
        if self._draw.byte() < 60:
            sim.clear()

    def sensor(self, sim: MultiRobotSimulationCore) -> None:
        kind = self._draw.choice(("lidar", "imu", "range", "odometry", "contact", "x", None))
        self._sensors.append(sim.add_sensor({"type": kind}, self._any()))

    def read(self, sim: MultiRobotSimulationCore) -> None:
        sensor = self._draw.choice(self._sensors)
        if sensor is not None:
            sensor.read()

    def drop_sensor(self, sim: MultiRobotSimulationCore) -> None:
        sim.remove_sensor(self._draw.choice(self._sensors) or self._draw.choice(ODD))

    def feature(self, sim: MultiRobotSimulationCore) -> None:
        (self._draw.choice(self._handles) or _Nobody()).feature(self._draw.choice(("battery", "x", 5)))

    def change(self, sim: MultiRobotSimulationCore) -> None:
        handle, number = self._draw.choice(self._handles) or _Nobody(), self._draw.number()
        way = self._draw.byte() % 4
        if way == 0:
            handle.set_mass(number)
        elif way == 1:
            handle.set_material(friction=number)
        elif way == 2:
            handle.set_collision_mode(self._draw.choice(("normal_3d", "normal_2d", "static", "disabled", "x", 5)))
        else:
            handle.set_name(self._draw.choice(("n1", "n2", None, 5, "")))

    def look(self, sim: MultiRobotSimulationCore) -> None:
        sim.check_collisions()
        sim.get_snapshot()
        sim.get_object(self._draw.choice(("n1", 0, 3, "x", -1, 2**70, None, 1.5)))


class _Nobody:
    """Stands in where there is no entity yet: every call of it does nothing."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_, **__: None


OPERATIONS = tuple(
    (name, getattr(Player, name))
    for name in (
        *(
            "spawn",
            "spawn",
            "spawn",
            "step",
            "step",
            "remove",
            "set_pose",
            "set_poses",
            "goal",
            "goal",
            "path",
            "velocity",
        ),
        *("velocity", "stop", "attach", "attach", "detach", "act", "act", "act", "cancel", "joints", "reset", "save"),
        *("restore", "clear", "sensor", "read", "read", "drop_sensor", "feature", "change", "change", "look"),
    )
)


def played(data: bytes) -> tuple[list[str], str]:
    """Return what a program was told, and the state it led to."""
    player = Player(data)
    with new_simulation(physics=False, raise_on_fault=True) as sim:
        player.play(sim)
        return player.told, sim.state_hash()


def api_target() -> Target:
    """Return the target of the Python API."""
    random = Random(1)
    seeds = [random.randbytes(400) for _ in range(8)]

    def feed(data: bytes) -> str:
        told, state = played(data)
        again, same = played(data)
        assert told == again, "the same operations are answered in another way"
        assert state == same, "the same operations lead to another state"
        # Programs of one last word are alike, so that those with new ones are kept.
        return told[-1] if told else "nothing"

    return Target(feed, seeds, seconds=30.0, operations=lambda: Player.operations)
