"""Certificates hold the poses of their run, and the program that reads them finds every planted violation."""

from __future__ import annotations

import io
import json
import math
import signal
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pytest
import two_floors
from oracle_rows import holds

import fleet_sim as fs
from fleet_sim.apps.certify import certify
from fleet_sim.apps.cli.main import main
from fleet_sim.base.arrays import Floats
from fleet_sim.warehouse.sites import Grid, Site
from fleet_sim.warehouse.traffic import offer_traffic
from fleet_sim.warehouse.traffic.certificate import certified
from fleet_sim.warehouse.traffic.runs import TasksSettings, offer_tasks
from fleet_sim.world.pipeline import Phase, System, any_span

FREE = np.array([[mark == "." for mark in row] for row in ["........", "..##....", "........", "....##..", "........"]])
ORIGIN = (-3.0, 2.0, 0.5)
Poses = dict[str, list[tuple[float, Floats]]]


def driven(path: Path, timestep: float) -> Poses:
    """Write the certificate of a run of robots of all kinds; return where each was after each step."""
    params = fs.SimulationParams(gui=False, timestep=timestep, target_rtf=0, seed=3, collision_margin=0.02)
    grid, poses = Grid(FREE, 1.0, ORIGIN), Poses()
    with fs.MultiRobotSimulationCore(params) as sim:
        limits: dict[str, Any] = {"max_linear_vel": 1.3, "max_linear_accel": 1.1, "max_angular_vel": 1.9}
        for number, cell in enumerate((0, 5, 16, 23, 33, 39)):
            box = fs.ShapeParams("box", half_extents=(0.31, 0.22, 0.2))
            shape = box if number % 2 else fs.ShapeParams("cylinder", radius=0.4, height=0.4)
            law = "omni" if number == 2 else "differential"
            (place,) = grid.positions(np.array([cell])).tolist()
            # Some turn into their first lane within a step.
            pose = fs.Pose.from_yaw(*place, 0.2, 0.7 if number == 3 else ORIGIN[2] - 1e-4)
            sim.spawn(fs.AgentSpawnParams(shape, shape, pose, name=f"amr_{number}", controller={"type": law, **limits}))
        traffic = offer_traffic(sim, Site("hall", grid), planner="pibt", network="grid")
        traffic.enroll(sim.agents)
        offer_tasks(sim, traffic, TasksSettings(goals="random", dwell=0.3))
        with certified(sim, traffic, path):
            for step in range(round(20.0 / timestep)):
                if step == round(9.0 / timestep):
                    traffic.stop(sim.get_object("amr_1"))
                if step == round(14.0 / timestep):
                    traffic.resume(sim.get_object("amr_1"))
                    sim.remove_object(sim.get_object("amr_4"))
                sim.step_once()
                for agent in sim.agents:
                    position, yaw = agent.get_pose().position, agent.get_pose().yaw
                    poses.setdefault(agent.name, []).append((sim.sim_time, np.array([*position[:2], yaw])))
    return poses


def pieces_of(path: Path) -> tuple[dict[str, list[Floats]], dict[str, Any]]:
    """Return the pieces of each robot, read by what `certify.py` says of the format, and the floor."""
    names, found = list[str](), dict[str, list[Floats]]()
    with path.open("rb") as stream:
        head = json.loads(stream.readline())
        while line := stream.readline():
            block = json.loads(line)
            names += [robot["name"] for robot in block["robots"]]
            for row in np.frombuffer(stream.read(88 * block["pieces"])).reshape(-1, 11):
                found.setdefault(names[int(row[0])], []).append(row[1:])
    return found, head


@pytest.mark.parametrize("timestep", [0.05, 0.013])
@holds(
    "record:certificate",
    fault="warehouse/traffic/certificate.py: what starts and stops within a step brakes half a step late",
)
def test_pieces_go_through_all_poses_of_the_run_and_are_certified(tmp_path: Path, timestep: float) -> None:
    poses = driven(tmp_path / "run.bin", timestep)
    found, head = pieces_of(tmp_path / "run.bin")
    assert found.keys() == poses.keys() and len(found) == 6 and head["origin"] == list(ORIGIN)
    for name, seen in poses.items():
        times = np.array([piece[0] for piece in found[name]])
        for time, pose in seen:
            t, x, y, vx, vy, ax, ay, yaw, rate, change = found[name][int(np.searchsorted(times, time - 1e-9)) - 1]
            s = time - t
            assert math.hypot(x + vx * s + ax * s * s / 2 - pose[0], y + vy * s + ay * s * s / 2 - pose[1]) < 1e-7
            assert abs(math.remainder(yaw + rate * s + change * s * s / 2 - pose[2], math.tau)) < 1e-7
    with (tmp_path / "run.bin").open("rb") as stream:
        proof, lines = certify(stream)
    assert not lines and proof["violations"] == 0
    # All but one robot for the whole time, and that one until it was removed.
    assert proof["robot_seconds"] == pytest.approx(5 * 20.0 + 14.0, abs=6 * timestep)
    assert 0.0 < proof["gap"] < 0.5 and 0.0 < proof["clearance"] < 0.2


