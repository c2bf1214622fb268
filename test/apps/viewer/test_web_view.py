# ruff: noqa: E402  the modules of the view need viser, without which there is nothing to test
"""The live view without a browser: what it asks of a simulation, what it shows, and recordings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from threading import Thread
from typing import Any
from urllib.request import urlopen

import numpy as np
import pytest

from fleet_sim import (
    Agent,
    AgentSpawnParams,
    MissingDependencyError,
    MultiRobotSimulationCore,
    Pose,
    ShapeParams,
    SimObject,
    SimObjectSpawnParams,
    Snapshot,
    record_commands,
    replay_commands,
)

viser = pytest.importorskip("viser")
from fleet_sim.apps.viewer import panel as plots
from fleet_sim.apps.viewer import source as commands
from fleet_sim.apps.viewer.bodies import ShownBodies, meets_floor, pick
from fleet_sim.apps.viewer.live import LiveSource, RecordedSource
from fleet_sim.apps.viewer.panel import (
    COLLIDING,
    EMPTY,
    MOVING,
    OWN,
    STATE,
    TYPE,
    WITHOUT,
    color_modes,
    colors_of,
    legend_of,
    station_legend,
)
from fleet_sim.apps.viewer.source import ViewFrame, Wanted, details_of
from fleet_sim.apps.viewer.stage import meant
from fleet_sim.base.files import data_file
from fleet_sim.sensing.sensors.render.scene import Scene
from fleet_sim.warehouse.orders.orders import Orders
from fleet_sim.warehouse.sites import Station, StationKind
from fleet_sim.warehouse.sites.drawing import FloorPlan
from fleet_sim.warehouse.traffic.runs import Work
from fleet_sim.world.features import FEATURES
from fleet_sim.world.snapshot import appearance_in, appearance_of, looks_alike

Sim = MultiRobotSimulationCore
BOX = ShapeParams("box", half_extents=(0.2, 0.2, 0.1), rgba_color=(0.2, 0.5, 0.9, 1.0))


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    """A server for scenes."""
    server = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
    yield server
    server.stop()


def own(snapshot: Snapshot, bodies: ShownBodies) -> Any:
    return colors_of(snapshot, bodies, OWN, collisions=True)


def test_without_a_page_nothing_is_asked_of_the_simulation(sim: Sim, robot: Agent) -> None:
    view: Any = sim.view.show(port=0)
    taken: list[int] = []
    take = sim.snapshots.take
    sim.snapshots.take = lambda: taken.append(1) or take()  # type: ignore[method-assign, func-returns-value]
    for _ in range(20):
        sim.step_once()
    assert not taken and not sim.snapshots.readers and view.pages == 0
    with urlopen(view.url) as page:
        assert b"<html" in page.read()
    sim.close()
    with pytest.raises(OSError, match="refused"):
        urlopen(view.url)
    view.close()


def test_links_are_where_the_simulation_has_them(make_sim: Callable[..., Sim], server: Any) -> None:
    sim = make_sim()
    for number in range(3):
        arm = sim.spawn(
            AgentSpawnParams(urdf_path="arm6", initial_pose=Pose.from_euler(2.0 * number, 1.0, 0.0, 0.0, 0.0, number))
        )
        arm.set_all_joints_targets([0.3, -0.4, 0.5, 0.1 * number, 0.2, 0.6, 0.01, 0.01])
    cart = sim.spawn(AgentSpawnParams(BOX, BOX, Pose.from_xyz(0.0, -2.0, 0.1), name="cart"))
    crate = sim.spawn(SimObjectSpawnParams(BOX, BOX, Pose.from_xyz(0.4, -2.0, 0.1), name="crate", pickable=True))
    cart.attach_object(crate, keep_world_pose=True)
    for _ in range(5):
        sim.step_once()
    bodies = ShownBodies(server.scene)
    bodies.show(sim.snapshots.request().result(), own)
    scene = Scene(sim.world)
    positions, orientations = scene.poses(scene.table())
    np.testing.assert_allclose(bodies.positions, positions, atol=1e-9)
    np.testing.assert_allclose(np.abs((bodies.orientations * orientations).sum(axis=1)), 1.0, atol=1e-9)


def test_snapshots_tell_what_is_to_be_drawn(sim: Sim, robot: Agent, crate: SimObject) -> None:
    first = sim.snapshots.request().result()
    sim.step_once()
    second = sim.snapshots.request().result()
    assert looks_alike(first, second)
    robot.set_color((1.0, 0.0, 0.0, 1.0))
    painted = sim.snapshots.request().result()
    assert not looks_alike(second, painted)
    seen, real = appearance_in(painted), appearance_of(sim.world)
    assert seen.colors(np.array([0]), np.array([-1])).tolist() == [[1.0, 0.0, 0.0, 1.0]]
    assert [seen.shapes[number] for number in seen.shape_ids] == [real.shapes[number] for number in real.shape_ids]


def test_a_ray_finds_the_body_that_is_seen_and_the_floor_beside_it(sim: Sim, robot: Agent, server: Any) -> None:
    sim.spawn(SimObjectSpawnParams(BOX, BOX, Pose.from_xyz(1.0, 0.0, 0.0), name="behind"))
    snapshot, bodies = sim.snapshots.request().result(), ShownBodies(server.scene)
    bodies.show(snapshot, own)
    east = np.array([1.0, 0.0, 0.0])
    found = pick(bodies, np.array([-3.0, 0.1, 0.05]), east)
    assert found is not None and snapshot.names[found[0]] == "robot"
    assert found[1] == pytest.approx(2.8)
    past = pick(bodies, np.array([-3.0, 0.0, 0.05]), east * [1, 1, 1] + [0, 0, 0.5])
    assert past is None
    assert meets_floor(np.array([0.0, 0.0, 2.0]), np.array([0.5, 0.0, -1.0])) == pytest.approx([1.0, 0.0, 0.0])
    assert meets_floor(np.array([0.0, 0.0, 2.0]), np.array([0.5, 0.0, 1.0])) is None


def test_colors_by_state_and_collisions_in_red(make_sim: Callable[..., Sim], server: Any) -> None:
    sim = make_sim(collision_check_frequency=None)
    for name, x in (("one", 0.0), ("two", 0.3), ("three", 5.0)):
        agent = sim.spawn(AgentSpawnParams(BOX, BOX, Pose.from_xyz(x, 0.0, 0.1), name=name))
    agent.set_velocity(vx=1.0)
    sim.step_once()
    snapshot, bodies = sim.snapshots.request().result(), ShownBodies(server.scene)
    bodies.show(snapshot, own)
    colors = colors_of(snapshot, bodies, STATE, collisions=True)
    by_name = {snapshot.names[row]: tuple(color) for row, color in zip(bodies.table.rows, colors.tolist(), strict=True)}
    assert by_name == {"one": COLLIDING, "two": COLLIDING, "three": MOVING}
    assert legend_of(STATE) == "green: moving, blue: carrying, gray: standing"
    assert legend_of(OWN) == legend_of(TYPE) == ""


def test_the_legend_has_the_kinds_of_stations_that_there_are() -> None:
    kinds = StationKind.PICK, StationKind.CHARGE, StationKind.PICK
    stations = tuple(Station(f"s{number}", kind, float(number), 0.0) for number, kind in enumerate(kinds))
    told = station_legend((FloorPlan(0.5, stations[:1]), FloorPlan(0.5, stations[1:])))
    assert re.findall(r"#(\w{6})\W[^,]*;(\w+)", told) == [("2ea05f", "pick"), ("f0b428", "charge")]
    assert station_legend(()) == ""


def test_features_say_what_is_shown_of_them(make_sim: Callable[..., Sim], server: Any) -> None:
    sim = make_sim(collision_check_frequency=None)
    assert color_modes(sim.snapshots.take()) == (OWN, STATE, TYPE)
    low: Any = {"battery": {"capacity_wh": 10.0, "level": 0.0, "charging": True}}
    for name, features in (("low", low), ("none", {}), ("lamp", {"light": {"blink": 2.0}})):
        sim.spawn(AgentSpawnParams(BOX, BOX, Pose.from_xyz(0.0, 0.0, 0.1), name=name, features=features))
    snapshot, bodies = sim.snapshots.take(), ShownBodies(server.scene)
    assert color_modes(snapshot) == (OWN, STATE, TYPE, "battery")
    bodies.show(snapshot, own)
    colors = colors_of(snapshot, bodies, "battery", collisions=False)
    by_name = {snapshot.names[row]: tuple(color) for row, color in zip(bodies.table.rows, colors.tolist(), strict=True)}
    assert by_name == {"low": tuple(EMPTY), "none": WITHOUT, "lamp": WITHOUT}
    assert legend_of("battery") == "green: full, yellow: half full, red: empty, gray: has none"
    assert ("battery", "0 %, charging") in details_of(sim, "low").lines
    assert ("light", "blinks, 2 Hz") in details_of(sim, "lamp").lines


def test_a_click_beside_a_node_sends_a_robot_of_the_traffic_to_it() -> None:
    with MultiRobotSimulationCore.from_yaml(data_file("config", "sites/warehouse.yaml")) as sim:
        sim.step_once()
        snapshot = sim.snapshots.take()
        assert snapshot.features["traffic"]["present"].any()
        source, point, actions = LiveSource(sim), np.array([0.52, 47.4, 0.0]), []
        nearby = FEATURES.get("traffic").goal_tolerance
        for name, tolerance in (("carrier_0", nearby), ("carrier_1", 0.0)):
            here = snapshot.positions[snapshot.index_of(name)]
            sent = source.send(commands.go_to(name, here, point, queue=False, routed=True, tolerance=tolerance))
            sim.step_once()
            actions.append(sent.result().value[name])
        for _ in range(10):
            sim.step_once()
        assert not actions[0].is_complete()
        assert "from the node" in str(actions[1].error_message)
        (way,) = [value for what, value in details_of(sim, "carrier_0").lines if what == "way"]
        assert "granted" in way


class Postman:
    """A manager that counts."""

    delivered = 3


def test_deliveries_of_all_managers_are_plotted(make_sim: Callable[..., Sim]) -> None:
    sim = make_sim(timestep=0.1)
    source = LiveSource(sim)

    def throughput() -> float | None:
        frame = source.frame(Wanted(), 1.0)
        assert frame is not None
        return frame.status.throughput

    sim.register_manager(object(), "counts_nothing")
    assert throughput() is None
    sim.register_manager(Postman(), "north")
    assert throughput() == 0.0
    sim.register_manager(Postman(), "south")
    sim.run_simulation(10.0)
    assert throughput() == pytest.approx(3600.0 * 6 / 10.0)
    for manager in (Orders, Work):
        assert isinstance(manager.delivered, property)


def test_a_load_and_a_rack_stand_for_the_robot_under_them(make_sim: Callable[..., Sim]) -> None:
    sim = make_sim()
    rack = ShapeParams("box", half_extents=(0.45, 0.45, 0.4))
    for name, x in (("carrier", 0.0), ("under", 5.0), ("beside", 6.0)):
        sim.spawn(AgentSpawnParams(BOX, BOX, Pose.from_xyz(x, 0.0, 0.1), name=name))
    for name, x, z in (("load", 0.0, 0.7), ("rack", 5.0, 0.7), ("free", 9.0, 0.7), ("ceiling", 5.0, 4.0)):
        sim.spawn(SimObjectSpawnParams(rack, rack, Pose.from_xyz(x, 0.0, z), name=name))
    sim.spawn(SimObjectSpawnParams(BOX, BOX, Pose.from_xyz(0.0, 0.0, 1.2), name="parcel"))
    sim.get_object("carrier").attach_object(sim.get_object("load"))
    sim.get_object("load").attach_object(sim.get_object("parcel"))
    snapshot = sim.snapshots.take()
    found = {}
    for name in snapshot.names:
        index = snapshot.index_of(name)
        found[name] = snapshot.names[meant(snapshot, index, snapshot.positions[index] - [0.3, 0.0, 0.0])]
    others = {name: name for name in ("carrier", "under", "beside", "free", "ceiling")}
    assert found == {**others, "load": "carrier", "parcel": "carrier", "rack": "under"}


def test_one_storey_is_shown_and_picked_alone(make_sim: Callable[..., Sim], server: Any) -> None:
    sim = make_sim()
    for name, height in (("low", 0.1), ("high", 4.1)):
        sim.spawn(AgentSpawnParams(BOX, BOX, Pose.from_xyz(0.0, 0.0, height), name=name))
    snapshot, bodies = sim.snapshots.take(), ShownBodies(server.scene)
    above, down = np.array([0.0, 0.05, 9.0]), np.array([0.0, 0.0, -1.0])
    found = []
    for between in (None, (-np.inf, 3.7), (3.7, np.inf), None):
        bodies.between = between
        bodies.show(snapshot, own)
        picked = pick(bodies, above, down)
        assert picked is not None
        found.append((snapshot.names[picked[0]], bodies.shown_mask.tolist()))
    every = ("high", [True, True])
    assert found == [every, ("low", [True, False]), ("high", [False, True]), every]


def test_what_clicks_send_is_recorded_and_gives_the_same_run_again(make_sim: Callable[..., Sim]) -> None:
    def made() -> Sim:
        sim = make_sim(keep_initial_state=True)
        sim.spawn(AgentSpawnParams(BOX, BOX, Pose.from_xyz(0.0, 0.0, 0.1), name="robot", motion_mode="omnidirectional"))
        return sim

    sim = made()
    source = LiveSource(sim)
    log = record_commands(sim)
    here = np.array([0.0, 0.0, 0.1])
    answers = [
        source.send(commands.go_to("robot", here, np.array([1.0, 0.5, 0.0]), queue=False, routed=False)),
        source.send(commands.spawn(commands.BOX, np.array([4.0, 4.0, 0.0]))),
        source.send(commands.spawn("diff_base", np.array([-4.0, 4.0, 0.0]))),
    ]
    for _ in range(30):
        sim.step_once()
    source.send(commands.put("robot", np.array([3.0, 0.0, 0.1]), np.array([0.0, 0.0, 0.0, 1.0])))
    answers += [source.send(commands.remove("diff_base")), source.send(commands.stop("nobody"))]
    sim.step_once()
    log.stop()
    assert [answer.result().ok for answer in answers] == [True, True, True, True, False]
    assert [agent.name for agent in sim.agents] == ["robot", "robot_0"]
    again = made()
    replay_commands(again, log)
    while again.step_count < sim.step_count:
        again.step_once()
    assert again.state_hash() == sim.state_hash()


def put_what_pages_look_at(sim: Sim) -> None:
    """Spawn a robot with sensors and a path, and what it sees."""
    sensors = [
        {"type": "lidar", "rays": 36, "range_max": 5.0},
        {"type": "camera", "name": "eye", "width": 32, "height": 24},
    ]
    robot = sim.spawn(
        AgentSpawnParams(
            BOX, BOX, Pose.from_xyz(0.0, 0.0, 0.2), name="robot", sensors=sensors, motion_mode="omnidirectional"
        )
    )
    sim.spawn(SimObjectSpawnParams(BOX, BOX, Pose.from_xyz(2.0, 0.0, 0.2), name="crate"))
    robot.set_path([Pose.from_xyz(0.0, 3.0, 0.2), Pose.from_xyz(3.0, 3.0, 0.2)])


def test_frames_of_a_run_in_another_thread_have_what_pages_look_at(make_sim: Callable[..., Sim]) -> None:
    sim = make_sim(target_rtf=1.0)
    put_what_pages_look_at(sim)
    source = LiveSource(sim)
    run = Thread(target=sim.run_simulation)
    run.start()
    wanted = Wanted(True, True, frozenset({"robot", "nobody"}), frozenset({("robot", "eye")}))
    try:
        while True:
            frame = source.frame(wanted, 30.0)
            assert frame is not None
            if len(frame.scans) and frame.pictures:
                break
        assert frame.paths.lines[-1, 1].tolist() == [3.0, 3.0, 0.2]
        assert frame.pictures["robot", "eye"].shape == (24, 32, 3)
        # The front of the crate is 1.8 m ahead.
        assert frame.scans[:, 0].max() == pytest.approx(1.8, abs=0.01)
        assert frame.details["robot"].cameras == ("eye",) and "nobody" not in frame.details
        assert not frame.status.paused and frame.status.speed == 1.0
        source.set_paused(True)
        paused = source.frame(Wanted(), 30.0)
        assert paused is not None and paused.status.paused and not len(paused.scans)
        # Nobody looks any more, so nothing is computed.
        assert not any(sensor.has_consumer for sensor in sim.sensors.all)
        tick = paused.snapshot.tick
        source.step()
        after = source.frame(Wanted(), 30.0)
        assert after is not None and after.snapshot.tick == tick + 1
    finally:
        sim.stop()
        run.join()
    source.close()
    assert source.frame(Wanted(), 0.0) is None


class Taken:
    """Three snapshots of a run, as what reads a file would give them."""

    def __init__(self, sim: Sim) -> None:
        self.taken = []
        for _ in range(3):
            sim.step_once()
            self.taken.append(sim.snapshots.request().result())
        self.times = np.array([snapshot.time for snapshot in self.taken])

    def snapshot_at(self, time: float) -> Snapshot:
        return next(snapshot for snapshot in self.taken if snapshot.time == time)

    def close(self) -> None:
        """There is no file."""


def test_a_recording_is_played_stepped_and_sought(sim: Sim, robot: Agent) -> None:
    recording = Taken(sim)
    source = RecordedSource(recording, "run", paused=True)

    def shown() -> Snapshot:
        frame = source.frame(Wanted(), 0.0)
        assert frame is not None
        return frame.snapshot

    assert shown() is recording.taken[0] and source.frame(Wanted(), 0.0) is None
    source.step()
    assert shown() is recording.taken[1]
    source.seek(1e9)
    assert shown() is recording.taken[2]
    # At the end it begins again.
    source.set_speed(1e-6)
    source.set_paused(False)
    assert shown() is recording.taken[0]
    with pytest.raises(Exception, match="takes no commands"):
        source.send(commands.stop("robot")).result()


def test_environments_for_people_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("gymnasium")
    from fleet_sim.learning.envs import NavigationEnv

    env = NavigationEnv(num_robots=2, num_obstacles=1, render_mode="human")
    env.reset(seed=1)
    url = capsys.readouterr().out.removeprefix("view: ").strip()
    with urlopen(url) as page:
        assert page.status == 200
    assert env.render() is None
    env.close()


def test_a_jump_in_time_is_not_plotted(sim: Sim, server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plots, "PERIOD", 0.0)
    plotted, snapshot = plots.Plots(server.gui), sim.snapshots.take()
    for time in (0.0, 0.001, 0.002):
        plotted.note(ViewFrame(replace(snapshot, time=time)))
    plotted.begin_again()
    factor = plotted.factor
    for time in (1e9, 1e9):
        plotted.note(ViewFrame(replace(snapshot, time=time)))
    assert factor > 0.0 == plotted.factor


def test_without_viser_the_extra_is_named(sim: Sim, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "viser", None)
    with pytest.raises(MissingDependencyError, match=r"fleet_sim\[view\]"):
        sim.view.show()
