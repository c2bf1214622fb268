"""States on disk: whoever reads a file goes on with the same run, bit for bit; anything else is refused."""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import subprocess
import sys
import zipfile
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import state_hall
from hashed_run import hashed_run
from state_hall import SteadyPlugin, command_lanes, observed, step
from state_program import opened

import fleet_sim as fs
from fleet_sim.apps import verification as table
from fleet_sim.apps.cli.main import main
from fleet_sim.robots.actions.registry import ACTIONS, describe_action
from fleet_sim.sensing.sensors.registry import SENSORS
from fleet_sim.world import state_files
from fleet_sim.world.features import FEATURES
from fleet_sim.world.state_files import Stateful, object_of, read_archive, write_archive

Sim = fs.MultiRobotSimulationCore
MakeSim = Callable[..., Sim]
PROGRAM = Path(__file__).parent / "support" / "state_program.py"


# ---- the same run in another process ---------------------------------------------------------------------------------


def goes_on_elsewhere(sim: Sim, name: str, moments: Sequence[int], folder: Path, steps: int = 12) -> Iterator[int]:
    """Save `sim` at moments; other processes go on from there, and observe what is observed here. Yields at each."""
    jobs, here = [], []
    for moment in moments:
        while sim.step_count < moment:
            step(sim)
        jobs.append([name, str(folder / f"{moment}.state"), steps])
        sim.save_state(jobs[-1][1])
        yield moment
        there = sim.save_state()
        here.append(observed(sim, steps))
        state_hall.meddle(sim)
        for _ in range(2):
            sim.restore_state(there)
            assert observed(sim, steps) == here[-1], f"{name} goes on otherwise from what was saved at {moment}"
        sim.restore_state(there)
    path = os.pathsep.join(filter(None, (str(PROGRAM.parent), os.environ.get("PYTHONPATH", ""))))
    command = [sys.executable, str(PROGRAM), json.dumps(jobs)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 0, done.stderr
    for moment, found, expected in zip(moments, json.loads(done.stdout.splitlines()[-1]), here, strict=True):
        assert found == json.loads(json.dumps(expected)), f"{name} goes on otherwise from step {moment}"


def test_every_action_sensor_and_feature_goes_on_in_another_process(tmp_path: Path) -> None:
    acting: set[str] = set()
    used: set[str] = set()
    sensing: set[str] = set()
    moments = {
        "lanes": (5, 14, 32),
        "bullet": (9,),
        "mujoco": (9,),
        "sites/two_floors_orders.yaml": (40,),
        "floor": (60,),
        "shift": (40,),
    }
    for name in moments:
        if (name == "bullet" and find_spec("pybullet") is None) or (name == "mujoco" and find_spec("mujoco") is None):
            continue
        with opened(name) as sim:
            if name == "lanes":
                hashed_run(sim, 4)
                command_lanes(sim)
            for sensor in sim.sensors.all:
                sensor.subscribe()
            for _ in goes_on_elsewhere(sim, name, moments[name], tmp_path):
                current = [agent.get_current_action() for agent in sim.agents]
                acting |= {describe_action(action)["type"] for action in current if action is not None}
            sensing |= {sensor.type for sensor in sim.sensors.all if sensor.latest is not None}
            used |= {*sim.features.used}
    # Other tests may have registered kinds of their own.
    assert acting == {name for name, kind in ACTIONS.all().items() if kind.__module__.startswith("fleet_sim.")}
    assert sensing == {name for name, kind in SENSORS.all().items() if kind.__module__.startswith("fleet_sim.")}
    assert used == {*FEATURES.names()}


def hall(make_sim: MakeSim) -> Sim:
    sim = make_sim()
    state_hall.fill(sim)
    sim.register_plugin(SteadyPlugin)
    hashed_run(sim, 20)
    state_hall.change(sim)
    hashed_run(sim, 5)
    return sim


def test_all_that_code_did_to_a_simulation_is_in_the_file(make_sim: MakeSim, tmp_path: Path) -> None:
    assert list(goes_on_elsewhere(hall(make_sim), "code", [25], tmp_path, 40)) == [25]


# One of each kind: what a scenario has by features, actions and sensors is in the test of them all.
ELSEWHERE = (
    *("bin_picking.yaml", "mobile_manipulator.yaml", "parking.yaml", "flocking.yaml", "milling.yaml"),
    *("sites/office.yaml", "sites/vda5050.yaml"),
)


@pytest.mark.slow
@pytest.mark.parametrize("name", ELSEWHERE)
def test_every_kind_of_scenario_goes_on_in_another_process(name: str, tmp_path: Path) -> None:
    if reason := table.hindrance(table.load()[name]):
        pytest.skip(reason)
    with opened(name) as sim:
        assert list(goes_on_elsewhere(sim, name, [20], tmp_path)) == [20]


def test_a_simulation_goes_back_to_a_file(make_sim: MakeSim, tmp_path: Path) -> None:
    sim = hall(make_sim)
    a, late, file = sim.get_object("a"), sim.get_object("late"), tmp_path / "hall.state"
    sim.save_state(file)
    there, future = sim.state_hash(), hashed_run(sim, 20)
    sim.remove_object(late)
    state_hall.robot(sim, "newcomer", 70.0)
    told: list[str] = []
    sim.events.on("object_removed", lambda obj: told.append(f"-{obj.name}"))
    sim.events.on("object_spawned", lambda obj: told.append(f"+{obj.name}"))
    sim.load_state(file)
    assert sim.state_hash() == there
    assert told == ["-newcomer", "+late"]
    assert sim.get_object("a") is a
    assert sim.get_object("late").user_data == {"note": {"weight": 2.5, "tags": ["new", None, True]}}
    assert [sensor.type for sensor in sim.get_object("late").sensors] == ["imu"]
    sim.events.clear()
    assert hashed_run(sim, 20) == future


def test_reset_goes_back_to_how_the_scenario_begins(tmp_path: Path) -> None:
    config = {"simulation": {"gui": False, "timestep": 0.1}, "robots": [{"name": "a", "velocity": [1, 0, 0]}]}
    config["robots"] = [{"name": "a", "pose": [0, 0, 0], "actions": [{"type": "move_to", "target_pose": [3, 0, 0]}]}]
    file = tmp_path / "a.state"
    with Sim.from_dict(config) as sim:
        sim.initialize_simulation()
        begin = sim.state_hash()
        hashed_run(sim, 10)
        sim.save_state(file)
        end = hashed_run(sim, 10)[-1]
    with Sim.from_state(file, target_rtf=0.0) as sim:
        assert sim.sim_time == 1.0
        assert sim.params.target_rtf == 0.0
        assert hashed_run(sim, 10)[-1] == end
        sim.reset()
        assert sim.state_hash() == begin
    with pytest.raises(fs.StateFileError, match=r"another scenario.*simulation\.seed"):
        Sim.from_state(file, seed=4)


def test_equal_states_are_equal_files(make_sim: MakeSim, tmp_path: Path) -> None:
    sim = hall(make_sim)
    for name in ("a", "b"):
        sim.save_state(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


# ---- what is refused -------------------------------------------------------------------------------------------------


class OwnAction(fs.Action):
    """An action without a name."""


class OwnAgent(fs.Agent):
    """An agent with code of its own."""


class ForgetfulPlugin(fs.SimPlugin):
    """A plugin that says nothing of its state."""


def note(**details: Any) -> None:
    """Be a handler."""


def robot(sim: Sim) -> fs.Agent:
    return state_hall.robot(sim, "r", 0.0)


CODE: dict[str, tuple[Callable[[Sim], object], str]] = {
    "callback": (lambda sim: sim.register_callback(note), "callback .*note"),
    "plugin": (lambda sim: sim.register_plugin(ForgetfulPlugin), "plugin .*ForgetfulPlugin"),
    "handler": (lambda sim: sim.events.on("pre_step", note), "handler .*note of event 'pre_step'"),
    "handler of a robot": (lambda sim: robot(sim).events.on("arrived", note), "handler .*note of event 'arrived'"),
    "callback of a robot": (lambda sim: robot(sim).register_callback(note), "callback .*note"),
    "action": (lambda sim: robot(sim).add_action(OwnAction()), r"action .*OwnAction.*register_action\(\)"),
    "agent": (lambda sim: sim.spawn(fs.AgentSpawnParams(name="own"), OwnAgent), "OwnAgent"),
    "user data": (lambda sim: robot(sim).user_data.update(hook=note), r"user_data\[0\].hook: the function .*note"),
}


@pytest.mark.parametrize("kind", CODE)
def test_code_of_the_users_own_is_named_before_anything_is_written(kind: str, sim: Sim, tmp_path: Path) -> None:
    add, message = CODE[kind]
    add(sim)
    with pytest.raises(fs.StateFileError, match=message):
        sim.save_state(tmp_path / "a.state")
    assert not list(tmp_path.iterdir())


def test_code_is_left_out_where_that_is_asked_for(sim: Sim, tmp_path: Path) -> None:
    robot(sim).register_callback(note)
    sim.events.on("pre_step", note)
    sim.save_state(tmp_path / "a.state", user_code=True)
    sim.load_state(tmp_path / "a.state")


def test_a_registered_action_is_found_by_its_name(sim: Sim, tmp_path: Path) -> None:
    fs.register_action("own_of_state_files", OwnAction)
    try:
        robot(sim).add_action(OwnAction(timeout=0.5))
        hashed_run(sim, 2)
        sim.save_state(tmp_path / "a.state")
        future = hashed_run(sim, 8)
        sim.load_state(tmp_path / "a.state")
        action = sim.get_object("r").get_current_action()
        assert isinstance(action, OwnAction)
        assert hashed_run(sim, 8) == future
        assert action.cause is fs.ActionCause.TIMEOUT
    finally:
        ACTIONS.unregister("own_of_state_files")


def test_states_are_saved_and_loaded_between_steps(sim: Sim, tmp_path: Path) -> None:
    sim.save_state(tmp_path / "a.state")
    errors: list[str] = []

    def inside(owner: Sim, dt: float) -> None:
        for use in (sim.save_state, sim.load_state):
            with pytest.raises(fs.StateError, match=r"_state\(\)") as caught:
                use(tmp_path / "a.state")
            errors.append(str(caught.value))

    sim.register_callback(inside)
    sim.step_once()
    assert len(errors) == 2


# ---- the command line ------------------------------------------------------------------------------------------------


def printed(capsys: pytest.CaptureFixture[str], *args: str) -> dict[str, str]:
    assert main(["run", "--headless", "--rtf", "0", "--hash", *args]) == 0
    lines = [line.partition(": ") for line in capsys.readouterr().out.splitlines()]
    return {name: value for name, _, value in lines}


def test_a_run_is_saved_and_gone_on_with(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    end, middle = str(tmp_path / "end.state"), str(tmp_path / "middle.state")
    whole = printed(capsys, "warehouse.yaml", "--duration", "1.2", "--save-state", middle, "--at", "0.5")
    assert whole["state"] == middle
    printed(capsys, "warehouse.yaml", "--duration", "0.5", "--save-state", end)
    for file in (middle, end):
        found = printed(capsys, "--from-state", file, "--duration", "0.7")
        assert found["state hash"] == whole["state hash"]
        assert any("0.70 s simulated" in line for line in found)


WRONG = {
    "neither": ([], "--from-state FILE"),
    "both": (["demo.yaml", "--from-state", "a"], "one of them"),
    "seed": (["--from-state", "a", "--seed", "3"], "leave --seed out"),
    "at alone": (["demo.yaml", "--at", "3"], "--save-state"),
    "at before": (["demo.yaml", "--save-state", "a", "--at", "-1"], "at least 0 s"),
    "at infinity": (["demo.yaml", "--save-state", "a", "--at", "1e400"], "and finite, got inf"),
    "no name": (["demo.yaml", "--save-state", ""], "--save-state: the name of a file is missing"),
    "no folder": (["demo.yaml", "--save-state", "/none/a"], "there is no folder"),
    "no file": (["--from-state", "/none/a"], "No such file"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_wrong_options_are_refused(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    args, message = WRONG[kind]
    assert main(["run", *args]) == 1
    assert message in capsys.readouterr().err


# ---- State files that are not as they were written: each is refused with the reason, and nothing changes -------------


@pytest.fixture
def kept(make_sim: MakeSim, tmp_path: Path) -> Iterator[tuple[Sim, Path]]:
    """Return a simulation and a file of an earlier state of it; afterwards the simulation is as it was."""
    sim = make_sim()
    state_hall.fill(sim)
    hashed_run(sim, 5)
    file = tmp_path / "kept.state"
    sim.save_state(file)
    hashed_run(sim, 5)
    before = sim.state_hash()
    yield sim, file
    assert sim.state_hash() == before
    # It goes on, too.
    hashed_run(sim, 2)


def refused(sim: Sim, file: Path, message: str) -> None:
    with pytest.raises(fs.StateFileError, match=message) as caught:
        sim.load_state(file)
    assert str(file) in str(caught.value)


def test_a_file_that_is_not_as_it_was_written_is_refused(kept: tuple[Sim, Path]) -> None:
    sim, file = kept
    data = file.read_bytes()
    for length in (0, 10, 60, 100, len(data) // 2, len(data) - 1):
        file.write_bytes(data[:length])
        refused(sim, file, "cut off|not a state file")
    for place in range(90, len(data), 4001):
        file.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        refused(sim, file, "damaged or was changed")
    file.write_bytes(data.replace(b"state 3", b"state 9", 1))
    refused(sim, file, "its format is version '9', and this fleet_sim reads version 3")
    file.write_bytes(b"\x80\x04pickle")
    refused(sim, file, "not a state file")
    refused(sim, file.with_name("none"), "No such file")


def test_every_changed_bit_is_refused(make_sim: MakeSim, tmp_path: Path) -> None:
    sim, file = make_sim(), tmp_path / "small.state"
    sim.spawn(fs.AgentSpawnParams(name="robot"))
    sim.save_state(file)
    data = file.read_bytes()
    bits = range(8 * len(data))
    # All of the head, which says what is checked, and a share of the rest.
    head, rest = bits[: 8 * 200], bits[8 * 200 :]
    for bit in [*head, *random.Random(3).sample(rest, len(rest) // 50)]:
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        file.write_bytes(changed)
        with pytest.raises(fs.StateFileError):
            read_archive(file)


def test_a_file_of_another_version_or_scenario_is_refused(kept: tuple[Sim, Path], make_sim: MakeSim) -> None:
    sim, file = kept
    other = make_sim(seed=3)
    refused(other, file, r"another scenario \(made in code\).* simulation\.seed")
    content, arrays = read_archive(file)
    write_archive(file, {**content, "version": "0.0.9"}, arrays)
    refused(sim, file, "written by fleet_sim 0.0.9")


FORGED: dict[str, tuple[Any, Any, str]] = {
    "an unknown form": ("entity", "os.system", "does not know what 'os.system' is"),
    "an unknown class": ("Pose", "Popen", "no class 'Popen' is known"),
    "an unknown action": ("move_to", "rm", "unknown action 'rm'"),
    "an unknown law": ("differential", "nowhere", "unknown motion law 'nowhere'"),
    "an attribute that is code": ("_position", "distance_to", "no attribute 'distance_to'"),
    "an unknown attribute of a part": ("_wrenches", "_wrenched", "reactions: expected _wrenches, got"),
    "another hash": ("hash", "hush", "not as it was written"),
}


@pytest.mark.parametrize("kind", FORGED)
def test_names_in_a_file_are_checked(kind: str, kept: tuple[Sim, Path]) -> None:
    sim, file = kept
    old, new, message = FORGED[kind]
    content, arrays = read_archive(file)
    text = json.dumps(content)
    assert f'"{old}"' in text
    write_archive(file, json.loads(text.replace(f'"{old}"', f'"{new}"')), arrays)
    refused(sim, file, message)


def test_fields_are_of_the_declared_kinds() -> None:
    good = {"text": "x", "count": 1, "share": 1, "place": None, "line": [1], "any": object()}
    assert vars(object_of(Noted, good)) == good
    for name, value in {"text": 1, "count": 1.5, "share": "1", "place": 2, "line": (1,)}.items():
        with pytest.raises(fs.StateFileError, match=f"Noted.{name}: expected"):
            object_of(Noted, {**good, name: value})


@dataclass
class Noted:
    """Fields of several kinds."""

    text: str
    count: int
    share: float
    place: tuple[float, float] | None
    line: list[int]
    any: Any


class Part(Stateful):
    """A part with an array that others hold, a queue with an end, and a part of its own."""

    STATE = ("numbers", "queues", "inner")

    def __init__(self, inner: Part | None = None) -> None:
        self.numbers = np.zeros(2)
        self.queues = {"a": deque([[1]], 3)}
        self.inner = inner


def test_the_state_of_a_part_is_a_copy_and_is_put_back_in_place() -> None:
    part = Part(Part())
    numbers, inner = part.numbers, part.inner
    assert inner is not None
    saved = part.save()
    for one in (part, inner):
        one.numbers[0] = 7.0
        one.queues["a"][0].append(2)
        one.queues["b"] = deque()
    for _ in range(2):
        part.restore(saved)
        assert part.numbers is numbers and part.inner is inner
        for one in (part, inner):
            assert one.numbers.tolist() == [0.0, 0.0]
            assert one.queues == {"a": deque([[1]])} and one.queues["a"].maxlen == 3
            # What happens from here on must not be in the saved state.
            one.numbers[1] = 8.0
            one.queues["a"][0].append(3)


def test_numbers_in_a_file_are_checked(kept: tuple[Sim, Path]) -> None:
    sim, file = kept
    content, arrays = read_archive(file)
    before = sim.save_state()
    for number, array in list(enumerate(arrays))[::4]:
        wrong = (array[:-1] if array.ndim else array[None], array.astype(np.float32), far(array))[number // 4 % 3]
        write_archive(file, content, [*arrays[:number], wrong, *arrays[number + 1 :]])
        try:
            sim.load_state(file)
        except fs.StateFileError:
            continue
        # What no step depends on may be anything.
        assert sim.state_hash() == content["hash"]
    sim.restore_state(before)


def far(array: Any) -> Any:
    """Return numbers far beyond all that is there."""
    return ~array if array.dtype.kind == "b" else np.full_like(array, 100 if array.dtype.itemsize == 1 else 10**9 + 7)


def test_pickled_objects_are_refused(kept: tuple[Sim, Path]) -> None:
    sim, file = kept
    content, arrays = read_archive(file)
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        write_archive(file, content, [np.array([print], object), *arrays[1:]])
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as archive:
        archive.writestr("state.json", json.dumps(content))
        for place in range(len(arrays)):
            with archive.open(f"{place}.npy", "w") as member:
                np.lib.format.write_array(member, np.array([Pickled()], object), allow_pickle=True)
    data = body.getvalue()
    file.write_bytes(b"fleet_sim state 3\n" + f"{hashlib.sha256(data).hexdigest()} {len(data)}\n".encode() + data)
    refused(sim, file, "is not what was written")


def test_a_state_that_is_far_larger_than_its_file_is_refused(
    kept: tuple[Sim, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    sim, file = kept
    content, arrays = read_archive(file)
    write_archive(file, content, [np.zeros(1_000_000), *arrays[1:]])
    monkeypatch.setattr(state_files, "LARGEST", 1_000_000)
    refused(sim, file, "at most 1000000 are read")


class Pickled:
    """Something whose reading would run code."""

    def __reduce__(self) -> Any:
        return pytest.fail, ("it was unpickled",)


@pytest.mark.parametrize("path", ["", ".", Path(), "/no/such/folder/now.state"])
def test_where_no_file_can_be_is_said(make_sim: MakeSim, path: str | Path) -> None:
    with pytest.raises(fs.InvalidValueError):
        make_sim().save_state(path)