def worked(path: Path, robots: int, *, strides: bool) -> tuple[bytes, dict[str, Any], str, int]:
    """Return the certificate of a run, its figures, where it ended, and how many steps it took."""
    params = fs.SimulationParams(gui=False, timestep=0.1, target_rtf=0, seed=5, duration=47.3)
    grid = Grid(np.ones((7, 9), bool), 1.0, ORIGIN)
    with fs.MultiRobotSimulationCore(params) as sim:
        shape = fs.ShapeParams("cylinder", radius=0.3, height=0.4)
        for place in grid.positions(np.arange(0, 63, 4)[:robots]).tolist():
            pose = fs.Pose.from_yaw(*place, 0.2, ORIGIN[2])
            sim.spawn(fs.AgentSpawnParams(shape, shape, pose, controller={"type": "differential"}))
        traffic = offer_traffic(sim, Site("hall", grid), planner="pibt", network="grid")
        traffic.enroll(sim.agents)
        work = offer_tasks(sim, traffic, TasksSettings(goals="random", dwell=0.7))
        with certified(sim, traffic, path):
            if strides:
                sim.run_simulation()
            else:
                for _ in range(473):
                    sim.step_once()
        figures = {name: value for name, value in work.figures().items() if not name.startswith("planning")}
        return path.read_bytes(), figures, sim.state_hash(), len(sim.profiler.totals)


# Of one robot alone stays end in the middle of steps.
@pytest.mark.parametrize("robots", [16, 1])
def test_a_run_without_readers_takes_a_step_a_plan_and_is_the_same(tmp_path: Path, robots: int) -> None:
    whole, stepped = (worked(tmp_path / f"{way}.bin", robots, strides=way) for way in (True, False))
    assert stepped[3] == 473 and whole[3] < 60 and stepped[1]["tasks_done"] > robots
    assert whole[:3] == stepped[:3]


@pytest.mark.parametrize("event", ["traffic_arrived", "traffic_left", "robot_starved"])
def test_who_hears_of_robots_of_the_traffic_can_pause_in_each_tick(event: str) -> None:
    shape, grid = fs.ShapeParams("cylinder", radius=0.3, height=0.4), Grid(np.ones((3, 3), bool), 1.0, ORIGIN)
    params = fs.SimulationParams(gui=False, timestep=0.1, target_rtf=0, duration=2.0)
    with fs.MultiRobotSimulationCore(params) as sim:
        pose = fs.Pose.from_yaw(*grid.positions(np.zeros(1, int))[0].tolist(), 0.2, ORIGIN[2])
        sim.spawn(fs.AgentSpawnParams(shape, shape, pose, controller={"type": "differential"}))
        traffic = offer_traffic(sim, Site("hall", grid), planner="pibt", network="grid")
        traffic.enroll(sim.agents)
        sim.events.on(event, lambda **_: sim.pause())
        sim.run_simulation()
        assert len(sim.profiler.totals) == 20


def test_a_command_that_comes_when_a_step_of_many_ticks_begins_waits_for_the_next() -> None:
    shape, grid = fs.ShapeParams("cylinder", radius=0.3, height=0.4), Grid(np.ones((3, 3), bool), 1.0, ORIGIN)
    params = fs.SimulationParams(gui=False, timestep=0.1, target_rtf=0, duration=4.0)
    with fs.MultiRobotSimulationCore(params) as sim:
        pose = fs.Pose.from_yaw(*grid.positions(np.zeros(1, int))[0].tolist(), 0.2, ORIGIN[2])
        sim.spawn(fs.AgentSpawnParams(shape, shape, pose, controller={"type": "differential"}))
        offer_traffic(sim, Site("hall", grid), planner="pibt", network="grid").enroll(sim.agents)
        sent, ticks = [], []

        def late() -> int:
            """As another thread would: after the pipeline has seen that nothing waits."""
            if not sent:
                sent.append(sim.inbox.put(fs.Call(function=lambda sim: ticks.append(sim.pipeline.ticks))))
            return any_span()

        sim.pipeline.add(System("late", Phase.OBSERVE, lambda dt: None, span=late))
        sim.run_simulation()
        assert sent and ticks == [1] and len(sim.profiler.totals) < 20


