"""A file given to the wrong command, and a command that does not exist, are named for what they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleet_sim.apps.cli.main import main

SCENARIO = "simulation: {gui: false}\nrobots: [{name: r}]\n"
FILES = {
    "scenario": SCENARIO,
    "swarm world": "type: RectangularWorld\nsize: [8, 8]\nspawners: []\n",
    "search": "world: a.yaml\nmetric: circliness\nparameters: {}\n",
    "sweep": "scenario: a.yaml\nseeds: [1, 2]\nparameters: {}\n",
}
COMMANDS = {"scenario": "run", "swarm world": "swarm", "search": "evolve", "sweep": "sweep"}


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("wanted", COMMANDS)
def test_a_file_of_another_kind_is_named(
    kind: str, wanted: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # A swarm world is a scenario, too.
    if kind == wanted or (kind, wanted) == ("swarm world", "scenario"):
        return
    file = tmp_path / "mine.yaml"
    file.write_text(FILES[kind], encoding="utf-8")
    assert main([COMMANDS[wanted], str(file)]) == 1
    error = capsys.readouterr().err
    assert f"is a {kind}, not a {wanted}; use: fleet-sim {COMMANDS[kind]}" in error and error.count("\n") == 1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("rnu", "unknown command 'rnu'. Did you mean 'run'?"),
        ("demo.yaml", "a command is missing; to run a scenario: fleet-sim run demo.yaml"),
    ],
)
def test_a_command_that_does_not_exist(given: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main([given])
    assert exit_.value.code == 2 and words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "seed: 3\nrobots: [{name: r}]",
            "seed: is not a section; a setting of the simulation is written as simulation.seed",
        ),
        ("robots: [{name: r, grid: 4}]", "robots[0].grid: must be a mapping with keys such as count, "),
        ("robots: [{name: r, sensors: [{type: lidar, link: arm}]}]", "has no link 'arm': it is one body"),
        ("robots: [{name: r, at: {site: free}}]", "needs the section 'site', which this scenario does not have"),
        (
            "ros: {per_robot: [wall]}\nrobots: [{name: r}]\nobjects: [{name: wall}]",
            "ros.per_robot[0]: unknown robot 'wall'. Known: r.",
        ),
    ],
)
def test_a_mistake_of_the_first_hour_names_the_remedy(
    text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text, encoding="utf-8")
    assert main(["check", str(file)]) == 1
    assert words in capsys.readouterr().err


def test_a_long_list_of_known_names_ends_with_three_dots(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "xyzzy.yaml"]) == 1
    assert capsys.readouterr().err.endswith(", ...\n")
