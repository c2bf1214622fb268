"""The registry that all kinds of named things share."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, runtime_checkable

import pytest

from fleet_sim.base.errors import DuplicateNameError, InvalidValueError, UnknownNameError
from fleet_sim.base.registry import Registry, instances_of, subclasses_of

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