def test_robots_that_come_in_a_run_and_drive_at_once_do_not_jump(tmp_path: Path) -> None:
    grid, shape = Grid(np.ones((5, 8), bool), 1.0), fs.ShapeParams("cylinder", radius=0.3, height=0.4)
    params = fs.SimulationParams(gui=False, timestep=0.05, target_rtf=0)
    with fs.MultiRobotSimulationCore(params) as sim:
        traffic = offer_traffic(sim, Site("hall", grid), planner="pibt", network="grid")

        def comes(cell: int, goal: int, yaw: float) -> None:
            pose = fs.Pose.from_yaw(*grid.positions(np.array([cell]))[0].tolist(), 0.2, yaw)
            robot = sim.spawn(fs.AgentSpawnParams(shape, shape, pose, controller={"type": "differential"}))
            traffic.enroll(robot)
            traffic.send(robot, tuple(grid.positions(np.array([goal]))[0].tolist()))

        with certified(sim, traffic, tmp_path / "run.bin"):
            for cell, goal, yaw in ((0, 1, 0.0), (16, 20, 1.0)):
                for _ in range(10):
                    sim.step_once()
                comes(cell, goal, yaw)
            # And one at the end of the step in which the first arrives.
            sim.events.on("traffic_arrived", lambda agent, node: len(sim.agents) > 2 or comes(32, 36, 1.0))
            for _ in range(60):
                sim.step_once()
    with (tmp_path / "run.bin").open("rb") as stream:
        proof, lines = certify(stream)
    assert not lines and proof["robots"] == 3 and proof["robot_seconds"] > 3.5 + 3.0


def certificate(robots: list[dict[str, Any]], pieces: list[tuple[float, ...]], seconds: float = 10.0) -> io.BytesIO:
    """Return a certificate of one block, on a floor of 2 km with one blocked cell of 40 m."""
    limits = {"speed": 1e3, "accel": 1e5, "spin": 1e3, "spin_accel": 1e5, "turns": False}
    head = {"format": "fleet_sim certificate 1", "begin": 0.0, "cell": 40.0, "origin": [-1000.0, -1000.0, 0.0]}
    rows = ["." * 50] * 50
    rows[10] = "." * 30 + "@" + "." * 19
    bodies = [{"name": f"r{number}", "hx": 0, "hy": 0, **limits, **robot} for number, robot in enumerate(robots)]
    block = {"until": seconds, "pieces": len(pieces), "robots": bodies}
    lines = json.dumps({**head, "rows": rows}) + "\n" + json.dumps(block) + "\n"
    return io.BytesIO(lines.encode() + np.array(pieces, "<f8").tobytes())


def passes(draw: np.random.Generator, gap: float) -> io.BytesIO:
    """A robot that stands, or turns, and one that comes as near as `gap` m at one moment, in one of four ways."""
    kind, turn, at = draw.integers(4), draw.uniform(-3, 3), draw.uniform(1.0, 9.0)
    one, other = draw.uniform(0.2, 0.6, 2)
    cosine, sine = math.cos(turn), math.sin(turn)

    def placed(along: float, aside: float) -> tuple[float, float]:
        return cosine * along - sine * aside, sine * along + cosine * aside

    stands = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, turn, 0.0, 0.0)
    robots = [{"rim": one}, {"rim": other}]
    if kind == 0:
        # It passes in a straight line.
        speed = draw.uniform(0.5, 20.0)
        begin, velocity = placed(-speed * at, one + other + gap), placed(speed, 0.0)
        return certificate(robots, [stands, (1, 0.0, *begin, *velocity, 0, 0, 0.3, 0, 0)])
    if kind == 1:
        # It comes straight on and turns back at once, so that it is near for milliseconds.
        accel = draw.uniform(2.0, 8.0 * abs(gap) / 1e-6)
        before = min(at, math.sqrt(10.0 / accel))
        begin = placed(one + other + gap + 0.5 * accel * before * before, 0.0)
        comes = (1, at - before, *begin, *placed(-accel * before, 0.0), *placed(accel, 0.0), 0.3, 0, 0)
        limits = {"speed": 1e6, "accel": 1e7}
        return certificate(
            [robots[0], {**robots[1], **limits}], [stands, comes, (1, at + 0.5 * before, *[math.nan] * 9)]
        )
    if kind == 2:
        # A corner of a rectangle comes by while it turns.
        rate, reach = draw.uniform(0.3, 3.0), math.hypot(0.7, one)
        spins = (0, 0.0, 0, 0, 0, 0, 0, 0, turn - math.atan2(one, 0.7) - rate * at, rate, 0)
        return certificate(
            [{"hx": 0.7, "hy": one, "rim": 0.0}, {"rim": other}],
            [spins, (1, 0.0, *placed(reach + other + gap, 0.0), 0, 0, 0, 0, 0, 0, 0)],
        )
    # Past the right side of the blocked cell, which ends at x = 240 m.
    speed, x = draw.uniform(0.5, 2.0), 240.0 + other + gap
    return certificate([{"rim": other}], [(0, 0.0, x, 580.0 - speed * at, 0, speed, 0, 0, 0.3, 0, 0)])


