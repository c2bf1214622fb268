"""Sections of a scenario: known ones only, and those of other parts through one seam."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fleet_sim.apps.cli.main import main
from fleet_sim.base.errors import ConfigError, InvalidValueError
from fleet_sim.base.params import SimulationParams
from fleet_sim.base.scenario import SECTIONS, Section, check_sections, is_scenario, section_names, with_implied_settings
from fleet_sim.simulation import MultiRobotSimulationCore


class Weather(Section[MultiRobotSimulationCore]):
    """A section as another package would add it."""

    doc = "Wind over the whole world."

    def schema(self) -> dict[str, Any]:
        return {"type": "object", "properties": {"wind": {"type": "number"}}}

    def check(self, entry: Any, *, source: str = "") -> None:
        if not isinstance(entry.get("wind"), float):
            raise ConfigError("must be a number", source=source, path="weather.wind")

    def implied_settings(self, entry: Any, *, source: str = "") -> dict[str, Any]:
        return {"timestep": 0.125, "seed": 4}

    def open(self, sim: MultiRobotSimulationCore, entry: Any, *, source: str = "") -> None:
        wind: float = entry["wind"]
        sim.register_callback(lambda sim, dt: print(f"wind {wind}"))


@pytest.fixture
def weather() -> Iterator[None]:
    SECTIONS.register("weather", Weather())
    yield
    SECTIONS.unregister("weather")


def test_a_scenario_has_sections() -> None:
    assert is_scenario({"robots": []})
    assert is_scenario({"ros": {}})
    assert is_scenario({"swarm": {}})
    assert not is_scenario({"timestep": 0.1})
    check_sections(dict.fromkeys(section_names()))


def test_an_unknown_section_is_named_with_its_file() -> None:
    with pytest.raises(ConfigError, match=r"f.yaml: simulatoin: unknown section. Did you mean 'simulation'"):
        check_sections({"simulatoin": {}}, source="f.yaml")
    with pytest.raises(ConfigError, match=r"f.yaml: simulations: unknown section. Did you mean 'simulation'"):
        SimulationParams.from_dict({"simulations": {}}, source="f.yaml")
    with pytest.raises(ConfigError, match=r"robtos: unknown section. Did you mean 'robots'"):
        SimulationParams.from_dict({"robtos": []})
    with pytest.raises(ConfigError, match=r"swarn: unknown section. Did you mean 'swarm'"):
        SimulationParams.from_dict({"swarn": {}, "robots": []})


@pytest.mark.usefixtures("weather")
def test_a_section_of_another_part_is_in_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    schema = json.loads(capsys.readouterr().out)["properties"]
    assert schema["weather"] == {**Weather().schema(), "description": Weather.doc}
    assert list(schema)[:4] == ["simulation", "robots", "objects", "sensors"]
    assert {"ros", "swarm"} <= set(schema)


@pytest.mark.usefixtures("weather")
def test_a_section_of_another_part_is_checked_and_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "storm.yaml"
    path.write_text("simulation: {seed: 9}\nweather: {wind: 7.5}\n", encoding="utf-8")
    assert main(["check", str(path)]) == 0
    assert main(["run", str(path), "--headless", "--rtf", "0", "--duration", "0.25"]) == 0
    assert capsys.readouterr().out.count("wind 7.5") == 2
    path.write_text("weather: {wind: strong}\n", encoding="utf-8")
    assert main(["check", str(path)]) == 1
    assert "storm.yaml: weather.wind: must be a number" in capsys.readouterr().err


@pytest.mark.usefixtures("weather")
def test_what_a_section_implies_stands_under_what_the_scenario_says() -> None:
    config = {"simulation": {"seed": 9, "gui": False}, "weather": {"wind": 1.0}}
    assert with_implied_settings(config)["simulation"] == {"timestep": 0.125, "seed": 9, "gui": False}
    with MultiRobotSimulationCore.from_dict(config) as sim:
        assert (sim.params.timestep, sim.params.seed) == (0.125, 9)


def test_a_section_derives_from_the_base() -> None:
    with pytest.raises(InvalidValueError, match="Section"):
        SECTIONS.register("storm", Weather)  # type: ignore[arg-type]


@pytest.mark.parametrize("section", ["simulation", "ros", "battery", "doors", "lifts", "vda5050"])
def test_a_section_may_be_empty_and_nothing_else_than_a_mapping(
    section: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = {"robots": [], "simulation": {"gui": False}}
    with MultiRobotSimulationCore.from_dict({**scenario, section: None}) as sim:
        assert sim.params.timestep > 0.0
    for value in (0, False, [], ""):
        with pytest.raises(ConfigError, match="must be a mapping"):
            MultiRobotSimulationCore.from_dict({**scenario, section: value})
    file = tmp_path / "empty.yaml"
    file.write_text(f"robots: []\n{section}:\n")
    assert main(["check", str(file)]) == 0
