"""Snapshots: one per step, shared by all who read from outside, from any thread; none where nobody reads."""

from __future__ import annotations

from threading import Thread
from typing import Any

import numpy as np
import pytest
from small_world import BOX

from fleet_sim import (
    Agent,
    AgentSpawnParams,
    MultiRobotSimulationCore,
    Pose,
    SetPoses,
    SimObject,
    Snapshot,
    UnknownNameError,
)

Sim = MultiRobotSimulationCore
PATIENCE = 30.0


def arrays_of(snapshot: Snapshot) -> list[Any]:
    own = [value for value in vars(snapshot).values() if isinstance(value, np.ndarray)]
    return own + [array for table in snapshot.features.values() for array in table.values()]


def test_nobody_reads_nothing_is_taken(sim: Sim, robot: Agent) -> None:
    sim.step_once()
    assert sim.snapshots.latest is None
    with sim.snapshots.subscribe():
        sim.step_once()
        last = sim.snapshots.latest
    sim.step_once()
    assert sim.snapshots.latest is last is not None


def test_two_readers_share_the_same_arrays(sim: Sim, robot: Agent) -> None:
    with sim.snapshots.subscribe() as first, sim.snapshots.subscribe() as second:
        sim.step_once()
        one, other = first.wait(0.0), second.wait(0.0)
        assert one is other is sim.snapshots.latest is first.latest
        assert one is not None and other is not None and one.positions is other.positions
        sim.step_once()
        assert sim.snapshots.latest is not one
        # What does not change is the same object in both.
        assert sim.snapshots.latest is not None and sim.snapshots.latest.names is one.names


def test_a_snapshot_is_the_end_of_the_step_and_never_changes(sim: Sim, robot: Agent) -> None:
    robot.set_velocity(vx=1.0)
    with sim.snapshots.subscribe() as reader:
        sim.step_once()
        snapshot = reader.wait(0.0)
        assert snapshot is not None and (snapshot.tick, snapshot.time) == (1, 0.1) == (sim.step_count, sim.sim_time)
        assert snapshot.positions[0].tolist() == list(robot.get_pose().position)
        before = [array.copy() for array in arrays_of(snapshot)]
        sim.step_once()
    for array, kept in zip(arrays_of(snapshot), before, strict=True):
        assert np.array_equal(array, kept)
        assert not array.flags.writeable


def test_it_holds_carriers_joints_collisions_and_features(sim: Sim, robot: Agent, crate: SimObject) -> None:
    crate.set_pose(Pose((0.3, 0.0, 0.0)))
    arm = Agent.from_urdf("arm6", Pose((9, 0, 0)), use_fixed_base=True, sim_core=sim, name="arm")
    arm.set_joints_targets({"joint_2": -0.4})
    other = sim.spawn(
        AgentSpawnParams(BOX, BOX, Pose((0.1, 0, 0)), name="other", features={"battery": {"capacity_wh": 1.0}})
    )
    assert robot.attach_object(crate)
    sim.step_once()
    snapshot = sim.get_snapshot()
    assert snapshot.names == ("robot", "crate", "arm", "other")
    index = {name: snapshot.index_of(name) for name in snapshot.names}
    assert snapshot.carriers.tolist() == [-1, index["robot"], -1, -1]
    pairs = {frozenset(snapshot.names[i] for i in pair) for pair in snapshot.collisions.tolist()}
    assert pairs == {frozenset(obj.name for obj in pair) for pair in sim.get_active_collision_pairs()} != set()
    positions, velocities = snapshot.joints_of(index["arm"])
    assert positions.tolist() == [arm.get_joint_state(i)[0] for i in arm.robot_model.movable.tolist()]
    assert velocities.any() and len(snapshot.joints_of(index["robot"])[0]) == 0
    battery = snapshot.features["battery"]
    assert battery["present"].tolist() == [False, False, False, True]
    assert battery["energy"][index["other"]] == other.feature("battery").energy
    with pytest.raises(UnknownNameError, match="'crate'"):
        snapshot.index_of("crat")


