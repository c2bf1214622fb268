"""Strict reading: every type, every error, and settings that stay valid."""

from __future__ import annotations

import gc
import json
import weakref
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from fleet_sim.apps.cli.schema import scenario_schema
from fleet_sim.base.errors import ConfigError, InvalidValueError, UnknownNameError
from fleet_sim.base.params import SimulationParams
from fleet_sim.base.settings import Checked, json_schema, load_mapping, read, read_list, setting


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Wheel(Checked):
    radius: float = setting(above=0, unit="m")
    name: str = setting("wheel")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.name == "square":
            raise InvalidValueError("a wheel cannot be square")


def read_point(value: object) -> tuple[float, float]:
    if value in ("origin", (0.0, 0.0)):
        return (0.0, 0.0)
    raise ValueError(f"must be origin, got {value!r}")


@dataclass
class Cart(Checked):
    wheels: list[Wheel] = setting(factory=list)
    size: tuple[float, float] = setting((1.0, 2.0), low=0, high=10)
    colour: Colour = setting(Colour.RED, aliases=("color",))
    side: Literal["left", "right"] = setting("left")
    count: int = setting(1, low=0)
    fast: bool = setting(False)
    note: str | None = setting(None)
    limit: float | None = setting(None, low=0)
    speed: float | list[float] = setting(1.0, low=0)
    spare: Wheel | None = setting(None)
    extra: dict[str, Any] = setting(factory=dict)
    start: tuple[float, float] = setting((0.0, 0.0), reader=read_point, schema={"enum": ["origin"]})


def test_defaults_fill_what_is_not_given() -> None:
    assert read(Cart, {}) == Cart()


def test_every_type_is_read() -> None:
    cart = read(
        Cart,
        {
            "wheels": [{"radius": 1}],
            "size": [3, 4.5],
            "color": "blue",
            "side": "right",
            "count": 2.0,
            "fast": True,
            "note": "x",
            "limit": 1e-3,
            "speed": [1, 2],
            "spare": {"radius": 2, "name": "spare"},
            "extra": {"a": [1]},
            "start": "origin",
        },
    )
    assert cart.wheels == [Wheel(1.0)]
    assert cart.size == (3.0, 4.5)
    assert cart.colour is Colour.BLUE
    assert isinstance(cart.count, int)
    assert cart.speed == [1.0, 2.0]
    assert cart.spare == Wheel(2.0, "spare")


@pytest.mark.parametrize(
    ("data", "path", "words"),
    [
        ({"colr": "red"}, "colr", ["unknown key", "Did you mean 'color'?"]),
        ({"wheels": [{"radius": 1}, {"radius": -1}]}, "wheels[1].radius", ["above 0", "(m)", "-1"]),
        ({"wheels": [{}]}, "wheels[0].radius", ["missing", "a number above 0"]),
        ({"wheels": {"radius": 1}}, "wheels", ["a list", "got {'radius': 1}"]),
        ({"wheels": "abc"}, "wheels", ["a list", "the text 'abc'"]),
        ({"size": [1]}, "size", ["a list of 2", "got 1: [1]"]),
        ({"size": [1, 11]}, "size[1]", ["at least 0 and at most 10", "11"]),
        ({"size": [1, float("nan")]}, "size[1]", ["a number", "nan"]),
        ({"colour": "green"}, "colour", ["'red', 'blue'", "the text 'green'"]),
        ({"side": "middle"}, "side", ["'left', 'right'", "the text 'middle'"]),
        ({"count": 1.5}, "count", ["a whole number", "1.5"]),
        ({"count": True}, "count", ["a whole number", "True"]),
        ({"count": None}, "count", ["a whole number", "null"]),
        ({"fast": 1}, "fast", ["true or false", "1"]),
        ({"fast": "yes"}, "fast", ["true or false", "the text 'yes'"]),
        ({"note": 3}, "note", ["text or null", "3"]),
        ({"limit": -1}, "limit", ["a number at least 0 or null", "-1"]),
        ({"speed": "fast"}, "speed", ["a number at least 0 or a list", "the text 'fast'"]),
        ({"spare": {"radius": 0}}, "spare.radius", ["above 0", "0"]),
        ({"spare": {"radius": 1, "name": "square"}}, "spare", ["a wheel cannot be square"]),
        ({"extra": {1: 2}}, "extra", ["keys must be text", "1"]),
        ({"start": "end"}, "start", ["must be origin", "'end'"]),
        ({"colour": "red", "color": "red"}, "color", ["given twice", "'colour', 'color'"]),
        ({1: 2}, "1", ["unknown key"]),
        ({"count": 10**400}, "count", ["a whole number"]),
    ],
)
def test_errors_name_file_path_given_and_allowed(data: dict[Any, Any], path: str, words: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        read(Cart, data, source="cart.yaml", path="carts[3]")
    assert caught.value.source == "cart.yaml"
    assert caught.value.path == f"carts[3].{path}"
    message = str(caught.value)
    assert message.startswith(f"cart.yaml: carts[3].{path}: ")
    for word in words:
        assert word in message


@pytest.mark.parametrize("data", [None, 3, "text", [1], True])
def test_only_a_mapping_is_a_section(data: object) -> None:
    with pytest.raises(ConfigError, match="must be a mapping with keys such as "):
        read(Cart, data)


def test_lists_of_sections() -> None:
    assert read_list(Wheel, [{"radius": 1}, {"radius": 2}]) == [Wheel(1.0), Wheel(2.0)]
    with pytest.raises(ConfigError, match=r"f.yaml: wheels\[1\].radius: missing"):
        read_list(Wheel, [{"radius": 1}, {}], source="f.yaml", path="wheels")


def test_settings_are_checked_when_constructed_and_assigned() -> None:
    with pytest.raises(ConfigError, match="radius: must be a number above 0"):
        Wheel(radius=0)
    cart = Cart(size=np.array([1, 2]), count=np.int64(3))  # type: ignore[arg-type]
    assert cart.size == (1.0, 2.0)
    with pytest.raises(ConfigError, match="count: must be a whole number at least 0, got -1"):
        cart.count = -1
    assert cart.count == 3
    with pytest.raises(UnknownNameError, match="Did you mean 'count'"):
        cart.cuont = 1  # type: ignore[attr-defined]


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from([*Cart.__dataclass_fields__, "color", "other"]), anything))
def test_reading_gives_a_valid_cart_or_a_config_error(data: dict[str, Any]) -> None:
    try:
        cart = read(Cart, data)
    except ConfigError:
        return
    assert 0 <= cart.size[0] <= 10
    assert cart.count >= 0
    assert cart.limit is None or cart.limit >= 0


