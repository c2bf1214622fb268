"""Each row of "Where to add what" in ARCHITECTURE.md is true: something is added through the seam it names, and works.

What is added here is small and nonsense. Where another file adds something already, ELSEWHERE names it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest
from dummies import Asleep, Fog, Greet, Hop, Slowly, WindyParams

import fleet_sim as fs
from fleet_sim.apps.cli import main as command_line
from fleet_sim.apps.sweeps import MEASURES, load_sweep
from fleet_sim.apps.sweeps.sweep import SweepRuns
from fleet_sim.base.registry import Registry
from fleet_sim.base.settings import json_schema
from fleet_sim.base.settings.fields import fields_of
from fleet_sim.sensing.sensors.render.renderer import RENDERERS
from fleet_sim.sensing.sensors.render.shot import Lighting

ROOT = Path(__file__).parents[1]
BOX = fs.ShapeParams("box", half_extents=(0.2, 0.2, 0.1))
Sim = fs.MultiRobotSimulationCore
Test = TypeVar("Test", bound=Callable[..., object])

ELSEWHERE = {
    "a motion law": "test/robots/motion/test_laws.py",
    "a controller": "test/robots/test_controllers.py",
    "an action": "test/robots/actions/test_parameters_count.py",
    "a robot model": "test/models/test_resolver.py",
    "a sensor": "test/sensing/sensors/test_system.py",
    "a swarm controller, sensor, metric or spawner": "test/swarm/test_made_in_code.py",
    "an environment": "test/test_plugins.py",
    "a system in the step": "test/world/test_pipeline.py",
    "a reason not to collide": "test/sensing/collision/test_rules.py",
    "a command": "test/world/test_commands.py",
    "a mesh format": "test/models/meshes/test_new_format.py",
    "a format of sites": "test/warehouse/sites/test_formats.py",
    "a planner of traffic": "test/warehouse/traffic/test_new_planner.py",
    "a disturbance": "test/warehouse/disturbances/test_new_kind.py",
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
    table = text.split("## Where to add what")[1].split("\n## ")[0]
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


# ---- sensors ---------------------------------------------------------------------------------------------------------


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


# ---- the step --------------------------------------------------------------------------------------------------------


@row("a reason not to drive, or to drive slower")
def test_a_drive_rule_rejects_commands_and_a_speed_rule_lowers_speeds(sim: Sim, robot: fs.Agent) -> None:
    slowly = Slowly(sim.world, 0.25)
    sim.world.speed_rules.append(slowly)
    robot.set_goal(fs.Pose((3.0, 0.0, 0.0)))
    fastest = 0.0
    while robot.is_moving:
        sim.step_once()
        fastest = max(fastest, abs(robot.velocity[0]))
    assert fastest == pytest.approx(0.25)
    sim.world.speed_rules.remove(slowly)
    sim.world.drive_rules.append(Asleep())
    answer = sim.inbox.put(fs.SetVelocity(names=("robot",), linear=[[1.0, 0, 0]], angular=[[0, 0, 0]]))  # type: ignore[arg-type]
    sim.step_once()
    assert answer.result().rejected == {"robot": "it sleeps"} and not robot.is_moving


# ---- the world outside -----------------------------------------------------------------------------------------------


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
