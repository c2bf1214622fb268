"""The registry that all kinds of named things share."""

from __future__ import annotations

import logging
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import pytest

from fleet_sim import MultiRobotSimulationCore
from fleet_sim.base.errors import ConfigError, DuplicateNameError, InvalidValueError, UnknownNameError, closest
from fleet_sim.base.files import data_file, data_roots, resolve_config, shared_uri
from fleet_sim.base.registry import Registry, instances_of, subclasses_of
from fleet_sim.swarm import World_from_config

GROUP = "fleet_sim.test_shape"


class Shape:
    """What the registry under test holds."""


class Disc(Shape):
    pass


class Square(Shape):
    pass


@pytest.fixture
def shapes() -> Registry[type[Shape]]:
    made = Registry("shape", subclasses_of(Shape), group=GROUP)
    made.register("square", Square)
    made.register("disc", Disc)
    return made


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return what installs a distribution `name` with a module of that name and entry points."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def install(name: str, module: str, **points: str) -> None:
        (tmp_path / f"{name}.py").write_text(module, encoding="utf-8")
        info = tmp_path / f"{name}-1.5.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.5\n", encoding="utf-8")
        lines = "".join(f"{point} = {value}\n" for point, value in points.items())
        (info / "entry_points.txt").write_text(f"[{GROUP}]\n{lines}", encoding="utf-8")
        monkeypatch.delitem(sys.modules, name, raising=False)

    return install


def test_what_is_registered_is_found(shapes: Registry[type[Shape]]) -> None:
    assert shapes["disc"] is shapes.get("disc") is shapes.find("disc") is Disc
    assert "disc" in shapes and "cone" not in shapes
    assert shapes.names() == list(shapes) == ["disc", "square"] and len(shapes) == 2
    assert list(shapes.registered()) == ["square", "disc"]
    assert shapes.all() == {"disc": Disc, "square": Square}
    assert repr(shapes) == "<Registry of shape: square, disc>"


def test_register_is_a_call_and_a_decorator(shapes: Registry[type[Shape]]) -> None:
    @shapes.register("cone")
    class Cone(Shape):
        pass

    assert shapes["cone"] is Cone
    assert shapes.register("cone_2", Cone) is Cone


def test_a_name_is_taken_once_until_it_is_unregistered(shapes: Registry[type[Shape]]) -> None:
    with pytest.raises(DuplicateNameError, match="the shape 'disc' exists already; choose another name"):
        shapes.register("disc", Disc)
    shapes.unregister("disc")
    assert shapes.register("disc", Square) is Square
    with pytest.raises(UnknownNameError, match=r"unknown shape 'dics'. Did you mean 'disc'"):
        shapes.unregister("dics")


def test_what_does_not_fit_is_rejected(shapes: Registry[type[Shape]]) -> None:
    for thing in (int, Disc(), "Disc"):
        with pytest.raises(InvalidValueError, match=r"shape 'x': expected a class derived from Shape, got "):
            shapes.register("x", thing)  # type: ignore[arg-type]
    with pytest.raises(InvalidValueError, match="the name must be a text that is not empty, got ''"):
        shapes.register("", Disc)
    with pytest.raises(InvalidValueError, match="expected a class to derive from, got 3"):
        subclasses_of(3)  # type: ignore[arg-type]


def test_a_check_of_ones_own_sees_the_name_and_the_thing() -> None:
    def check(name: str, cls: type[Shape]) -> None:
        if cls.__name__.lower() != name:
            raise InvalidValueError(f"call {cls.__name__} by its name")

    strict = Registry("shape", subclasses_of(Shape), check=check)
    strict.register("disc", Disc)
    with pytest.raises(InvalidValueError, match="call Square by its name"):
        strict.register("box", Square)


@runtime_checkable
class Law(Protocol):
    name: str

    def step(self) -> float: ...


class Steady:
    name = "steady"

    def step(self) -> float:
        return 1.0


def test_objects_are_held_as_well_and_their_class_is_not_taken_for_one() -> None:
    laws = Registry("law", instances_of(Law))
    laws.register("steady", Steady())
    assert laws["steady"].step() == 1.0
    with pytest.raises(InvalidValueError, match="law 'other': expected an object of Law, got <class"):
        laws.register("other", Steady)  # type: ignore[call-overload]


def test_the_closest_name_is_suggested(shapes: Registry[type[Shape]], install: Callable[..., None]) -> None:
    install("hexagons", "", hexagon="hexagons:Hexagon")
    with pytest.raises(UnknownNameError, match=r"unknown shape 'squire'. Did you mean 'square'"):
        shapes.get("squire")
    with pytest.raises(UnknownNameError, match="Did you mean 'hexagon'"):
        shapes.get("hexagone")


def test_built_in_things_are_brought_at_the_first_look_up() -> None:
    calls = []

    def built_in() -> dict[str, type[Shape]]:
        calls.append("called")
        return {"disc": Disc}

    lazy = Registry("shape", subclasses_of(Shape), built_in=built_in)
    assert calls == []
    with pytest.raises(DuplicateNameError):
        lazy.register("disc", Square)
    assert lazy["disc"] is Disc and calls == ["called"]


