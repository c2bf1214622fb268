"""Each row of "Where to add what" in ARCHITECTURE.md is true: something is added through the seam it names, and works.

What is added here is small and nonsense. Where another file adds something already, ELSEWHERE names it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest
from dummies import (
    Asleep,
    Beacon,
    Corner,
    Fog,
    Ghosts,
    Greet,
    Head,
    Hop,
    Jump,
    Lift,
    Nudge,
    Seven,
    Slowly,
    Straight,
    WindyParams,
)

import fleet_sim as fs
from fleet_sim.apps.cli import main as command_line
from fleet_sim.apps.sweeps import MEASURES, load_sweep
from fleet_sim.apps.sweeps.sweep import SweepRuns
from fleet_sim.base.registry import Registry
from fleet_sim.base.settings import json_schema
from fleet_sim.base.settings.fields import fields_of
from fleet_sim.robots.actions.registry import ACTIONS
from fleet_sim.robots.motion.controllers import CONTROLLERS
from fleet_sim.robots.motion.laws import motion_law_names
from fleet_sim.sensing.sensors.registry import SENSORS
from fleet_sim.sensing.sensors.render.renderer import RENDERERS
from fleet_sim.sensing.sensors.render.shot import Lighting
from fleet_sim.swarm import registry
from fleet_sim.swarm.world import RectangularWorld
from fleet_sim.world.commands import COMMANDS

ROOT = Path(__file__).parents[1]
BOX = fs.ShapeParams("box", half_extents=(0.2, 0.2, 0.1))
Sim = fs.MultiRobotSimulationCore
Test = TypeVar("Test", bound=Callable[..., object])

ELSEWHERE = {
    "a mesh format": "test/models/meshes/test_new_format.py",
    "a format of sites": "test/warehouse/sites/test_new_format.py",
    "a planner of traffic": "test/warehouse/traffic/test_new_planner.py",
    "a section of a scenario": "test/base/config/test_scenario.py",
    "a feature": "test/test_features.py",
    "a ROS interface": "test/ros/test_interfaces.py",
    "a ROS action": "test/ros/test_interfaces.py",
    "a ROS message": "test/ros/test_interfaces.py",
    "a kind of things with names": "test/test_registry.py",
    "a public name": "test/test_typing.py",
    "a room": "test/test_architecture.py",
}
"""The rows that are tested in files of their own."""
TESTED = set(ELSEWHERE)


def row(name: str) -> Callable[[Test], Test]:
    """Mark a test as that of the row `name` of the table."""
    TESTED.add(name)
    return lambda test: test


def add_robot(sim: Sim, name: str = "r", x: float = 0.0, **settings: Any) -> fs.Agent:
    params = fs.AgentSpawnParams(BOX, BOX, fs.Pose((x, 0.0, 0.0)), name=name, **settings)
    agent: fs.Agent = sim.spawn(params)
    return agent


@contextmanager
def named(
    registry: Registry[Any], name: str, thing: Any, register: Callable[[str, Any], None] | None = None
) -> Iterator[None]:
    """Have a name for a while, given through the public function `register` where there is one."""
    (register or registry.register)(name, thing)
    try:
        yield
    finally:
        registry.unregister(name)


def rows_of_the_table() -> list[str]:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = text.split("## Where to add what")[1]
    return re.findall(r"^\| (?!to add)([^|-]+?) \|", table, re.MULTILINE)


def test_every_row_is_tested_and_no_other() -> None:
    rows = rows_of_the_table()
    assert len(rows) == len(set(rows)) > 20
    assert set(rows) == TESTED
    assert [path for path in ELSEWHERE.values() if not (ROOT / path).is_file()] == []


# ---- settings --------------------------------------------------------------------------------------------------------


@row("a setting")
def test_a_setting_is_read_checked_and_described(tmp_path: Path) -> None:
    path = tmp_path / "windy.yaml"
    path.write_text("simulation: {gui: false, wind: 2}\n", encoding="utf-8")
    params = WindyParams.from_config(path)
    assert params.wind == 2.0
    with Sim(params) as sim:
        sim.step_once()
    path.write_text("simulation: {wind: -2}\n", encoding="utf-8")
    with pytest.raises(fs.ConfigError, match=r"windy.yaml: simulation.wind: must be"):
        WindyParams.from_config(path)
    with pytest.raises(fs.ConfigError, match="wind: must be"):
        params.wind = -1.0
    described = json_schema(WindyParams, title="Windy")
    assert '"minimum": 0' in str(described).replace("'", '"') and "Of the air." in str(described)


@row("state of every entity")
def test_a_setting_with_a_column_fills_it(sim: Sim) -> None:
    filled = {name: field.rules.column for name, field in fields_of(fs.AgentSpawnParams).items() if field.rules.column}
    assert "pickable" in filled
    fields = fields_of(fs.AgentSpawnParams)
    other = {bool: False, int: 2}
    given: dict[str, Any] = {name: other.get(fields[name].hint, 0.25) for name in filled}
    agent = add_robot(sim, **given)
    for name, place in filled.items():
        table, _, column = place.partition(".")
        assert getattr(sim.world.tables[table], column)[agent.row] == given[name]
        (declared,) = [entry for key, entry, _ in sim.world.tables[table].columns() if key == column]
        assert declared.writer, f"{place} does not say who writes it"


# ---- robots ----------------------------------------------------------------------------------------------------------


@row("a motion law")
def test_a_motion_law_moves_robots(sim: Sim) -> None:
    if Jump.name not in motion_law_names():  # an index is for ever
        fs.register_motion_law(Jump.name, Jump())
    agent = add_robot(sim, motion_mode=Jump.name)
    agent.set_velocity(1.0)
    sim.step_once()
    assert agent.get_pose().x == 5.0


@row("a controller")
@named(CONTROLLERS, "nudge_of_guidance", Nudge, fs.register_controller)
def test_a_controller_has_a_name_in_scenarios() -> None:
    entry = {"name": "r", "collision_shape": {"shape_type": "box"}, "controller": "nudge_of_guidance"}
    with Sim.from_dict({"simulation": {"gui": False}, "robots": [entry]}) as sim:
        sim.step_once()
        assert sim.agents[0].is_moving
    assert "nudge_of_guidance" in fs.list_controllers()


@row("an action")
@named(ACTIONS, "hop_of_guidance", Hop, fs.register_action)
def test_an_action_has_a_name_in_commands(sim: Sim) -> None:
    agent = add_robot(sim)
    answer = sim.inbox.put(fs.ExecuteAction(names=("r",), actions=({"type": "hop_of_guidance"},)))
    sim.step_once()
    assert answer.result().value["r"].status is fs.ActionStatus.COMPLETED
    assert agent.is_action_queue_empty()


@row("why an action ended")
@pytest.mark.parametrize("cause", fs.ActionCause)
def test_a_cause_reaches_whoever_asks_and_has_a_number_in_ros(sim: Sim, cause: fs.ActionCause) -> None:
    action = Hop(cause.value)
    add_robot(sim).execute_action(action)
    sim.step_once()
    assert (action.status, action.cause) == (fs.ActionStatus.FAILED, cause)
    message = (ROOT / "src/fleet_sim_msgs/msg/Cause.msg").read_text(encoding="utf-8")
    # CANCELLED is CANCELED there, as in other ROS messages. test/ros/test_templates.py checks the numbers.
    assert re.search(rf"^uint8 {cause.name.replace('LLED', 'L?LED')}\b", message, re.MULTILINE)


@row("a robot model")
def test_a_model_has_a_name_in_scenarios(tmp_path: Path) -> None:
    file = tmp_path / "stool.urdf"
    file.write_text(
        '<robot name="stool"><link name="seat"><collision><geometry><sphere radius="0.3"/></geometry></collision>'
        "</link></robot>",
        encoding="utf-8",
    )
    fs.register_model("stool_of_guidance", file)
    try:
        robots = [{"name": "r", "urdf_path": "stool_of_guidance"}]
        with Sim.from_dict({"simulation": {"gui": False}, "robots": robots}) as sim:
            sim.step_once()
            assert sim.world.aabb_upper[sim.agents[0].row, 0] == pytest.approx(0.3)
    finally:
        fs.unregister_model("stool_of_guidance")


# ---- sensors ---------------------------------------------------------------------------------------------------------


@row("a sensor")
def test_a_sensor_has_a_name_in_spawn_entries(sim: Sim) -> None:
    with named(SENSORS, "beacon_of_guidance", Beacon, fs.register_sensor):
        agent = add_robot(sim, x=3.0, sensors=["beacon_of_guidance"])
        sim.step_once()
        assert agent.sensor("beacon").read().distance == 3.0  # type: ignore[attr-defined]


@row("a renderer")
def test_a_renderer_draws_for_cameras(sim: Sim) -> None:
    settings: dict[str, Any] = {"renderer": "fog_of_guidance", "channels": ["rgb"], "width": 4, "height": 3}
    with pytest.raises(fs.ConfigError, match="unknown renderer 'fog_of_guidance'"):
        sim.add_sensor("camera", **settings)
    with named(RENDERERS, "fog_of_guidance", lambda mirror, lighting: Fog(lighting or Lighting())):
        camera = sim.add_sensor("camera", **settings)
        sim.step_once()
        (picture,) = sim.sensors.read([camera])
    assert picture.rgb.shape == (3, 4, 3) and (picture.rgb == 128).all()


# ---- swarms and environments -----------------------------------------------------------------------------------------


@row("a swarm controller, sensor, metric or spawner")
def test_parts_of_swarms_have_names_in_worlds() -> None:
    parts: dict[str, type[Any]] = {"controller": Straight, "sensor": Seven, "metric": Head, "spawner": Corner}
    for kind, cls in parts.items():
        registry.register_dictlike_type(kind, f"{kind}_of_guidance", cls)
    agent = {"type": "MazeAgent", "controller": "controller_of_guidance", "sensors": ["sensor_of_guidance"]}
    spawner = {"type": "spawner_of_guidance", "agent": agent}
    try:
        world = RectangularWorld({"time_step": 0.5, "spawners": [spawner], "metrics": ["metric_of_guidance"]})
        world.evaluate(3)
    finally:
        for kind in parts:
            registry.KINDS[kind].unregister(f"{kind}_of_guidance")
    (one,) = world.population
    assert math.hypot(one.x_pos - 1.0, one.y_pos - 1.0) > 0.5
    assert [sensor.current_state for sensor in one.sensors] == [7]
    assert [metric.value for metric in world.metrics] == [7.0]


@row("an environment")
def test_an_environment_has_an_id() -> None:
    gymnasium = pytest.importorskip("gymnasium")
    from fleet_sim.learning.envs.spaces import ENVIRONMENTS, Entry, register_all

    ENVIRONMENTS["FleetSim/Guidance-v0"] = Entry("fleet_sim.learning.envs.vector:NavigationEnv")
    try:
        register_all()
        with gymnasium.make("FleetSim/Guidance-v0") as env:
            seen, _ = env.reset(seed=1)
            assert env.observation_space.contains(seen)
    finally:
        del ENVIRONMENTS["FleetSim/Guidance-v0"]
        gymnasium.registry.pop("FleetSim/Guidance-v0", None)


# ---- the step --------------------------------------------------------------------------------------------------------


@row("a system in the step")
def test_a_system_runs_in_its_place_and_is_timed(sim: Sim, robot: fs.Agent) -> None:
    seen: list[tuple[float, bool]] = []
    run = lambda dt: seen.append((dt, sim.world.in_step))  # noqa: E731
    sim.pipeline.add(fs.System("wind", fs.Phase.UPDATE, run), before="motion")
    sim.step_once()
    names = [system.name for system in sim.pipeline.systems]
    assert names[names.index("wind") + 1] == "motion" and seen == [(0.1, True)]
    assert "wind" in sim.get_profiling_stats()["systems"]


@row("a reason not to collide")
def test_a_collision_rule_counts_in_detection_and_blocking(sim: Sim) -> None:
    agent, _ = add_robot(sim, motion_mode="omnidirectional"), add_robot(sim, "other", x=1.0)
    agent.block_on_collision = True
    sim.world.collision_rules.add(Ghosts())
    agent.set_goal(fs.Pose((1.0, 0.0, 0.0)))
    while agent.is_moving:
        sim.step_once()
    assert agent.get_pose().x == 1.0 and sim.get_active_collision_pairs() == []


@row("a reason not to drive, or to drive slower")
def test_a_drive_rule_rejects_commands_and_a_speed_rule_lowers_speeds(sim: Sim, robot: fs.Agent) -> None:
    slowly = Slowly(sim.world, 0.25)
    sim.world.speed_rules.add(slowly)
    robot.set_goal(fs.Pose((3.0, 0.0, 0.0)))
    fastest = 0.0
    while robot.is_moving:
        sim.step_once()
        fastest = max(fastest, abs(robot.velocity[0]))
    assert fastest == pytest.approx(0.25)
    sim.world.speed_rules.remove(slowly)
    sim.world.drive_rules.add(Asleep())
    answer = sim.inbox.put(fs.SetVelocity(names=("robot",), linear=[[1.0, 0, 0]], angular=[[0, 0, 0]]))  # type: ignore[arg-type]
    sim.step_once()
    assert answer.result().rejected == {"robot": "it sleeps"} and not robot.is_moving


# ---- the world outside -----------------------------------------------------------------------------------------------


@row("a command")
@named(COMMANDS, "lift_of_guidance", Lift)
def test_a_command_is_applied_recorded_and_replayed(make_sim: Callable[..., Sim]) -> None:
    def lifting() -> Sim:
        sim = make_sim()
        add_robot(sim)

        def carry_out(command: Lift) -> fs.CommandAck:
            rows = [sim.get_object(name).row for name in command.names]
            sim.world.position[rows, 2] += command.height
            return fs.CommandAck(accepted_names=command.names)

        sim.dispatcher.handle(Lift, carry_out)
        return sim

    sim, again = lifting(), lifting()
    log = fs.record_commands(sim)
    sim.inbox.put(fs.Command.from_dict({"type": "lift_of_guidance", "names": ["r"], "height": 2.0}))
    sim.step_once()
    assert sim.agents[0].get_pose().z == 2.0
    fs.replay_commands(again, log)
    assert again.state_hash() == sim.state_hash()


@row("a measure of sweeps")
def test_a_measure_is_kept_of_each_run() -> None:
    with named(MEASURES, "twice_the_time", lambda sim: 2.0 * sim.sim_time):
        scenario = {"simulation": {"gui": False, "monitor": False, "timestep": 0.1}, "robots": []}
        plan = load_sweep({"scenario": scenario, "duration": 1.0, "measure": ["twice_the_time"]})
        assert SweepRuns(plan).run(0) == {"twice_the_time": pytest.approx(2.0)}


@row("a subcommand")
def test_a_subcommand_is_run_and_listed(capsys: pytest.CaptureFixture[str]) -> None:
    with named(command_line.SUBCOMMANDS, "greet", Greet()):
        assert command_line.main(["greet", "you"]) == 3
        with pytest.raises(SystemExit):
            command_line.main(["--help"])
    shown = capsys.readouterr().out
    assert shown.startswith("hello you\n") and "greet somebody" in shown


def test_every_file_with_a_subcommand_is_listed() -> None:
    files = (ROOT / "src/fleet_sim/apps/cli").glob("*.py")
    found = {path.stem for path in files if re.search(r"^def add\(", path.read_text(encoding="utf-8"), re.MULTILINE)}
    assert found == set(command_line.SUBCOMMANDS.registered())