@pytest.mark.parametrize("count", [200, pytest.param(1000, marks=pytest.mark.slow)])
def test_planted_touches_are_found_and_near_misses_are_not(count: int) -> None:
    draw = np.random.default_rng(11)
    for number in range(count):
        gap = draw.choice([-1e-3, -2e-5, -0.05, 2e-5, 1e-3, 0.05]) * draw.uniform(0.5, 1.5)
        proof, lines = certify(passes(draw, gap))
        assert bool(lines) == (gap < 0.0), (number, gap, lines)
        if gap > 0.0:
            assert min(proof["gap"], proof["clearance"]) >= 0.99 * gap
        else:
            assert "overlaps" in lines[0]


STANDS = (0, 0.0, 1.0, 2.0, 0, 0, 0, 0, 0.7, 0, 0)
DRIVES = (0, 0.0, 1.0, 2.0, 0.8 * math.cos(0.7), 0.8 * math.sin(0.7), 0, 0, 0.7, 0, 0)
LATER = (0, 4.0, 1.0 + 3.2 * math.cos(0.7), 2.0 + 3.2 * math.sin(0.7), 0, 0, 0, 0, 0.7, 0, 0)


def stops(seconds: float, accel: float) -> list[tuple[float, ...]]:
    """Return how a robot brakes for so long until it stands."""
    brakes = (0, 0.0, 1.0, 2.0, seconds * accel, 0, -accel, 0, 0.7, 0, 0)
    return [brakes, (0, seconds, 1.0 + 0.5 * accel * seconds**2, *STANDS[3:])]


def hops(seconds: float) -> list[tuple[float, ...]]:
    """Return how a robot hops by less than is a jump, again and again after so many seconds."""
    return [STANDS, *((0, 4.0 + seconds * hop, 1.0 + 9e-7 * hop, *STANDS[3:]) for hop in range(1, 4))]


def presses(count: int, seconds: float) -> list[tuple[float, ...]]:
    """Return how a robot speeds up by 0.6 m/s² all the time, told in pieces of so many seconds."""
    times = np.arange(count) * seconds
    speeds = [(0, time, 1.0 + 0.3 * time**2, 2.0, 0.6 * time, 0, 0.6, 0, 0.7, 0, 0) for time in times.tolist()]
    end = count * seconds
    return [*speeds, (0, end, 1.0 + 0.3 * end**2, 2.0, 0.6 * end, 0, 0, 0, 0.7, 0, 0)]