@pytest.mark.parametrize("path", ["collections:Counter", "collections.Counter"])
def test_dotted_paths_are_for_find_and_at_only(path: str) -> None:
    mappings: Registry[type[dict[str, int]]] = Registry("mapping", subclasses_of(dict))
    assert mappings.find(path).__name__ == mappings.at(path).__name__ == "Counter"
    with pytest.raises(UnknownNameError, match="unknown mapping"):
        mappings.get(path)


@pytest.mark.parametrize(
    "path", ["no_such_module:Disc", "os:nothing", "os.nothing", "Disc", ":Disc", ".os:path", "os:"]
)
def test_a_path_to_nothing_says_how_paths_are_written(shapes: Registry[type[Shape]], path: str) -> None:
    with pytest.raises(InvalidValueError, match=r"cannot be imported \(.*\); write package\.module:Name"):
        shapes.at(path)


def test_a_module_that_fails_is_not_said_to_be_in_another_folder(
    shapes: Registry[type[Shape]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "failing_shapes.py").write_text("raise ValueError('no shape has seven sides')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InvalidValueError, match=r"cannot be imported \(no shape has seven sides\)$"):
        shapes.at("failing_shapes:Heptagon")


def test_what_is_at_a_path_must_fit(shapes: Registry[type[Shape]]) -> None:
    with pytest.raises(InvalidValueError, match=r"shape 'os.path': expected a class derived from Shape, got <module"):
        shapes.find("os.path")


MODULE = """
from importlib import import_module
Shape = import_module("{home}").Shape
class Hexagon(Shape):
    pass
"""


def test_an_installed_distribution_adds_a_name(
    shapes: Registry[type[Shape]], install: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "shapes_of_this_test", sys.modules[__name__])
    install("hexagons", MODULE.format(home="shapes_of_this_test"), hexagon="hexagons:Hexagon", disc="hexagons:Hexagon")
    assert shapes["disc"] is Disc, "our own names win"
    assert "hexagons" not in sys.modules, "nothing is loaded before its name is asked for"
    assert shapes.names() == ["disc", "hexagon", "square"] and "hexagon" in shapes
    assert "hexagons" not in sys.modules
    assert shapes["hexagon"].__name__ == "Hexagon" and shapes["hexagon"] is shapes.all()["hexagon"]
    with pytest.raises(DuplicateNameError):
        shapes.register("hexagon", Disc)


def test_a_broken_distribution_is_named_and_hides_no_other(
    shapes: Registry[type[Shape]], install: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    install("broken", "raise RuntimeError('no licence')", broken="broken:Shape", number="collections:Counter")
    with pytest.raises(InvalidValueError, match=r"'broken' of the package broken 1.5 .*RuntimeError: no licence"):
        shapes.get("broken")
    with pytest.raises(InvalidValueError, match=r"derived from Shape, got .*Counter.*from the package broken 1.5"):
        shapes.get("number")
    with caplog.at_level(logging.WARNING):
        assert list(shapes.all()) == ["disc", "square"]
    assert len(caplog.records) == 2
    assert shapes["disc"] is Disc


def test_two_distributions_with_one_name_are_both_named(
    shapes: Registry[type[Shape]], install: Callable[..., None]
) -> None:
    install("first", "", cone="first:Cone")
    install("second", "", cone="second:Cone")
    with pytest.raises(InvalidValueError, match=r"'cone' is declared by first 1.5 and second 1.5; uninstall one"):
        shapes.get("cone")


# ---- Where an error of a configuration says it is, also after it has passed through several readers ------------------


def test_message_path_and_source_stay_apart() -> None:
    error = ConfigError("must be positive", source="fleet.yaml", path="robots[0].mass")
    assert (error.message, error.source, error.path) == ("must be positive", "fleet.yaml", "robots[0].mass")
    assert str(error) == "fleet.yaml: robots[0].mass: must be positive"
    assert str(ConfigError("is empty")) == "is empty"


@pytest.mark.parametrize(
    ("key", "path", "whole"),
    [
        ("robots", "mass", "robots.mass"),
        ("robots", "[2].mass", "robots[2].mass"),
        ("robots", "", "robots"),
        ("", "mass", "mass"),
        ("", "", ""),
    ],
)
def test_within_puts_the_path_below_a_key(key: str, path: str, whole: str) -> None:
    error = ConfigError("must be positive", path=path).within(key, source="fleet.yaml")
    assert (error.message, error.source, error.path) == ("must be positive", "fleet.yaml", whole)


def test_within_keeps_a_message_that_begins_like_its_path() -> None:
    error = ConfigError("mass: mass: is not a key", path="mass").within("robot").within("fleet", source="a.yaml")
    assert str(error) == "a.yaml: fleet.robot.mass: mass: mass: is not a key"


def test_a_path_in_another_file_is_not_put_below_a_key_of_this_one() -> None:
    error = ConfigError("must be positive", source="robot.yaml", path="mass").within("robots[0]", source="fleet.yaml")
    assert (error.source, error.path) == ("fleet.yaml", "robots[0]")
    assert error.message == "robot.yaml: mass: must be positive"


def test_errors_of_other_kinds_become_config_errors_without_a_place() -> None:
    error = ConfigError.of(InvalidValueError("mass: must be positive")).within("robots[0]")
    assert (error.message, error.path) == ("mass: must be positive", "robots[0]")
    already = ConfigError("no", path="a")
    assert ConfigError.of(already) is already


def test_errors_survive_another_process() -> None:
    error = pickle.loads(pickle.dumps(ConfigError("must be positive", source="a.yaml", path="mass")))
    assert (error.message, error.source, error.path) == ("must be positive", "a.yaml", "mass")


def place_of(scenario: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as caught:
        MultiRobotSimulationCore.from_dict({"simulation": {"gui": False}, **scenario})
    return caught.value.path


def test_a_wrong_parameter_of_an_action_is_found_by_its_keys() -> None:
    robot = {"name": "a", "urdf_path": "simple_cube", "actions": [{"type": "wait", "duration": 1}, {"type": "wait"}]}
    assert place_of({"robots": [robot]}) == "robots[0].actions[1]"


def test_a_wrong_value_of_a_swarm_is_found_by_its_keys() -> None:
    with pytest.raises(ConfigError) as caught:
        World_from_config({"objects": [{"type": "StaticObject", "position": "here"}]}, source="world.yaml").setup()
    assert caught.value.source == "world.yaml"
    assert caught.value.path.startswith("objects[0]")
    assert "objects" not in caught.value.message


def test_names_of_a_large_fleet_are_compared_with_those_that_begin_alike() -> None:
    fleet = [f"robot_{number}" for number in range(100_000)]
    compared = list[int]()

    class Name(str):
        __slots__ = ()

        def __len__(self) -> int:
            compared.append(1)
            return super().__len__()

    assert closest("robot_4711x", [*map(Name, fleet), "cart"]) == "robot_4711"
    assert len(compared) < 10_000, "each of the others costs no time"
    assert closest("crat", ["robot_1", "cart"]) == "cart"


# ---- Shipped files are found, and a missing one says where it was searched -------------------------------------------


def test_shipped_files_are_found() -> None:
    assert data_file("config", "demo.yaml").is_file()
    assert resolve_config("demo.yaml") == data_file("config", "demo.yaml")


def test_a_missing_file_says_what_was_searched() -> None:
    with pytest.raises(ConfigError) as caught:
        data_file("config", "dem.yaml")
    message = str(caught.value)
    assert "Did you mean 'demo.yaml'?" in message
    for root in data_roots():
        assert str(root / "config") in message


def test_an_ament_prefix_is_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "share" / "fleet_sim" / "urdf"
    folder.mkdir(parents=True)
    (folder / "only_there.urdf").write_text("<robot/>")
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"/nowhere:{tmp_path}")
    assert data_file("urdf", "only_there.urdf") == folder / "only_there.urdf"


def test_given_paths_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert resolve_config("config/mine.yaml") == Path("config/mine.yaml")
    assert resolve_config("sites/office.yaml") == data_file("config", "sites/office.yaml")
    with pytest.raises(ConfigError, match=r"dem.yaml: there is no such file here .* Did you mean 'demo.yaml'"):
        resolve_config("dem.yaml")
    # No more like it than all names with that ending are.
    with pytest.raises(ConfigError, match=r"of that name\. Known: aggregation\.yaml, "):
        resolve_config("nosuch.yaml")
    (tmp_path / "demo.yaml").write_text("simulation: {}\n")
    assert resolve_config("demo.yaml") == Path("demo.yaml")


def test_files_of_installed_packages_have_uris_that_other_machines_know(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "install" / "share" / "arm" / "meshes" / "link 0.stl"
    source = tmp_path / "src" / "my_hand" / "meshes" / "palm.dae"
    linked = tmp_path / "install" / "share" / "hand" / "meshes" / "palm.dae"
    for file in (installed, source, linked):
        file.parent.mkdir(parents=True)
    installed.touch()
    source.touch()
    # As colcon build --symlink-install does.
    linked.symlink_to(source)
    (tmp_path / "src" / "my_hand" / "package.xml").write_text("<package><name>hand</name></package>")
    assert shared_uri(installed) == installed.as_uri()
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"/nowhere:{tmp_path / 'install'}")
    assert shared_uri(installed) == "package://arm/meshes/link%200.stl"
    assert shared_uri(source) == shared_uri(linked) == "package://hand/meshes/palm.dae"
    for other in (tmp_path / "src" / "my_hand" / "not_installed.dae", tmp_path / "mine.stl"):
        assert shared_uri(other) == other.as_uri()
