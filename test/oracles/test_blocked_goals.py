"""How long robots wait before static bodies, and who says what blocks them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle_rows import holds
from outlines import HEIGHT, build, robot, wall

import fleet_sim as fs
from fleet_sim.apps.cli.main import main
from fleet_sim.apps.record.recording import Recording
from fleet_sim.robots.actions import TourAction
from fleet_sim.warehouse.sites import Grid, Site, build_walls
from fleet_sim.warehouse.traffic import offer_routes


@holds("api:MoveTo.blocked_timeout", "api:Action.cause", fault="robots/drive.py: is_blocked_too_long is always false")
@pytest.mark.parametrize("step", [0.05, 0.013])
@pytest.mark.parametrize("given", [None, 2.7])
def test_a_goal_behind_a_wall_ends_after_the_timeout_of_simulated_time(step: float, given: float | None) -> None:
    with build(step, blocked_timeout=4.2) as sim:
        agent = robot(sim, -0.7, 0.3, 0.7)
        wall(sim, 1.6, 0.9, 0.35, (0.15, 2.2))
        move, blocked = fs.MoveTo(fs.Pose.from_yaw(4.0, 2.0, HEIGHT, yaw=0.7), blocked_timeout=given), list[float]()
        agent.add_action(move)
        while not move.is_complete() and sim.sim_time < 30.0:
            sim.step_once()
            if agent.blocked_by is not None:
                blocked.append(sim.sim_time)
                told = move.progress(agent)
                assert (told["phase"], told["blocked_by"], move.blocked_by) == ("blocked", "wall", "wall")
            elif not move.is_complete():
                assert move.progress(agent)["phase"] == "moving" and move.blocked_by is None
        # It was stopped within the step before the first of these times.
        waited = move.end_time - (blocked[0] - step)
        wanted = 4.2 if given is None else given
        assert wanted <= waited + 1e-9 and waited <= wanted + 2 * step + 1e-9
        assert (move.status, move.cause, move.blocked_by) == ("failed", "blocked", "wall")
        assert "'wall'" in str(move.error_message) and not agent.is_moving and agent.goal_pose is None


@holds("api:SimulationParams.blocked_timeout", fault="facade/update.py: _give_up returns at once")
def test_goals_without_an_action_end_too_and_waiting_for_what_may_move_does_not() -> None:
    with build(blocked_timeout=1.5) as sim:
        ended: list[tuple[Any, ...]] = []
        sim.events.on("goal_failed", lambda agent, cause, message: ended.append((agent.name, cause, message)))
        goal = fs.Pose.from_yaw(5.0, 1.0, HEIGHT, yaw=0.7)
        agent = robot(sim, -0.7, 0.3, 0.7)
        barrier = wall(sim, 1.6, 0.9, 0.35, (0.15, 2.2))
        for command in (agent.set_goal, lambda pose: agent.set_path([pose, goal])):
            command(goal)
            while agent.goal_pose is not None and sim.sim_time < 60:
                sim.step_once()
        assert [(name, cause) for name, cause, _ in ended] == [("amr", "blocked")] * 2 and "'wall'" in ended[0][2]
        # A wall that goes away in time is no obstacle any more, and the time starts anew with the next.
        agent.set_goal(goal)
        for _ in range(20):
            sim.step_once()
        barrier.set_pose(fs.Pose((50, 50, 0.4)))
        for _ in range(10):
            sim.step_once()
        assert agent.goal_pose is not None and agent.blocked_by is None
        # Neither robots nor things that somebody may move are waited for a while only.
        for make in (
            lambda: robot(sim, 3.6, 0.8, 0.2, name="other"),
            lambda: wall(sim, 4, 1, 0, (0.2, 3), collision_mode="normal_3d", name="pallet"),
        ):
            agent.set_pose(fs.Pose.from_yaw(0.0, 0.3, HEIGHT, yaw=0.7))
            other = make()
            move = fs.MoveTo(goal)
            agent.add_action(move)
            for _ in range(200):
                sim.step_once()
            assert move.status == "in_progress" and move.blocked_by == other.name
            assert move.progress(agent)["phase"] == "waiting"
            move.cancel()
            sim.remove_object(other)


@holds("api:TourAction.missed", fault="robots/actions/drive.py: the cause of a pose that was missed is failed")
@pytest.mark.parametrize("skips", [False, True])
def test_a_tour_ends_or_goes_on_with_the_cause_of_the_pose_that_it_misses(skips: bool) -> None:
    with build(0.05, blocked_timeout=1.5, world_extent=60.0) as sim:
        agent = robot(sim, -0.7, 0.3, 0.7)
        wall(sim, 1.6, 0.9, 0.35, (0.15, 2.2))
        places = [(-0.9, 1.1), (4.0, 2.0), (90.0, 0.9), (-1.4, 0.2)]
        tour = TourAction(fs.Path([fs.Pose.from_yaw(x, y, HEIGHT, 0.7) for x, y in places]), skip_missed=skips)
        agent.add_action(tour)
        while not tour.is_complete() and sim.sim_time < 60.0:
            assert tour.progress(agent)["waypoint"] == tour.index
            sim.step_once()
        if skips:
            assert tour.status == "completed" and agent.position[:2] == pytest.approx(places[-1])
            assert tour.missed == [(1, "blocked"), (2, "invalid_goal")]
        else:
            assert (tour.status, tour.cause, tour.blocked_by) == ("failed", "blocked", "wall")
            assert str(tour.error_message).startswith("pose 1: ") and tour.missed == []
        for path in ([], [fs.Pose((90.0, 0.0, HEIGHT))]):
            nowhere = TourAction(path, skip_missed=skips)
            agent.add_action(nowhere)
            sim.step_once()
            sim.step_once()
            assert (nowhere.status, nowhere.cause) == ("failed", "invalid_goal")


SCENE = """
simulation: {gui: false, target_rtf: 0, timestep: 0.05, duration: 6, block_on_collision: true, blocked_timeout: 2}
objects:
  - name: wall
    pose: [2.4, 0, 0.5]
    collision_mode: static
    collision_shape: {shape_type: box, half_extents: [0.1, 2, 0.5]}