@pytest.mark.parametrize(
    ("robot", "pieces", "said"),
    [
        ({}, [DRIVES], ""),
        ({"turns": True}, [DRIVES], ""),
        ({}, [DRIVES, (*LATER[:2], LATER[2] + 2e-6, *LATER[3:])], "jumps"),
        ({}, [DRIVES, LATER], "jumps"),
        ({}, [STANDS, (0, 4.0, 1.0, 2.0, 0, 0, 0, 0, 0.7 + 1e-5, 0, 0)], "jumps"),
        ({}, [STANDS, (0, 4.0, 1.0, 2.0, 0, 0, 0, 0, 0.7, 0.1, 0)], "jumps"),
        ({}, [STANDS, (0, 4.0, 1.0, 2.0, 0, 0, 0, 0, 0.7 - math.tau, 0, 0)], ""),
        ({"speed": 0.79}, [DRIVES], "exceeds its speed"),
        ({"accel": 0.1}, [(*STANDS[:6], 0.05, 0.09, 0.7, 0, 0)], "exceeds its acceleration"),
        # The last nanometre of a way is rounded so that it brakes a little too hard.
        ({"accel": 0.5}, stops(2e-5, 0.502), ""),
        ({"accel": 0.5}, stops(2e-5, 0.6), "exceeds its acceleration"),
        ({"accel": 0.5}, stops(1e-2, 0.502), "exceeds its acceleration"),
        # What is rounding once is none where it adds up.
        ({}, hops(1.0), ""),
        ({}, hops(0.1), "jumps"),
        ({}, hops(0.0), "jumps"),
        ({"accel": 0.5}, presses(3, 2e-6), ""),
        ({"accel": 0.5}, presses(200, 2e-6), "exceeds its acceleration"),
        ({"spin": 1.0}, [(*STANDS[:9], 0.5, 0.06)], "exceeds its turn rate"),
        ({"spin_accel": 0.05}, [(*STANDS[:9], 0.5, -0.06)], "exceeds its turn acceleration"),
        ({"turns": True}, [(*DRIVES[:8], 0.71, 0, 0)], "drives aside"),
        ({"turns": True}, [(*DRIVES[:8], 0.7 + math.pi, 0, 0)], ""),
        ({"turns": True}, [(*DRIVES[:9], 0.2 * math.tau, 0)], "drives aside"),
    ],
)
def test_jumps_and_exceeded_limits_are_said(robot: dict[str, Any], pieces: list[Any], said: str) -> None:
    _, lines = certify(certificate([{"rim": 0.3, **robot}], pieces))
    assert [line for line in lines if said in line] == lines and bool(lines) == bool(said), lines


def test_robots_that_are_nowhere_take_no_time() -> None:
    certify(certificate([{"rim": 0.3}] * 2, [STANDS]))
    begin = process_time()
    proof, lines = certify(certificate([{"rim": 0.3}] * 50_000, [STANDS]))
    assert process_time() - begin < 3.0
    assert (proof["robots"], lines) == (50_000, [])


@pytest.mark.parametrize(
    "pieces",
    [
        [(1, *STANDS[1:])],
        [(-1, *STANDS[1:])],
        [(*STANDS[:3], math.nan, *STANDS[4:])],
        [(*STANDS[:10], 1e300)],
        [(0, 11.0, *STANDS[2:])],
        [(0, 3.0, *STANDS[2:]), STANDS],
        [STANDS, (0, 4.0, *[math.nan] * 9), (0, 4.0, 9.0, *STANDS[3:])],
    ],
)
def test_what_is_no_certificate_proves_nothing(
    pieces: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValueError, match=r"before 10 s"):
        certify(certificate([{"rim": 0.3}], pieces))
    whole = certificate([{"rim": 0.3}], [STANDS]).getvalue()
    huge = whole.replace(b'"pieces": 1', b'"pieces": 1e999')
    assert huge != whole
    for broken in (b"", b"{}\n", b"[" * 100_000, huge, whole[:-1]):
        (tmp_path / "broken").write_bytes(broken)
        assert main(["certify", str(tmp_path / "broken")]) == 2
    with pytest.raises(ValueError, match="no size"):
        certify(certificate([{"rim": math.nan}], [STANDS]))
    for wrong in ({"cell": math.nan}, {"cell": -40.0}, {"cell": math.inf}, {"rows": []}):
        first, _, rest = certificate([{"rim": 0.3}], [STANDS]).getvalue().partition(b"\n")
        with pytest.raises(ValueError, match="has no cells"):
            certify(io.BytesIO(json.dumps({**json.loads(first), **wrong}).encode() + b"\n" + rest))
    # What would take for ever: a robot across the floor and far beyond, a slow one for years, two that all but touch.
    for far, until in (((1e6, 1e6, 0, 0), 100.0), ((0, 0, 1e-9, 0), 1e8)):
        with pytest.raises(ValueError, match="too long"):
            certify(certificate([{"rim": 0.3, "speed": 1e9}], [(0, 0.0, 1.0, 2.0, *far, 0, 0, 0)], until))
    near = (1.0 + 2e-6) / math.sqrt(2.0)
    beside = [(one, 0.0, one * near, one * near, 1e-5, 0, 0, 0, 0, 0, 0) for one in range(2)]
    with pytest.raises(ValueError, match="too near"):
        certify(certificate([{"rim": 0.5}, {"rim": 0.5}], beside, 5e7))
    # A rod that turns for years, whose angle is rounded by 0.1 mrad, and one beside its end for a microsecond.
    rods = [(0, -9e8, 0, 0, 0, 0, 0, 0, 0, 900.0, 0), (1, 0.0, 9.0, 0, 0, 0, 0, 0, 0, 0, 0), (1, 1e-6, *[math.nan] * 9)]
    turning = certificate([{"hx": 9.0, "rim": 0.01}, {"rim": 0.1}], rods, 1e-5).getvalue()
    with pytest.raises(ValueError, match="exact"):
        certify(io.BytesIO(turning.replace(b'"begin": 0.0', b'"begin": -9e8')))
    # Of robots that are nowhere nothing is proved.
    (tmp_path / "empty").write_bytes(certificate([{"rim": 0.3}], []).getvalue())
    assert main(["certify", str(tmp_path / "empty")]) == 1
    assert "certified" not in capsys.readouterr().out