def test_rows_are_not_indices(sim: Sim, robot: Agent, crate: SimObject) -> None:
    sim.remove_object(robot)
    new = sim.spawn(AgentSpawnParams(BOX, BOX, Pose((1.0, 0, 0)), name="new"))
    assert new.row < crate.row
    sim.step_once()
    snapshot = sim.get_snapshot()
    assert snapshot.names == ("crate", "new") and snapshot.agent_mask.tolist() == [False, True]
    assert sorted(snapshot.collisions[0].tolist()) == [0, 1]


def test_going_back_replaces_the_snapshot(sim: Sim, robot: Agent) -> None:
    robot.set_velocity(vx=1.0)
    with sim.snapshots.subscribe() as reader:
        for _ in range(3):
            sim.step_once()
        sim.reset()
        assert reader.latest is not None and (reader.latest.tick, reader.latest.positions[0, 0]) == (0, 0.0)
        sim.clear()
        assert reader.latest.names == ()


def test_another_thread_waits_without_polling_while_the_simulation_runs(sim: Sim, robot: Agent) -> None:
    robot.set_velocity(vx=1.0)
    read: list[Snapshot] = []
    with sim.snapshots.subscribe() as reader:
        thread = Thread(target=lambda: read.extend(reader))
        thread.start()
        sim.run_simulation(20.0)
        sim.close()
        thread.join(PATIENCE)
        assert not thread.is_alive()
    ticks = [snapshot.tick for snapshot in read]
    assert ticks == sorted(set(ticks)) and len(ticks) > 1
    xs = [snapshot.positions[0, 0] for snapshot in read]
    assert xs == sorted(set(xs)), "each is of one moment"


def test_each_step_can_be_waited_for(sim: Sim, robot: Agent) -> None:
    """The simulation goes on only when its last snapshot was read: not one is left out."""
    sim.pause()
    run = Thread(target=sim.run_simulation)
    run.start()
    try:
        with sim.snapshots.subscribe() as reader:
            ticks = []
            for _ in range(5):
                snapshot = reader.wait(PATIENCE)
                assert snapshot is not None
                ticks.append(snapshot.tick)
                sim.single_step()
            assert ticks == [0, 1, 2, 3, 4]
            # While paused, commands are applied, and seen, at once.
            assert reader.wait(PATIENCE) is not None
            command = SetPoses(names=("robot",), positions=[[7, 0, 0]], orientations=[[0, 0, 0, 1]])  # type: ignore[arg-type]
            sim.inbox.put(command)
            moved = reader.wait(PATIENCE)
            assert moved is not None and moved.positions[0, 0] == 7.0
            assert reader.wait(0.0) is None
    finally:
        sim.stop()
        run.join(PATIENCE)


def test_closing_ends_a_wait(sim: Sim) -> None:
    reader = sim.snapshots.subscribe()
    assert reader.wait(0.0) is not None
    answers: list[object] = []
    waiting = Thread(target=lambda: answers.append(reader.wait()))
    waiting.start()
    reader.close()
    reader.close()
    waiting.join(PATIENCE)
    assert answers == [None]


def test_a_request_sees_what_was_done_before_and_is_shared(sim: Sim, robot: Agent) -> None:
    robot.set_pose(Pose((3.0, 0, 0)))
    assert sim.snapshots.request().result().positions[0, 0] == 3.0
    asked = []

    def ask(**details: Any) -> None:
        asked.extend(sim.snapshots.request() for _ in range(2))
        robot.set_pose(Pose((4.0, 0, 0)))

    sim.events.on("pre_step", ask)
    sim.step_once()
    assert asked[0] is asked[1] and asked[0].result().tick == 1
    assert asked[0].result().positions[0, 0] == 4.0
    assert sim.snapshots.latest is None
