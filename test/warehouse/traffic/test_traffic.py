"""Robots in the traffic of a site: sent, stopped, taken out; and nobody else drives them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from crowds import Crowd, robot, spawn
from networks import HALL, site_of

import fleet_sim as fs
from fleet_sim.base.errors import ConfigError, FleetSimError, InvalidValueError, StateError
from fleet_sim.base.params import ActionCause
from fleet_sim.base.spatial import quaternions
from fleet_sim.warehouse.sites import Warehouse, write_site
from fleet_sim.warehouse.traffic import offer_traffic
from fleet_sim.world.commands import CancelActions, ExecuteAction, Navigate, SetPoses, SetVelocity


def test_a_robot_arrives_once_exactly_where_it_was_sent() -> None:
    crowd = Crowd(site_of(HALL), 1)
    heard = []
    crowd.sim.events.on("traffic_arrived", lambda agent, node: heard.append((agent.name, node)))
    traffic, agent = crowd.traffic, crowd.agents[0]
    traffic.send(agent, (9.5, 5.5))
    assert traffic.goal_of(agent) == traffic.node_of((9.5, 5.5))
    crowd.run(20.0)
    assert agent.get_pose().position[:2] == (9.5, 5.5)
    assert heard == [("amr_0", traffic.goal_of(agent))]
    assert traffic.has_arrived(agent)
    assert not agent.is_moving


def test_a_scenario_has_traffic(tmp_path) -> None:
    site = Warehouse(rows=2, columns=2, shelf_length=5).site("hall")
    write_site(site, tmp_path / "hall.yaml")
    places = site.grid.positions(site.grid.largest_region()[:6])
    content = {
        "simulation": {"gui": False, "timestep": 0.1},
        "site": "hall.yaml",
        "robots": [robot(f"amr_{number}", place) for number, place in enumerate(places)],
        "traffic": {"planner": "pibt", "period": 0.5},
    }
    path = tmp_path / "scenario.yaml"
    path.write_text(yaml.safe_dump(content))
    with fs.MultiRobotSimulationCore.from_yaml(path) as sim:
        traffic = sim.get_manager("traffic")
        assert len(traffic.robots) == 6
        traffic.send(sim.agents[0], "shelf_0")
        for _ in range(400):
            sim.step_once()
        assert traffic.has_arrived(sim.agents[0])


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"planner": "pibbt"}, "Did you mean 'pibt'"),
        ({"policy": "sometimes"}, "traffic policy"),
        ({"planning_time": -1}, "planning_time"),
        ({"robots": ["nobody"]}, "nobody"),
        ({"settings": {"speed": 1}}, "speed"),
    ],
)
def test_wrong_settings_are_errors(tmp_path, entry: dict[str, object], reason: str) -> None:
    write_site(site_of(HALL), tmp_path / "hall.yaml")
    content = {
        "simulation": {"gui": False},
        "site": "hall.yaml",
        "robots": [robot("amr", (0.5, 0.5))],
        "traffic": entry,
    }
    path = tmp_path / "scenario.yaml"
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(ConfigError, match=reason) as caught:
        fs.MultiRobotSimulationCore.from_yaml(path)
    assert "traffic" in str(caught.value)


def test_traffic_needs_a_site() -> None:
    with pytest.raises(ConfigError, match="section 'site'"):
        fs.MultiRobotSimulationCore.from_dict({"simulation": {"gui": False}, "traffic": {}})


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"pose": {"position": [0.8, 0.5, 0.15]}}, "where there is no node"),
        ({"pose": {"position": [2.5, 2.5, 0.15]}}, "where there is no node"),
        ({"pose": {"position": [4.5, 0.5, 0.15]}}, "another robot has node"),
        ({"use_fixed_base": True}, "law"),
        ({"shape": {"shape_type": "box", "half_extents": [0.35, 0.35, 0.1]}}, "footprint"),
    ],
)
def test_who_cannot_take_part_is_told_why(values: dict[str, object], reason: str) -> None:
    crowd = Crowd(site_of(HALL), 1)
    spawn(crowd.sim, robot("first", (4.5, 0.5)))
    crowd.traffic.enroll(crowd.sim.get_object("first"))
    spawn(crowd.sim, {**robot("amr", (0.5, 0.5)), **values})
    before = crowd.traffic.robots
    with pytest.raises(InvalidValueError, match=reason):
        crowd.traffic.enroll(crowd.sim.get_object("amr"))
    assert crowd.traffic.robots == before


@pytest.mark.parametrize("place", ["nowhere", 10_000, -1, (2.5, 2.5), (99.0, 0.5)])
def test_places_that_are_none_are_refused(place: object) -> None:
    crowd = Crowd(site_of(HALL), 1)
    with pytest.raises((InvalidValueError, fs.UnknownNameError)):
        crowd.traffic.send(crowd.agents[0], place)
    assert crowd.traffic.goal_of(crowd.agents[0]) is None


def test_a_place_that_no_way_leads_to_is_refused() -> None:
    crowd = Crowd(site_of("....\n....\n####\n....\n...."), 1)
    lower, upper = crowd.traffic.node_of((0.5, 0.5)), crowd.traffic.node_of((0.5, 4.5))
    mine = crowd.traffic.nodes(crowd.traffic.rows)[0]
    regions = {lower: crowd.agents[0].get_pose().position[1] < 2.5, upper: crowd.agents[0].get_pose().position[1] > 2.5}
    for node, near in regions.items():
        if near:
            crowd.traffic.send(crowd.agents[0], node)
        else:
            with pytest.raises(InvalidValueError, match="no way leads"):
                crowd.traffic.send(crowd.agents[0], node)
    assert mine >= 0


def test_there_is_one_traffic_and_none_after_clear() -> None:
    crowd = Crowd(site_of(HALL), 2)
    with pytest.raises(StateError, match="already"):
        offer_traffic(crowd.sim, site_of(HALL))
    crowd.sim.clear()
    crowd.sim.step_once()
    with pytest.raises(fs.UnknownNameError):
        crowd.sim.get_manager("traffic")
    again = offer_traffic(crowd.sim, site_of(HALL))
    spawn(crowd.sim, robot("amr", (0.5, 0.5)))
    again.enroll(crowd.sim.agents)
    again.send(crowd.sim.agents[0], (9.5, 0.5))
    for _ in range(100):
        crowd.sim.step_once()
    assert again.has_arrived(crowd.sim.agents[0])


def test_commands_to_drive_are_refused_with_the_reason() -> None:
    crowd = Crowd(site_of(HALL), 1)
    agent = crowd.agents[0]
    zero = np.zeros((1, 3))
    for command in (
        SetVelocity(names=("amr_0",), linear=zero, angular=zero),
        Navigate(names=("amr_0",), positions=zero, orientations=np.array([[0.0, 0.0, 0.0, 1.0]])),
    ):
        ack = crowd.sim.dispatcher.dispatch(command)
        assert "takes part in the traffic" in ack.rejected["amr_0"]
    with pytest.raises(StateError, match="takes part in the traffic"):
        agent.set_velocity(1.0)
    with pytest.raises(StateError, match="takes part in the traffic"):
        agent.set_goal(fs.Pose((1.0, 1.0, 0.0)))
    # What commands it past these checks, such as an action of one's own, is ended.
    before = agent.get_pose()
    agent.begin_path(fs.Path([fs.Pose((9.5, 5.5, 0.15))]), True, None)
    crowd.run(1.0)
    assert agent.get_pose() == before


def test_a_robot_that_is_put_elsewhere_leaves_the_traffic() -> None:
    crowd = Crowd(site_of(HALL), 3)
    left = []
    crowd.sim.events.on("traffic_left", lambda agent, reason: left.append((agent.name, reason)))
    crowd.roam()
    crowd.run(3.3)
    turns = np.array([[0.0, 0.0, 0.0, 1.0]])
    crowd.sim.dispatcher.dispatch(
        SetPoses(names=("amr_1",), positions=np.array([[30.0, 30.0, 0.15]]), orientations=turns)
    )
    crowd.run(5.0)
    assert left == [("amr_1", "it was brought elsewhere")]
    assert [agent.name for agent in crowd.traffic.robots] == ["amr_0", "amr_2"]
    with pytest.raises(InvalidValueError, match="takes no part"):
        crowd.traffic.send(crowd.agents[1], 0)
    crowd.agents[1].set_velocity(1.0)


def test_a_stopped_robot_stands_and_others_drive_around_it() -> None:
    crowd = Crowd(site_of(HALL), 10, seed=4)
    crowd.roam()
    crowd.run(3.0)
    agent = crowd.agents[0]
    crowd.traffic.stop(agent)
    crowd.run(2.0)
    stood, done = agent.get_pose(), crowd.done
    crowd.run(20.0)
    assert agent.get_pose() == stood
    assert crowd.done > done
    crowd.traffic.resume(agent)
    crowd.run(5.0)
    assert agent.get_pose() != stood
    # The same by the robot's own method.
    agent.stop()
    crowd.run(2.0)
    stood = agent.get_pose()
    crowd.run(5.0)
    assert agent.get_pose() == stood


def test_a_removed_robot_frees_its_way() -> None:
    crowd = Crowd(site_of("....."), 2, seed=1)
    traffic = crowd.traffic
    left, right = sorted(crowd.agents, key=lambda agent: agent.get_pose().position[0])
    traffic.send(left, (4.5, 0.5))
    crowd.run(10.0)
    assert not traffic.has_arrived(left)
    crowd.sim.remove_object(right)
    crowd.run(10.0)
    assert traffic.has_arrived(left)


def test_no_robot_enters_a_closed_place() -> None:
    crowd = Crowd(site_of(HALL), 1)
    traffic, agent = crowd.traffic, crowd.agents[0]
    gate = [(0.5, 2.5), (1.5, 2.5), (4.5, 2.5), (5.5, 2.5), (8.5, 2.5), (9.5, 2.5)]
    below = agent.get_pose().position[1] < 2.5
    traffic.close(gate)
    goal = (9.5, 5.5) if below else (9.5, 0.5)
    traffic.send(agent, goal)
    crowd.run(20.0)
    assert (agent.get_pose().position[1] < 2.5) == below
    assert traffic.figures()["cut_off"] == 1
    traffic.open(gate)
    crowd.run(30.0)
    assert traffic.has_arrived(agent)


def scenario_of(folder: Path, section: dict[str, Any], **robot: Any) -> dict[str, Any]:
    write_site(Warehouse().site("hall"), folder / "hall.yaml")
    robots = [{"name": "amr", "urdf_path": "diff_base", "at": {"site": "charger_0"}, **robot}]
    content = {"site": {"map": str(folder / "hall.yaml")}, "robots": robots, "traffic": section}
    return {"simulation": {"gui": False, "timestep": 0.1}, **content}


def test_robots_spawned_later_join_or_are_refused(tmp_path: Path) -> None:
    with fs.MultiRobotSimulationCore.from_dict(scenario_of(tmp_path, {})) as sim:
        traffic, site = sim.get_manager("traffic"), sim.get_manager("site")
        (charger,) = [station for station in site.stations if station.name == "charger_1"]

        def params(x: float, **features: Any) -> fs.AgentSpawnParams:
            names = f"late_{len(sim.agents)}"
            entry = {"name": names, "urdf_path": "diff_base", "pose": [x, charger.y, 0.0], **features}
            return fs.AgentSpawnParams.from_dict(entry)

        later = sim.spawn(params(charger.x, traffic={}))
        assert traffic.takes_part(later)
        traffic.send(later, "shelf_3")
        with pytest.raises(InvalidValueError, match="another robot has node"):
            sim.spawn(params(charger.x, traffic={}))
        with pytest.raises(InvalidValueError, match="where there is no node"):
            sim.spawn(params(charger.x + 2.3, traffic={}))
        assert len(sim.agents) == 2
        for _ in range(400):
            sim.step_once()
        assert traffic.has_arrived(later)
        outside = sim.spawn(params(charger.x))
        assert not traffic.takes_part(outside)
        rows = np.array([outside.row])
        sim.features.give("traffic", rows)
        assert traffic.takes_part(outside)
        sim.features.give("traffic", rows)
        assert len(traffic.robots) == 3
        sim.features.take("traffic", rows)
        assert not traffic.takes_part(outside)
        assert len(traffic.robots) == 2


def test_entries_of_robots_overrule_the_section(tmp_path: Path) -> None:
    for section, entry, count in (({}, {"takes_part": False}, 0), ({"robots": "none"}, {}, 1)):
        with fs.MultiRobotSimulationCore.from_dict(scenario_of(tmp_path, section, traffic=entry)) as sim:
            assert len(sim.get_manager("traffic").robots) == count


def test_a_robot_that_wants_into_a_traffic_that_there_is_not_is_refused() -> None:
    with fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False)) as sim:
        with pytest.raises(InvalidValueError, match="no traffic to take part in"):
            sim.spawn(fs.AgentSpawnParams.from_dict({"name": "amr", "urdf_path": "diff_base", "traffic": {}}))
        assert not sim.agents


def test_a_robot_that_had_to_give_way_comes_back_with_its_heading() -> None:
    crowd = Crowd(site_of("....\n...."), 2, seed=3)
    first, second = crowd.agents
    goal = crowd.traffic.node_of((1.5, 0.5))
    crowd.traffic.send(first, goal, 0.5)
    crowd.run(15.0)
    assert quaternions.yaws(crowd.sim.world.orientation)[first.row] == pytest.approx(0.5)
    # Another one needs the place.
    crowd.traffic.send(second, goal)
    pushed = False
    for _ in range(150):
        crowd.run(0.1)
        pushed |= bool(crowd.traffic.nodes(np.array([first.row]))[0] != goal)
    assert pushed
    crowd.traffic.send(second, (3.5, 0.5))
    crowd.run(20.0)
    assert crowd.traffic.nodes(np.array([first.row]))[0] == goal
    assert quaternions.yaws(crowd.sim.world.orientation)[first.row] == pytest.approx(0.5)


# ---- MoveTo with a route sends a robot of the traffic by the traffic -------------------------------------------------


def crowd(count: int = 6, seed: int = 2) -> Crowd:
    return Crowd(site_of(HALL), count, seed=seed)


def test_a_move_ends_when_the_robot_stands_there_with_the_heading() -> None:
    many = crowd()
    moves = []
    for number, agent in enumerate(many.agents):
        moves.append(fs.MoveTo(fs.Pose.from_euler(0.5 + number, 0.5, 0.15, 0.0, 0.0, 0.7), route=True))
        agent.execute_action(moves[-1])
    ended: set[int] = set()
    for _ in range(600):
        many.sim.step_once()
        for number, (agent, move) in enumerate(zip(many.agents, moves, strict=True)):
            # Later on it may have to give way to others.
            if number not in ended and move.status is fs.ActionStatus.COMPLETED:
                ended.add(number)
                assert agent.get_pose().position[:2] == (0.5 + number, 0.5)
                assert agent.get_pose().yaw == pytest.approx(0.7)
    assert len(ended) == 6


def test_a_path_is_driven_pose_by_pose() -> None:
    many = crowd(1)
    corners = [(0.5, 0.5), (9.5, 0.5), (9.5, 5.5)]
    move = fs.MoveAction(path=[fs.Pose((x, y, 0.15)) for x, y in corners], route=True)
    many.agents[0].execute_action(move)
    seen = []
    many.sim.events.on(
        "traffic_arrived", lambda agent, node: seen.append(many.traffic.network.positions[node].tolist())
    )
    many.run(60.0)
    assert move.status is fs.ActionStatus.COMPLETED
    assert seen == [list(corner) for corner in corners]


@pytest.mark.parametrize(
    ("action", "cause", "reason"),
    [
        (fs.MoveTo(fs.Pose((2.5, 2.5, 0.15)), route=True), ActionCause.INVALID_GOAL, "at no node"),
        (fs.MoveTo(fs.Pose((9.3, 5.5, 0.15)), route=True), ActionCause.INVALID_GOAL, "0.2 m from the node"),
        (fs.MoveTo(fs.Pose((9.5, 5.5, 0.15))), ActionCause.UNREACHABLE, "takes part in the traffic"),
        (fs.MoveTo(fs.Pose((9.5, 5.5, 0.15)), route=True, direction="backward"), ActionCause.INVALID_GOAL, "direction"),
    ],
)
def test_a_move_that_cannot_be_is_refused_with_the_reason(action: fs.MoveTo, cause: ActionCause, reason: str) -> None:
    many = crowd(1)
    before = many.agents[0].get_pose()
    many.agents[0].execute_action(action)
    many.run(2.0)
    assert action.status is fs.ActionStatus.FAILED
    assert action.cause is cause
    assert reason in str(action.error_message)
    assert many.agents[0].get_pose() == before


def test_a_tolerance_ends_a_move_at_the_node_within_it() -> None:
    many = crowd(1)
    move = fs.MoveTo(fs.Pose((9.3, 5.5, 0.15)), 0.25, route=True)
    many.agents[0].execute_action(move)
    many.run(30.0)
    assert move.status is fs.ActionStatus.COMPLETED
    assert many.agents[0].get_pose().position[:2] == (9.5, 5.5)


def test_a_cancelled_move_stops_at_a_node() -> None:
    many = crowd(1)
    agent = many.agents[0]
    goal = (9.5, 5.5, 0.15) if agent.get_pose().position[0] < 5 else (0.5, 0.5, 0.15)
    command = ExecuteAction(
        names=(agent.name,), actions=(fs.MoveTo(fs.Pose(goal), route=True),), replace=True, command_id="one"
    )
    move = many.sim.dispatcher.dispatch(command).value[agent.name]
    many.run(3.0)
    assert agent.is_moving
    many.sim.dispatcher.dispatch(CancelActions(names=(agent.name,), goal="one"))
    many.run(5.0)
    assert move.status is fs.ActionStatus.CANCELLED
    place = agent.get_pose().position[:2]
    assert np.abs(many.traffic.network.positions - place).max(axis=1).min() == 0.0
    assert place != goal[:2]
    many.run(3.0)
    assert agent.get_pose().position[:2] == place
    assert many.traffic.goal_of(agent) is None


def test_a_send_ends_the_move_of_a_robot_and_leaving_too() -> None:
    many = crowd(2)
    moves = []
    for agent in many.agents:
        moves.append(fs.MoveTo(fs.Pose((9.5, 5.5, 0.15)), route=True))
        agent.execute_action(moves[-1])
    many.run(1.0)
    many.traffic.send(many.agents[0], (0.5, 5.5))
    many.traffic.leave(many.agents[1])
    many.run(1.0)
    assert moves[0].status is fs.ActionStatus.CANCELLED
    assert moves[1].status is fs.ActionStatus.FAILED
    assert "no longer" in str(moves[1].error_message)
    many.run(30.0)
    assert many.traffic.has_arrived(many.agents[0])


# ---- What is not in the traffic blocks the nodes that it covers ------------------------------------------------------


def box(crowd: Crowd, x: float, y: float, half: float, **values: object) -> fs.SimObject:
    shape = fs.ShapeParams("box", half_extents=(half, half, 0.2))
    params = fs.SimObjectSpawnParams(shape, shape, fs.Pose((x, y, 0.2)), **values)
    return crowd.sim.spawn_all([params])[0]


def covered(crowd: Crowd) -> list[list[float]]:
    crowd.run(0.1)
    return sorted(crowd.traffic.network.positions[crowd.traffic.blocked[1]].tolist())


def test_what_hangs_above_or_is_carried_covers_nothing() -> None:
    crowd = Crowd(site_of(HALL), 1)
    high = box(crowd, 4.5, 3.5, 0.2)
    high.set_pose(fs.Pose((4.5, 3.5, 2.0)))
    agent = crowd.agents[0]
    load = box(crowd, *agent.get_pose().position[:2], 0.1)
    agent.attach_object(load)
    assert covered(crowd) == []


def test_a_box_that_goes_away_frees_its_node() -> None:
    crowd = Crowd(site_of("....."), 1)
    agent = crowd.agents[0]
    left = agent.get_pose().position[0] < 2.5
    wall = box(crowd, 2.5, 0.5, 0.3)
    crowd.traffic.send(agent, (4.5, 0.5) if left else (0.5, 0.5))
    crowd.run(10.0)
    assert crowd.traffic.is_waiting(agent) and not crowd.traffic.has_arrived(agent)
    wall.set_pose(fs.Pose((30.0, 30.0, 0.2)))
    crowd.run(10.0)
    assert crowd.traffic.has_arrived(agent) and not crowd.traffic.is_waiting(agent)


# ---- Delays, slow robots, breakdowns and closed places: the traffic goes on around them ------------------------------


HALL_disturbances = """
............
............
..###..###..
..###..###..
............
............
..###..###..
..###..###..
............
............
"""


def disturbed(count: int = 14, seed: int = 1, **disturbances: Any) -> Crowd:
    crowd = Crowd(site_of(HALL_disturbances), count, seed=seed, disturbances=disturbances)
    crowd.roam()
    return crowd


def test_broken_robots_are_removed() -> None:
    crowd = disturbed(breakdowns={"probability": 0.02, "after": 5.0, "then": "remove"})
    crowd.run(40.0)
    removed = crowd.traffic.figures()["removals"]
    assert removed >= 2
    assert len(crowd.traffic.robots) == 14 - removed == len(crowd.sim.agents)
    done = crowd.done
    crowd.run(20.0)
    assert crowd.done > done


def test_a_place_is_closed_by_schedule() -> None:
    crowd = Crowd(site_of("....."), 1, disturbances={"closures": [{"places": [[2.5, 0.5]], "begin": 0, "end": 10}]})
    agent = crowd.agents[0]
    goal = (4.5, 0.5) if agent.get_pose().position[0] < 2.5 else (0.5, 0.5)
    crowd.run(0.1)
    assert crowd.traffic.blocked[0].sum() == 1
    crowd.traffic.send(agent, goal)
    crowd.run(9.0)
    assert not crowd.traffic.has_arrived(agent)
    crowd.run(10.0)
    assert crowd.traffic.has_arrived(agent)
    assert not crowd.traffic.blocked[0].any()


@pytest.mark.parametrize(
    ("disturbances", "reason"),
    [
        ({"delays": {"probability": 1.5}}, "probability"),
        ({"delays": {"shortest": 5, "longest": 1}}, "longest"),
        ({"breakdowns": {"then": "explode"}}, "then"),
        ({"closures": [{"places": []}]}, "places"),
        ({"closures": [{"places": ["nowhere"]}]}, "nowhere"),
        ({"closures": [{"places": [[2.5, 2.5]], "begin": 5, "end": 5}]}, "end"),
        ({"earthquakes": {}}, "earthquakes"),
    ],
)
def test_wrong_disturbances_are_errors(disturbances: dict[str, Any], reason: str) -> None:
    with pytest.raises((ConfigError, FleetSimError), match=reason):
        Crowd(site_of(HALL_disturbances), 1, disturbances=disturbances)