robots:
  - {name: ends, urdf_path: diff_base, pose: [0, 0.8, 0], actions: [{type: move_to, target_pose: [6, 0.6, 0]}]}
  - name: waits
    urdf_path: diff_base
    pose: [0, -0.8, 0]
    actions: [{type: move_to, target_pose: [6, -0.6, 0], blocked_timeout: 0}]
"""


@holds("report:run.failures", "report:run.robots.blocked_by", fault="apps/cli/summary.py: _obstacle returns nothing")
def test_the_summary_of_a_run_names_what_blocks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenario, figures = tmp_path / "scene.yaml", tmp_path / "run.json"
    scenario.write_text(SCENE)
    assert main(["run", str(scenario), "--json", str(figures)]) == 1
    out = capsys.readouterr().out
    assert "ends: MoveTo failed: blocked by 'wall' for 2 s" in out
    assert "still busy at the end: waits (blocked by wall)" in out
    run = json.loads(figures.read_text())["runs"][0]
    assert [(one["robot"], one["cause"], one["blocked_by"]) for one in run["failures"]] == [("ends", "blocked", "wall")]
    assert run["faults"] == ["1 action failed", "1 robot short of the goal"]
    assert {line["robot"]: line["blocked_by"] for line in run["robots"]} == {"ends": "wall", "waits": "wall"}


@holds("record:blockers", fault="apps/record/recording.py: blockers stay -1")
def test_recordings_and_snapshots_name_what_blocks(tmp_path: Path) -> None:
    with build(blocked_timeout=0) as sim:
        agent = robot(sim, -0.7, 0.3, 0.7)
        other = robot(sim, -2.0, -0.5, 0.2, name="other")
        wall(sim, 1.6, 0.9, 0.35, (0.15, 2.2))
        live: dict[float, list[str]] = {}

        def note(dt: float, sim_time: float) -> None:
            named = [each.blocked_by.name if each.blocked_by else "" for each in (agent, other)]
            snapshot = sim.get_snapshot()
            found = [int(snapshot.blockers[snapshot.index_of(each.name)]) for each in (agent, other)]
            assert [snapshot.names[index] if index >= 0 else "" for index in found] == named
            live[round(sim_time + dt, 6)] = named

        agent.set_goal(fs.Pose.from_yaw(5.0, 1.0, HEIGHT, yaw=0.7))
        other.set_goal(fs.Pose.from_yaw(4.0, 1.0, HEIGHT, yaw=0.2))
        sim.events.on("post_step", note)
        with sim.record(tmp_path / "run.mcap", rate=20.0):
            for _ in range(120):
                sim.step_once()
    assert {"wall", "amr"} <= {name for names in live.values() for name in names}
    with Recording(tmp_path / "run.mcap") as recording:
        for time in recording.times[1:].tolist():
            snapshot = recording.snapshot_at(time)
            found = [int(snapshot.blockers[snapshot.index_of(name)]) for name in ("amr", "other")]
            assert [snapshot.names[index] if index >= 0 else "" for index in found] == live[round(time, 6)]


@pytest.mark.parametrize(("starts", "mover", "patience"), [((1.2, 8.1), "b", 6.0), ((1.2, 6.9), "a", 2.0)])
@holds("api:MoveTo.progress", fault="robots/actions/routing.py: a robot aside keeps 0.1 m less from the ways of others")
def test_of_two_that_meet_the_one_nearer_to_room_for_both_makes_way(
    starts: tuple[float, float], mover: str, patience: float
) -> None:
    """Between two rooms is a passage of 2 m, 0.8 m wide, from x = 4 to x = 6; the first one looks after 2 s, not 6."""
    step = 0.05
    sim = fs.MultiRobotSimulationCore(
        fs.SimulationParams(gui=False, timestep=step, target_rtf=0, collision_margin=0.0, compiled_code="never")
    )
    free = np.ones((60, 100), bool)
    free[:, 40:60] = False
    free[26:34, 40:60] = True
    site = Site("rooms", Grid(free, 0.1))
    build_walls(sim, site)
    offer_routes(sim, site, 0.02)
    robots, moves = {}, {}
    ways = {"a": (0.28, (starts[0], 2.7), (8.6, 3.6)), "b": (0.24, (starts[1], 3.1), (1.4, 2.2))}
    for name, (radius, start, goal) in ways.items():
        shape = fs.ShapeParams("cylinder", radius=radius, height=0.4)
        params = fs.AgentSpawnParams(shape, shape, fs.Pose((*start, 0.2)), block_on_collision=True, max_linear_vel=1.0)
        robots[name] = sim.spawn(params)
        moves[name] = fs.MoveTo(fs.Pose((*goal, 0.2)), 0.0, False, route=True)
        robots[name].add_action(moves[name])
    phases: dict[str, list[str]] = {"a": [], "b": []}
    places: dict[str, list[Any]] = {"a": [], "b": []}
    while not all(move.is_complete() for move in moves.values()) and sim.sim_time < 60.0:
        sim.step_once()
        for name, move in moves.items():
            phases[name].append("" if move.is_complete() else move.progress(robots[name])["phase"])
            places[name].append(robots[name].position[:2])
    sim.close()
    assert {move.status for move in moves.values()} == {"completed"}
    other = "b" if mover == "a" else "a"
    assert "giving way" not in phases[other]
    held = next(n for n in range(len(phases["a"])) if phases["a"][n] == phases["b"][n] == "waiting")
    begin, end = phases[mover].index("giving way"), len(phases[mover]) - phases[mover][::-1].index("giving way")
    # It looks each 0.5 s whether it still stands.
    assert patience - 1e-9 <= (begin - held) * step <= patience + 0.5 + 2 * step
    mine, theirs = np.array(places[mover]), np.array(places[other])
    apart = np.linalg.norm(mine - theirs, axis=1)
    assert apart.min() >= 0.28 + 0.24 - 1e-6
    # Aside it is 0.1 m from where the other one drives, as near to that as cells and their corners let it.
    room = np.linalg.norm(theirs[begin:] - mine[end - 1], axis=1).min() - 0.28 - 0.24
    assert 0.1 - 0.01 <= room <= 0.25
    # It goes on when the other one is so far from its way, and not later.
    left = np.linalg.norm(mine[end:] - theirs[end - 1], axis=1).min() - 0.28 - 0.24
    assert 0.1 - 0.05 <= left <= 0.1 + 1.0 * (0.5 + 2 * step)
