"""Parts of simulations that state files have to hold: readings of sensors, actions by all their names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import state_hall
from hashed_run import hashed_run

import fleet_sim as fs
from fleet_sim.actions.registry import describe_action

MakeSim = Callable[..., fs.MultiRobotSimulationCore]


def test_readings_of_all_sensors_are_in_the_file(make_sim: MakeSim, tmp_path: Path) -> None:
    sim = make_sim()
    cart = state_hall.robot(sim, "cart", 0.0)
    small = {"width": 16, "height": 12}
    kinds = {"camera": small, "contact": {}, "imu": {}, "lidar": {}, "lidar_3d": {}, "odometry": {}, "range": {}}
    for kind, settings in kinds.items():
        sim.add_sensor(kind, cart, **settings).subscribe()
    hashed_run(sim, 10)
    sim.save_state(tmp_path / "now.state")
    read = make_sim()
    read.load_state(tmp_path / "now.state")
    for sensor in sim.sensors.all:
        own = read.get_sensor(f"cart/{sensor.name}").latest
        assert own is not None and repr(own) == repr(sensor.latest)
    assert hashed_run(read, 5) == hashed_run(sim, 5)


def test_actions_under_their_long_names_are_in_the_file(make_sim: MakeSim, tmp_path: Path) -> None:
    sim = make_sim()
    state_hall.fill(sim)
    place = fs.Pose.from_xyz(9, 3, 0)
    long = [
        fs.WaitAction(0.3),
        fs.PickAction(target_position=(1.0, 0.0, 0.0)),
        fs.DropAction(place),
        fs.WaitAction(9.0),
    ]
    sim.get_object("c").add_action_sequence(long)
    read = make_sim()
    for steps in (2, 20, 40):
        hashed_run(sim, steps)
        sim.save_state(tmp_path / "now.state")
        read.load_state(tmp_path / "now.state")
        there = sim.save_state()
        assert hashed_run(read, 5) == hashed_run(sim, 5)
        sim.restore_state(there)
    # In recorded inputs, too.
    assert [describe_action(action)["type"] for action in long] == ["wait", "pick", "drop", "wait"]
