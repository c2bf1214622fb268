"""`fleet-sim warm`: compile in advance the code that is otherwise compiled at its first use."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

STEPS = 20


def add(commands: Any) -> None:
    """Add the command to the subparsers `commands`."""
    parser = commands.add_parser("warm", help="compile in advance the code that is otherwise compiled at its first use")
    parser.add_argument("scenario", nargs="*", metavar="SCENARIO", help="names of shipped scenarios (default: all)")
    parser.set_defaults(command=execute)


def execute(args: argparse.Namespace) -> int:
    """Run shipped scenarios, and what none of them has, for some steps with compiled code; print how long each took.

    Returns 0. Raises MissingDependencyError without numba, InvalidValueError for a scenario that is not shipped.
    """
    # Imported here so that --help and errors in options are immediate.
    from fleet_sim.apps import verification as table
    from fleet_sim.base.errors import InvalidValueError, MissingDependencyError, did_you_mean
    from fleet_sim.base.kernels import check_installed, compile_at_first_call

    check_installed()
    compile_at_first_call()
    files = table.shipped()
    for name in args.scenario:
        if name not in files:
            raise InvalidValueError(f"there is no shipped scenario {name!r}.{did_you_mean(name, files)}")
    begin = time.perf_counter()
    for name in args.scenario or files:
        for variant, scenario in _variants(files[name]):
            # A planner that refuses such robots is left out.
            left_out = (MissingDependencyError, InvalidValueError) if variant else (MissingDependencyError,)
            _timed(f"{name}{variant}", partial(_run, scenario, files[name]), left_out)
    for name, run in () if args.scenario else CASES.items():
        _timed(name, run, (MissingDependencyError,))
    print(f"all that these use is compiled ({time.perf_counter() - begin:.0f} s)")
    return 0


def _timed(name: str, run: Callable[[], None], left_out: tuple[type[Exception], ...]) -> None:
    """Run it and print how long it took; it is left out where it raises one of `left_out`, as an extra is missing."""
    started = time.perf_counter()
    try:
        run()
    except left_out as error:
        print(f"  {name}: left out: {error}")
    else:
        print(f"  {name}: {time.perf_counter() - started:.1f} s", flush=True)


def _variants(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a scenario as it is, and where it has traffic also with each other planner; and how they differ."""
    from fleet_sim.apps.verification import quiet
    from fleet_sim.base.settings import load_mapping
    from fleet_sim.warehouse.traffic import PLANNERS

    scenario = quiet(load_mapping(file))
    scenario["simulation"]["compiled_code"] = "always"
    yield "", scenario
    traffic = scenario.get("traffic")
    if isinstance(traffic, dict):
        # `external` plans nothing itself, and `astar` is for one robot.
        for planner in sorted({*PLANNERS.registered()} - {traffic.get("planner"), "external", "astar"}):
            yield f" with {planner}", {**scenario, "traffic": {**traffic, "planner": planner}}


def _run(scenario: dict[str, Any], file: Path) -> None:
    from fleet_sim.simulation import MultiRobotSimulationCore

    with MultiRobotSimulationCore.from_dict(scenario, source=str(file)) as sim:
        for _ in range(STEPS):
            sim.step_once()


# What compiled code does that none of the shipped scenarios needs at once.


CASE_STEPS = 5


