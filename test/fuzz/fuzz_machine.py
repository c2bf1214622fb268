"""The target of the Python API as a state machine: whatever is called in whatever order, what it must be stays true.

Hypothesis chooses the operations and their values; a small model beside the simulation knows who lives, by name.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from random import Random
from typing import Any

import numpy as np
from fuzz_target import Target
from fuzz_worlds import check_columns, new_simulation
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, get_state_machine_test, initialize, invariant, rule

import fleet_sim as fs
from fleet_sim.base.errors import FleetSimError

NUMBERS = (0.0, 1.0, -1.0, 0.3, 2, 1e-12, 5e-324, 1e3, 1e6, -1e9, 1e12, 1e155, -1e308, float("inf"), float("nan"))
ODD = (None, "", "x", True, [], {}, object, (1, 2), b"a", 10**400, np.array([1.0]), np.nan, "robot", -1, 2**63)
TURNS = (
    (0, 0, 0, 1),
    (0, 0, 1, 0),
    (0, 0, 0, 0),
    (1e-170, 0, 0, 0),
    (1e155, 0, 0, 0),
    (0.5, 0.5, 0.5, 0.5),
    (0, 0, 0.1),
)
STEPS = 60
"""Operations of a run at most."""

number = st.one_of(st.floats(-8.0, 8.0), st.floats(-8.0, 8.0), st.sampled_from(NUMBERS))
WAYS = ("goal", "path", "move_to", "pick", "drop", "wait")

anything = st.one_of(number, st.sampled_from(ODD))
place = st.one_of(st.tuples(number, number, st.floats(0.0, 2.0)), st.tuples(anything, anything, anything))
turn = st.one_of(st.just((0, 0, 0, 1)), st.sampled_from(TURNS))
index = st.integers(0, 20)
name = st.sampled_from([f"n{count}" for count in range(8)])


class ApiMachine(RuleBasedStateMachine):
    """One simulation, who should live in it, and whose handles must be stale."""

    operations = 0
    """Of all runs in this process."""

    def __init__(self) -> None:
        super().__init__()
        self.sim = new_simulation(raise_on_fault=True)
        self.living: dict[int, Any] = {}
        self.gone: list[Any] = []
        self.sensors: list[Any] = []
        self.saved: list[tuple[Any, dict[int, Any]]] = []

    @initialize(physics=st.sampled_from([False, False, True]), mode=st.sampled_from(["normal_2d", "normal_3d"]))
    def begin(self, physics: bool, mode: str) -> None:
        self.sim.close()
        self.sim = new_simulation(raise_on_fault=True, physics=physics)
        self.mode = mode

    def teardown(self) -> None:
        """Close the simulation."""
        self.sim.close()

    # ---- what operations are on --------------------------------------------------------------------------------------

    def pick(self, chosen: int) -> Any:
        """Return somebody: mostly who lives, sometimes who is gone or no entity at all."""
        everybody = [*self.living.values(), *self.living.values(), *self.gone[-3:]]
        return everybody[chosen % len(everybody)] if everybody else ODD[chosen % len(ODD)]

    def agent(self, chosen: int) -> Any:
        """Return an agent, or None."""
        agents = [handle for handle in (*self.living.values(), *self.gone[-1:]) if isinstance(handle, fs.Agent)]
        return agents[chosen % len(agents)] if agents else None

    @contextmanager
    def may_refuse(self) -> Iterator[None]:
        """Count an operation, which may raise FleetSimError and nothing else."""
        ApiMachine.operations += 1
        with suppress(FleetSimError):
            yield

    def pose(self, where: Any, facing: Any) -> Any:
        """Return a pose; raises FleetSimError for what is none."""
        return fs.Pose(where, facing)

    # ---- who is there ------------------------------------------------------------------------------------------------

    @rule(called=name, where=place, facing=turn, kind=st.sampled_from(["object", "crate", "cart", "drone", "arm6"]))
    def spawn(self, called: str, where: Any, facing: Any, kind: str) -> None:
        with self.may_refuse():
            shape = fs.ShapeParams("box", half_extents=(0.2, 0.2, 0.1))
            common: dict[str, Any] = {"name": called, "initial_pose": self.pose(where, facing)}
            if kind == "arm6":
                params: Any = fs.AgentSpawnParams(urdf_path=kind, use_fixed_base=True, **common)
            elif kind in ("cart", "drone"):
                motion = "differential" if kind == "cart" else "omnidirectional"
                battery = {"battery": {"capacity_wh": 10.0}}
                params = fs.AgentSpawnParams(collision_shape=shape, motion_mode=motion, features=battery, **common)
            else:
                params = fs.SimObjectSpawnParams(collision_shape=shape, mass=float(kind == "crate"), **common)
            handle = self.sim.spawn(params)
            self.living[handle.object_id] = handle

    @rule(chosen=index)
    def remove(self, chosen: int) -> None:
        victim = self.pick(chosen)
        with self.may_refuse():
            self.sim.remove_object(victim)
            self._lose([victim])

    @rule(chosen=index, called=st.one_of(name, st.sampled_from(ODD)))
    def rename(self, chosen: int, called: Any) -> None:
        handle = self.pick(chosen)
        with self.may_refuse():
            if isinstance(handle, fs.SimObject):
                handle.set_name(called)

    @rule()
    def save(self) -> None:
        with self.may_refuse():
            self.saved.append((self.sim.save_state(), dict(self.living)))

    @rule(chosen=index)
    def restore(self, chosen: int) -> None:
        if self.saved:
            state, living = self.saved[chosen % len(self.saved)]
            with self.may_refuse():
                self.sim.restore_state(state)
                self._lose([handle for handle in self.living.values() if handle not in living.values()])
                self.living = dict(living)
                self.gone = [handle for handle in self.gone if handle not in living.values()]

    @rule(sure=st.integers(0, 5))
    def clear(self, sure: int) -> None:
        if sure == 0:
            with self.may_refuse():
                self.sim.clear()
                self._lose(list(self.living.values()))
                self.saved.clear()

    def _lose(self, handles: list[Any]) -> None:
        self.gone += [handle for handle in handles if handle in self.living.values()]
        self.living = {number: handle for number, handle in self.living.items() if handle not in handles}

    # ---- what they do ------------------------------------------------------------------------------------------------

    @rule(chosen=index, where=place, facing=turn, keep=st.booleans())
    def set_pose(self, chosen: int, where: Any, facing: Any, keep: bool) -> None:
        handle = self.pick(chosen)
        if isinstance(handle, fs.SimObject):
            with self.may_refuse():
                handle.set_pose(self.pose(where, facing), keep)

    @rule(chosen=index, where=place, facing=turn, way=st.sampled_from(WAYS))
    def drive(self, chosen: int, where: Any, facing: Any, way: str) -> None:
        agent = self.agent(chosen)
        if agent is None:
            return
        with self.may_refuse():
            pose = self.pose(where, facing)
            if way == "goal":
                agent.set_goal_pose(pose)
            elif way == "path":
                agent.set_path([pose, fs.Pose((0.0, 0.0, 0.0))])
            else:
                actions = {"move_to": fs.MoveTo, "pick": fs.Pick, "drop": fs.Drop, "wait": fs.Wait}
                given = {"pick": self.pick(chosen + 1), "wait": where[0]}.get(way, pose)
                agent.add_action(actions[way](given))

    @rule(chosen=index, linear=anything, angular=anything, timeout=st.one_of(st.none(), anything))
    def velocity(self, chosen: int, linear: Any, angular: Any, timeout: Any) -> None:
        agent = self.agent(chosen)
        if agent is not None:
            with self.may_refuse():
                agent.set_velocity(linear, 0.0, angular, timeout=timeout)

    @rule(chosen=index, values=st.lists(anything, max_size=9))
    def joints(self, chosen: int, values: Any) -> None:
        agent = self.agent(chosen)
        if agent is not None:
            with self.may_refuse():
                agent.set_all_joints_targets(values)

    @rule(chosen=index, stop=st.booleans())
    def cancel(self, chosen: int, stop: bool) -> None:
        agent = self.agent(chosen)
        if agent is not None:
            with self.may_refuse():
                agent.stop() if stop else agent.clear_actions()

    @rule(first=index, second=index, link=st.sampled_from([-1, -1, 0, 3, 99, "x"]), off=st.booleans())
    def attach(self, first: int, second: int, link: Any, off: bool) -> None:
        parent, child = self.pick(first), self.pick(second)
        if isinstance(parent, fs.SimObject):
            with self.may_refuse():
                parent.detach_object(child) if off else parent.attach_object(child, link)

    @rule(chosen=index, value=anything, what=st.sampled_from(["mass", "material", "mode", "filter", "colour"]))
    def change(self, chosen: int, value: Any, what: str) -> None:
        handle = self.pick(chosen)
        if isinstance(handle, fs.SimObject):
            with self.may_refuse():
                if what == "mass":
                    handle.set_mass(value)
                elif what == "material":
                    handle.set_material(friction=value)
                elif what == "mode":
                    handle.set_collision_mode(self.mode if isinstance(value, float) else value)
                elif what == "filter":
                    handle.set_collision_filter(value, 1)
                else:
                    handle.set_color([value, 0.0, 0.0, 1.0])

    @rule(chosen=index, kind=st.sampled_from(["lidar", "imu", "range", "odometry", "contact", "x", None]))
    def add_sensor(self, chosen: int, kind: Any) -> None:
        with self.may_refuse():
            self.sensors.append(self.sim.add_sensor({"type": kind, "rate": 5}, self.pick(chosen)))

    @rule(chosen=index, drop=st.booleans())
    def read_sensor(self, chosen: int, drop: bool) -> None:
        if self.sensors:
            sensor = self.sensors[chosen % len(self.sensors)]
            with self.may_refuse():
                self.sim.remove_sensor(sensor) if drop else sensor.read()

    # ---- time, and looking on ----------------------------------------------------------------------------------------

    @rule(count=st.integers(1, 6))
    def step(self, count: int) -> None:
        ApiMachine.operations += 1
        before = self.sim.step_count
        for _ in range(count):
            self.sim.step_once()
        assert self.sim.step_count == before + count

    @rule(where=place, to=place, reach=anything, chosen=index)
    def ask(self, where: Any, to: Any, reach: Any, chosen: int) -> None:
        with self.may_refuse():
            hits = self.sim.queries.ray_cast([where], [to])
            assert all(entity is None or entity in self.living.values() for entity in hits.entities)
        with self.may_refuse():
            near = self.sim.queries.closest(self.pick(chosen), reach)
            assert all(found.distance == found.distance for found in near)
        with self.may_refuse():
            assert set(self.sim.queries.overlap_sphere(where, reach)) <= set(self.living.values())

    # ---- what stays true ---------------------------------------------------------------------------------------------

    @invariant()
    def columns_are_numbers(self) -> None:
        check_columns(self.sim)

    @invariant()
    def counts_agree(self) -> None:
        sim, world = self.sim, self.sim.world
        assert {handle.object_id: handle for handle in sim.sim_objects} == self.living
        assert len(world.rows) == len(self.living) == len(sim.get_snapshot().names)
        assert all(agent.object_id in self.living for agent in sim.agents)
        for number, handle in self.living.items():
            assert sim.get_object(number) is handle
            assert handle.name is None or sim.get_object(handle.name) is handle

    @invariant()
    def handles_are_right_or_stale(self) -> None:
        for number, handle in self.living.items():
            assert handle.is_alive and handle.object_id == number and np.isfinite(handle.get_pose().position).all()
        for handle in self.gone:
            assert not handle.is_alive
            try:
                handle.get_pose()
            except fs.StaleHandleError:
                continue
            raise AssertionError("a stale handle works")

    @invariant()
    def pairs_and_parents_live(self) -> None:
        for pair in self.sim.get_active_collision_pairs():
            assert all(one in self.living.values() for one in pair) and pair[0] is not pair[1]
        for handle in self.living.values():
            for carried in handle.get_attached_objects():
                assert carried in self.living.values() and carried.attached_to is handle


def machine_target() -> Target:
    """Return the target; the bytes of an input are what hypothesis chooses by."""
    options = settings(stateful_step_count=STEPS, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    play = get_state_machine_test(ApiMachine, settings=options).hypothesis.fuzz_one_input
    random, runs = Random(1), 0

    def feed(data: bytes) -> None:
        nonlocal runs
        runs += 1
        play(data)
        # Each run leaves a closed simulation, which is a cycle of objects.
        if runs % 20 == 0:
            gc.collect()

    seeds = [random.randbytes(3000) for _ in range(8)]
    return Target(feed, seeds, seconds=60.0, operations=lambda: ApiMachine.operations)
