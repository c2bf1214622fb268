"""Every option of every subcommand changes what a user sees, or is refused; none is left out."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path

import pytest

from fleet_sim.apps.cli.main import main
from fleet_sim.warehouse.sites import Warehouse, write_site

RUN = "run s.yaml --hash --headless --duration 2"
SWARM = "swarm w.yaml --steps 6"
EVOLVE = "evolve e.yaml --processes 1"
SHOW = "site show hall.yaml"
ROUTE = "site route hall.yaml 0.5 0.5 37.5 12.5"
EXECUTE = "traffic execute --map room.map --scen room.scen --paths paths.txt --quiet"
DRIVE = "traffic run room.map --robots 3 --seconds 20 --quiet --json a.json"

SHOWN: dict[str, tuple[str, str, str]] = {
    "new --force": ("new s.yaml", "--force", "written"),
    "run --duration": ("run s.yaml --headless", "--duration 1", r"\b1\.00 s"),
    "run --seed": (RUN, "--seed 7", r"state hash: \w+"),
    "run --seeds": ("run s.yaml --duration 1", "--seeds 1,2", r"\n +2 "),
    "run --set": (RUN, "--set simulation.seed=9", r"state hash: \w+"),
    "run --hash": ("run s.yaml --headless --duration 1", "--hash", "state hash: "),
    "run --picture": (RUN, "--picture a.png", "picture: a.png"),
    "run --record": (RUN, "--record a.mcap", "recording: .*a.mcap"),
    "run --record-rate": (RUN, "--record-rate 3", "--record-rate is the rate of a recording"),
    "run --record-sensors": (RUN, "--record b.mcap --record-sensors sonar", "readings of .sonar. cannot be recorded"),
    "run --at": (RUN, "--at 3", "--at says when"),
    "run --quiet": (RUN, "-q --set simulation.log_level=warn", "which -q or -v gives"),
    "run --verbose": (RUN, "-v --set simulation.log_level=warn", "which -q or -v gives"),
    "bench --json": ("bench s.yaml --steps 2", "--json", r'"entities": \d+,'),
    "swarm --steps": ("swarm w.yaml --set stop_at=9", "--steps 3", " 3 steps"),
    "swarm --seed": (SWARM, "--seed 9", r"Scatter: \S+"),
    "swarm --set": (SWARM, "--set stop_at=2", " 2 steps"),
    "swarm --speed": (SWARM, "--speed 2", "--speed does nothing without"),
    "swarm --paused": (SWARM, "--paused", "--paused does nothing without"),
    "swarm --every": (SWARM, "--every 2", "--every does nothing without"),
    "evolve --generations": (EVOLVE, "--generations 2", "after 2 generations"),
    "evolve --seed": (EVOLVE, "--restart --seed 5", r"controller\S*: \S+"),
    "evolve --restart": (f"{EVOLVE} --output c.yaml", "--restart", "generation 1/"),
    "evolve --output": (EVOLVE, "--output b.yaml", r"wrote b\.yaml"),
    "models list --tier": ("models list", "--tier ros", r"^(?!.*diff_base)[\s\S]*$"),
    "models list --json": ("models list", "--json", r'"tier": "local",'),
    "models list --path": ("models list", "--path missing_folder", "missing_folder"),
    "models show --path": ("models show diff_base", "--path missing_folder", "missing_folder"),
    "models render --path": ("models render diff_base a.png", "--path missing_folder", "missing_folder"),
    "site show --picture": (SHOW, "--picture a.png", r"wrote a\.png"),
    "site show --json": (SHOW, "--json", r'"free_cells": \d+,'),
    "site show --cell": (SHOW, "--cell 2", "not on free space"),
    "site show --level": (SHOW, "--level L1", "level"),
    "site convert --to": ("site convert hall.yaml b.yaml", "--to map", r"b\.png"),
    "site convert --cell": ("site convert hall.yaml b.yaml", "--cell 0.3", "cell"),
    "site convert --level": ("site convert hall.yaml b.yaml", "--level L1", "level"),
    "site route --cell": (ROUTE, "--cell 0.3", "cell"),
    "site route --level": (ROUTE, "--level L1", "level"),
    "site route --radius": (ROUTE, "--radius 0.6", r"length +\S+"),
    "site route --speed": (ROUTE, "--speed -1", "speed"),
    "site route --route": (ROUTE, "--route roadmap", "has no roadmap"),
    "site route --picture": (ROUTE, "--picture a.png", r"wrote a\.png"),
    "report --out": ("report run.json", "--out a.html", r"wrote a\.html"),
    "report --csv": ("report run.json", "--csv a.csv", r"wrote a\.csv"),
    "schema --world": ("schema", "--world", "drawings of the window"),
    "verify --table": ("verify demo.yaml --table none.json", "--table no.json", r"\bno\.json"),
    "replay --speed": ("replay a.mcap", "--speed 2", "are for --publish"),
    "replay --start": ("replay a.mcap", "--start 2", "are for --publish"),
    "traffic run --robots": (DRIVE, "--robots 5", "5 robots"),
    "traffic run --seed": (DRIVE, "--seed 5", r"Driven in[^\n]*"),
    "traffic run --planner": (DRIVE, "--planner pibd", "pibd"),
    "traffic run --setting": (DRIVE, "--setting mots_steps=5", "mots_steps"),
    "traffic run --dwell": (DRIVE, "--dwell 0", r"Serving +\S+"),
    "traffic run --cell": (DRIVE, "--cell 0.3", "cell"),
    "traffic run --level": (DRIVE, "--level L1", "level"),
    "traffic run --paths": (DRIVE, "--paths p.txt", "one plan to write for a .scen only"),
    "traffic run --seconds": (DRIVE, "--seconds 10", r"Simulated +\S+"),
    "traffic run --json": ("traffic run room.map --robots 2 --seconds 2 --quiet", "--json a.json", r"wrote a\.json"),
    "traffic execute --seconds": (EXECUTE, "--seconds 2", r"Simulated +\S+"),
    "traffic execute --seed": (EXECUTE, "--seed -1", "--seed: must be at least 0"),
    "traffic run --time-limit": (DRIVE, "--time-limit -1", "--time-limit"),
}
"""Option: the command line without it, what is added to it, and what is then found in what is printed.