def _lidars_and_contacts() -> None:
    """Robots made of links touch in a hall of triangles, between discs, boxes and walls that lidars see."""
    import fleet_sim as fs

    corners = tuple((x, y, z) for z in (0.0, 2.0) for x, y in ((-5.0, -3.0), (5.0, -3.0), (5.0, 3.0), (-5.0, 3.0)))
    sides = tuple((a, (a + 1) % 4, a + 4) for a in range(4))
    sides += tuple(((a + 1) % 4, (a + 1) % 4 + 4, a + 4) for a in range(4))
    tips = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    params = fs.SimulationParams(gui=False, target_rtf=0, compiled_code="always", ignore_static_collision=False)
    with fs.MultiRobotSimulationCore(params) as sim:
        hall = fs.ShapeParams("mesh", vertices=corners, indices=sides, concave=True)
        sim.spawn(fs.SimObjectSpawnParams(hall, hall, pickable=False))
        faces = ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))
        things = (
            fs.ShapeParams("cylinder", radius=0.25, height=0.4),
            fs.ShapeParams("box", half_extents=(0.3, 0.2, 0.2)),
            fs.ShapeParams("mesh", vertices=tips, indices=faces),
        )
        for index, thing in enumerate(things):
            for y in (0.0, 0.3):
                sim.spawn(fs.SimObjectSpawnParams(None, thing, fs.Pose.from_xyz(float(index), y, 0.2)))
        for x in (-4.9, -4.6):
            robot = sim.spawn(fs.AgentSpawnParams(urdf_path="diff_base", initial_pose=fs.Pose.from_xyz(x, 0.0, 0.0)))
            robot.set_velocity(0.5, 0.0, 0.0, 0.5)
            for kind in ("lidar", "lidar_3d"):
                sim.add_sensor(kind, robot, name=kind, pose=[0.0, 0.0, 0.25]).on_reading(lambda sensor, reading: None)
        for _ in range(CASE_STEPS):
            sim.step_once()


def _many_worlds() -> None:
    """Environments side by side; raises MissingDependencyError without Gymnasium."""
    import numpy as np

    from fleet_sim.facade.update import MANY
    from fleet_sim.learning.envs.vector import NavigationVectorEnv

    worlds = NavigationVectorEnv(MANY, max_steps=CASE_STEPS)
    worlds.reset(seed=0)
    for _ in range(2 * CASE_STEPS):
        worlds.step(np.zeros((MANY, 2), np.float32))
    worlds.close()


def _reaching() -> None:
    """An arm reaches for a pose near its rest posture."""
    import numpy as np

    from fleet_sim.models import load_robot_model, resolve_urdf
    from fleet_sim.models.kinematics.inverse import InverseKinematics
    from fleet_sim.models.kinematics.params import IKParams

    model = load_robot_model(resolve_urdf("arm_robot"))
    params = IKParams(rest_posture={model.movable_names[0]: 0.1})
    solver = InverseKinematics(model, model.num_joints - 1, params)
    present = np.zeros((1, len(model.movable)))
    solver.solve(present, np.array([[0.2, 0.1, 0.4]]), np.array([[0.0, 0.0, 0.0, 1.0]]), compiled=True)


def _flocks() -> None:
    """Swarms large enough for compiled code: boids, and agents with a field of view, together and in turn."""
    import numpy as np

    from fleet_sim.facade.update import MANY
    from fleet_sim.swarm.world import RectangularWorld

    boids = {"controller": {"type": "BoidsController"}, "sensors": []}
    actions = {"type": "BinaryController", "a": [0.3, -0.6], "b": [0.3, 0.6]}
    views = {"controller": actions, "sensors": [{"type": "BinaryFOVSensor", "theta": 0.5, "distance": 1.0}]}
    places = np.random.default_rng(0).uniform(0.0, 8.0, (MANY, 2))
    for parts, update in ((boids, "together"), (views, "together"), (views, "in_turn")):
        world = RectangularWorld({"size": [8.0, 8.0], "time_step": 0.05, "update": update})
        world.setup()
        spec = {"type": "MazeAgent", "agent_radius": 0.1, **parts}
        world.spawn_many(world.recipe(spec), places, np.zeros(MANY))
        for _ in range(CASE_STEPS):
            world.step()


CASES: dict[str, Callable[[], None]] = {
    "lidars and contacts": _lidars_and_contacts,
    "many worlds": _many_worlds,
    "reaching": _reaching,
    "flocks": _flocks,
}
"""By name, a small run of each."""