def test_signals_end_a_proof_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    both = (signal.SIGINT, signal.SIGTERM)
    before, meanwhile = [signal.getsignal(number) for number in both], list[Any]()

    def proof(*_: object) -> int:
        meanwhile.extend(map(signal.getsignal, both))
        return 3

    monkeypatch.setattr("fleet_sim.apps.certify.main", proof)
    assert main(["certify", "run.bin"]) == 3 and meanwhile == [signal.SIG_DFL] * 2
    assert [signal.getsignal(number) for number in both] == before


def test_a_run_without_a_traffic_of_one_floor_has_no_certificate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "two.json").write_text(json.dumps(two_floors.scenario(12, 10, 4, 0, 1.0)))
    for file, reason in (("demo.yaml", "a section 'traffic'"), (str(tmp_path / "two.json"), "several")):
        args = ["--headless", "--duration", "0.5", "--certificate", str(tmp_path / "run.bin")]
        assert main(["run", file, *args]) == 1
        assert reason in capsys.readouterr().err
    assert not (tmp_path / "run.bin").exists()


def test_a_reset_ends_what_a_certificate_can_be_of(tmp_path: Path) -> None:
    grid, shape = Grid(np.ones((3, 4), bool), 1.0), fs.ShapeParams("cylinder", radius=0.3, height=0.4)
    with fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, timestep=0.1)) as sim:
        sim.spawn(
            fs.AgentSpawnParams(shape, shape, fs.Pose.from_yaw(0.5, 0.5, 0.2, 0.0), controller={"type": "differential"})
        )
        traffic = offer_traffic(sim, Site("hall", grid), network="grid")
        traffic.enroll(sim.agents)
        with certified(sim, traffic, tmp_path / "run.bin"):
            sim.step_once()
            sim.step_once()
            sim.reset()
            with pytest.raises(fs.StateError, match=r"at 0\.2 s the simulation was reset"):
                sim.step_once()


def test_runs_write_certificates_that_the_command_reads_with_their_map(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = ["".join(".@"[mark] for mark in row) for row in (~FREE).astype(int)]
    for name, marks in (("hall", rows), ("other", rows[::-1])):
        (tmp_path / f"{name}.map").write_text("\n".join(("type octile", "height 5", "width 8", "map", *marks, "")))
    hall, file = str(tmp_path / "hall.map"), str(tmp_path / "run.bin")
    assert main(["traffic", "run", hall, "--robots", "9", "--seconds", "30", "--quiet", "--certificate", file]) == 0
    assert main(["certify", file, "--map", hall]) == 0
    assert "9 robots, 30 s, 270 robot-seconds" in (said := capsys.readouterr().out) and said.endswith("certified\n")
    # What a map does not say: points on cells of a kilometre touch nothing either.
    assert "\nrobots of 0.6 m and more, at most 2 m/s, on cells of 1 m\n" in said
    assert main(["certify", file, "--map", str(tmp_path / "other.map")]) == 2
    # With one robot a third of a cell aside it drives into walls, and nothing else is said of it.
    with Path(file).open("rb") as stream:
        lines = [stream.readline()]
        while line := stream.readline():
            rows_of = np.frombuffer(stream.read(88 * json.loads(line)["pieces"])).reshape(-1, 11).copy()
            rows_of[rows_of[:, 0] == 4.0, 2] += 0.34
            lines += [line, rows_of.tobytes()]
    (tmp_path / "aside.bin").write_bytes(b"".join(lines))
    assert main(["certify", str(tmp_path / "aside.bin")]) == 1
    said = capsys.readouterr().out.splitlines()[2:-2]
    assert said and all(" robot_4 overlaps " in line or " overlaps robot_4 " in line for line in said), said
