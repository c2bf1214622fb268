"""What `fleet-sim warm` runs besides the shipped scenarios: what compiled code does that none of them needs at once."""

from __future__ import annotations

from collections.abc import Callable

STEPS = 5
CASES: dict[str, Callable[[], None]] = {}
"""By name, a small run of each."""


def _case(name: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    def keep(run: Callable[[], None]) -> Callable[[], None]:
        CASES[name] = run
        return run

    return keep


@_case("lidars and contacts")
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
        for _ in range(STEPS):
            sim.step_once()


@_case("many worlds")
def _many_worlds() -> None:
    """Environments side by side; raises MissingDependencyError without Gymnasium."""
    import numpy as np

    from fleet_sim.facade.update import MANY
    from fleet_sim.learning.envs.vector import NavigationVectorEnv

    worlds = NavigationVectorEnv(MANY, max_steps=STEPS)
    worlds.reset(seed=0)
    for _ in range(2 * STEPS):
        worlds.step(np.zeros((MANY, 2), np.float32))
    worlds.close()


@_case("reaching")
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


@_case("flocks")
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
        for _ in range(STEPS):
            world.step()


@_case("recordings")
def _recordings() -> None:
    """A recording of a fleet; raises MissingDependencyError without the extra for it."""
    import fleet_sim as fs
    from fleet_sim.base.files import scratch_folder

    params = fs.SimulationParams(gui=False, target_rtf=0, compiled_code="always")
    with scratch_folder() as folder, fs.MultiRobotSimulationCore(params) as sim:
        box = fs.ShapeParams("box", half_extents=(0.3, 0.2, 0.2))
        sim.spawn(fs.AgentSpawnParams(box, box)).set_velocity(0.5, 0.0, 0.0, 0.5)
        with sim.record(folder / "run.mcap", rate=None):
            for _ in range(STEPS):
                sim.step_once()