def test_a_class_of_settings_made_in_a_function_is_freed() -> None:
    def use() -> weakref.ref[type]:
        @dataclass
        class Local(Checked):
            size: float = setting(1.0, low=0)

        assert read(Local, {"size": 2.0}).size == 2.0
        return weakref.ref(Local)

    left = use()
    gc.collect()
    assert left() is None


# ---- The JSON schema says what the reader does -----------------------------------------------------------------------


ROOT = Path(__file__).parents[3]
SCHEMA = json_schema(SimulationParams)
VALIDATOR = Draft202012Validator(SCHEMA)


def accepts(data: dict[str, Any]) -> bool:
    """Whether the reader accepts `data`."""
    try:
        SimulationParams.from_dict(data)
    except ConfigError:
        return False
    return True


def test_the_schema_is_valid_and_described() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    json.dumps(SCHEMA, allow_nan=False)
    for name, entry in SCHEMA["properties"].items():
        assert entry.get("description"), name


@pytest.mark.parametrize(
    "path",
    sorted([*ROOT.glob("config/*.yaml"), *ROOT.glob("config/sites/*.yaml")]),
    ids=lambda path: f"{path.parent.name}/{path.name}",
)
def test_shipped_configs_are_accepted_by_reader_and_schema(path: Path) -> None:
    SimulationParams.from_config(path)
    Draft202012Validator(scenario_schema()).validate(load_mapping(path))


def test_the_scenario_schema_refuses_unknown_sections() -> None:
    validator = Draft202012Validator(scenario_schema())
    assert validator.is_valid({"simulation": {}, "robots": []})
    assert not validator.is_valid({"simulaton": {}})


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"timestep": 0.1, "gravity": [0, 0, -1], "camera": {"camera_yaw": 3}},
        {"timestep": 0},
        {"timestep": "0.1"},
        {"timestep": True},
        {"timestp": 1},
        {"target_rtf": 0},
        {"target_rtf": -0.0},
        {"target_rtf": 1e-6},
        {"target_rtf": 5e-324},
        {"target_rtf": -1},
        {"seed": -1},
        {"seed": 1.5},
        {"seed": 2.0},
        {"gravity": [0, 0]},
        {"gravity": [0, 0, 0, 0]},
        {"gravity": [0, 0, "x"]},
        {"gravity": None},
        {"gui": 1},
        {"pose_flush": "never"},
        {"model_paths": ["a", 1]},
        {"collision_detection_method": None},
        {"collision_detection_method": "hybrid"},
        {"collision_detection_method": "Hybrid"},
        {"collision_check_frequency": None},
        {"collision_check_frequency": -1},
        {"camera": {"camera_pitch": -91}},
        {"camera": {"pitch": 1}},
        {"camera": {}, "camera_config": {}},
        {"camera": None},
    ],
    ids=repr,
)
def test_reader_and_schema_agree(data: dict[str, Any]) -> None:
    assert VALIDATOR.is_valid(data) == accepts(data)


values = (
    st.none()
    | st.booleans()
    | st.integers(-3, 2000)
    | st.floats(-100, 100)
    | st.sampled_from(["step", "hybrid", "constant", "auto", "warn"])
    | st.lists(st.integers(-9, 9), min_size=2, max_size=4)
    | st.dictionaries(st.sampled_from(["camera_mode", "camera_yaw"]), st.sampled_from(["auto", 1.5]))
)
# One condition spans two fields and is left to the reader: the mode constant needs a cell size.
names = sorted(set(SCHEMA["properties"]) - {"spatial_hash_cell_size_mode"})


@settings(max_examples=300)
@given(st.dictionaries(st.sampled_from(names), values, max_size=2))
def test_reader_and_schema_agree_on_anything(data: dict[str, Any]) -> None:
    assert VALIDATOR.is_valid(data) == accepts(data)