It is not found, or reads otherwise, without the option.
"""

ONCE = "traffic run room.scen --quiet"
REFUSED = {
    f"traffic run --{name}": (ONCE, f"--{name} {value}", f"--{name}: a .scen is planned once")
    for name, value in {"period": "2", "window": "9", "policy": "on_demand", "planning-time": "1.5"}.items()
}
"""Of planning again and again, refused where there is one plan; test/warehouse/traffic shows what the settings do."""

MADE = "traffic run room.map --robots 2 --seconds 2 --quiet --json run.json"
BEFORE = {
    "report --out": (MADE, "run.json"),
    "report --csv": (MADE, "run.json"),
    "evolve --restart": (f"{EVOLVE} --output c.yaml", "c.log.jsonl"),
}
"""What has to be done first, and the file that says that it was."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("options")
    room = ["........", ".@@..@@.", "........", "........", ".@@..@@.", "........"]
    (made / "room.map").write_text("type octile\nheight 6\nwidth 8\nmap\n" + "\n".join(room) + "\n")
    (made / "room.scen").write_text("version 1\n0\troom.map\t8\t6\t0\t0\t7\t5\t12.0\n")
    steps = [(x, 0) for x in range(8)] + [(7, y) for y in range(1, 6)]
    (made / "paths.txt").write_text("Agent 0:" + "".join(f"({x},{y})->" for x, y in steps) + "\n")
    walker = {"name": "a", "pose": [0, 0, 0.1], "shape": {"shape_type": "box", "half_extents": [0.2, 0.2, 0.1]}}
    walker["controller"] = {"type": "random_walk", "radius": 3.0, "max_linear_vel": 1.0}
    (made / "s.yaml").write_text(
        json.dumps({"simulation": {"target_rtf": 0, "duration": 2, "timestep": 0.1}, "robots": [walker]})
    )
    agent = {"type": "MazeAgent", "controller": {"type": "static", "output": [0.5, 0.1]}}
    spawner = {"type": "uniform", "n": 5, "facing": "random", "agent": agent}
    world = {"type": "RectangularWorld", "time_step": 0.1, "spawners": [spawner], "metrics": ["scatter"]}
    (made / "w.yaml").write_text(json.dumps(world))
    search = {"world": "w.yaml", "metric": "Scatter", "steps": 3, "seeds": [0], "generations": 1, "population": 3}
    search["parameters"] = {"spawners[0].agent.controller.output[0]": {"low": 0.1, "high": 1.0}}
    (made / "e.yaml").write_text(json.dumps(search))
    write_site(Warehouse().site(), made / "hall.yaml")
    return made


@pytest.fixture(scope="module")
def said_before() -> dict[str, str]:
    """What command lines without the option printed, as many options share one."""
    return {}


def said(line: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Return what a command line prints, wrong or right."""
    with contextlib.suppress(SystemExit):
        main(line.split())
    captured = capsys.readouterr()
    return captured.out + captured.err


@pytest.mark.parametrize("option", [*SHOWN, *REFUSED])
def test_an_option_counts(
    option: str,
    folder: Path,
    said_before: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    base, added, sign = {**SHOWN, **REFUSED}[option]
    if option in BEFORE and not Path(BEFORE[option][1]).exists():
        said(BEFORE[option][0], capsys)
    if base not in said_before:
        said_before[base] = said(base, capsys)
    without, given = said_before[base], said(f"{base} {added}", capsys)
    found = re.search(sign, given)
    assert found, given
    before = re.search(sign, without)
    assert before is None or before[0] != found[0], given


def test_a_model_is_drawn_from_where_it_is_said(tmp_path: Path) -> None:
    pictures = set()
    for given in ([], ["--yaw", "30"], ["--pitch", "-60"]):
        assert main(["models", "render", "simple_cube", str(tmp_path / "a.png"), "--size", "40", "30", *given]) == 0
        pictures.add((tmp_path / "a.png").read_bytes())
    assert len(pictures) == 3
