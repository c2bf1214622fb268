"""`fleet-sim swarm` as a user calls it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fleet_sim.apps.cli.main import main

WORLD = """
type: RectangularWorld
time_step: 0.1
metrics: [average_speed]
spawners:
- {type: uniform, n: 3, facing: random, agent: {type: MazeAgent, controller: {type: static, output: [0.5, 0.0]}}}
"""


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "w.yaml").write_text(WORLD, encoding="utf-8")
    return "w.yaml"


def test_a_run_says_what_happened_and_writes_what_was_asked_for(world: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--steps", "12", "--record", "a.gif", "--every", "4", "--metrics", "a.csv", "--plot", "a.svg"]
    assert main(["swarm", world, *options, "--picture", "a.png"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("3 agents, 12 steps, 1.20 s simulated in ")
    assert (
        "AverageSpeed: 0.5 (average of the last 12: 0.5)\nwrote a.gif\nwrote a.csv\nwrote a.svg\nwrote a.png\n" in out
    )
    assert all(Path(name).stat().st_size for name in ("a.gif", "a.csv", "a.svg", "a.png"))


def test_settings_and_seed_can_be_given(world: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["swarm", world, "--set", "stop_at=5", "--set", "size=[9, 9]", "--metrics", "a.csv"]) == 0
    assert "5 steps" in capsys.readouterr().out
    pictures = []
    for seed in ("1", "1", "2"):
        assert main(["swarm", world, "--steps", "1", "--seed", seed, "--picture", "a.png"]) == 0
        pictures.append(Path("a.png").read_bytes())
    assert pictures[0] == pictures[1] != pictures[2]


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_a_run_without_a_step_leaves_an_empty_table(name: str, world: str) -> None:
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    assert main(["swarm", world, "--steps", "0", "--metrics", name]) == 0
    if name.endswith("csv"):
        assert Path(name).read_text() == "step,time,population\n"
    else:
        from pyarrow import parquet

        table = parquet.read_table(name)
        assert (table.column_names, table.num_rows) == (["step", "time", "population"], 0)


def test_a_film_without_a_picture_is_not_said_to_be_written(world: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["swarm", world, "--steps", "3", "--record", "a.gif", "--every", "4"]) == 0
    assert capsys.readouterr().out.endswith("\nno picture was due for a.gif\n")
    assert not Path("a.gif").exists()


def test_a_shipped_world_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["swarm", "milling.yaml", "--steps", "3"]) == 0
    assert main(["check", "milling.yaml"]) == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--set", "sizes=[1, 1]"], "w.yaml: sizes: unknown key. Did you mean 'size'?"),
        (["--set", "metrics=[circlines]"], "w.yaml: metrics[0]: unknown metric 'circlines'."),
        (["--set", "size"], "--set needs KEY=VALUE, as in time_step=0.1, got 'size'"),
        (["--record", "a.avi"], "cannot record to 'a.avi': the ending must be .gif, .mp4"),
        (["--metrics", "a.xls"], "the ending must be .csv or .parquet"),
        (["--plot", "a.xyz"], "cannot write to 'a.xyz': the ending must be one of .png"),
        (["--picture", "no/a.png"], "no/a.png: cannot be written: there is no folder 'no'"),
        (["--speed", "3"], "--speed does nothing without --show"),
        (["--paused"], "--paused does nothing without --show"),
        (["--every", "3"], "--every does nothing without --record"),
    ],
)
def test_what_is_wrong_is_one_line(
    world: str, options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["swarm", world, "--steps", "1", *options]) == 1
    error = capsys.readouterr().err
    assert words in error and error.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["swarm", "w.yaml", "--steps", "-3"], "--steps: must be at least 0, got -3"),
        (["swarm", "w.yaml", "--speed", "0"], "--speed: must be at least 1, got 0"),
        (["swarm", "w.yaml", "--every", "0"], "--every: must be at least 1, got 0"),
        (["evolve", "w.yaml", "--processes", "0"], "--processes: must be at least 1, got 0"),
        (["evolve", "w.yaml", "--generations", "x"], "--generations: must be a whole number, got 'x'"),
    ],
)
def test_numbers_out_of_range_are_wrong_usage(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "module", "extra"),
    [
        ("--record=a.gif", "PIL", "swarm"),
        ("--picture=a.png", "PIL", "swarm"),
        ("--record=a.mp4", "imageio_ffmpeg", "video"),
        ("--metrics=a.parquet", "pyarrow", "parquet"),
        ("--plot=a.png", "matplotlib.figure", "plot"),
    ],
)
def test_what_is_not_installed_is_said_before_the_run(
    world: str,
    option: str,
    module: str,
    extra: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    assert main(["swarm", world, "--steps", "1", option]) == 1
    said = capsys.readouterr()
    assert f"pip install 'fleet_sim[{extra}]'" in said.err and said.err.count("\n") == 1
    assert said.out == ""


def test_a_missing_file_is_said(world: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["swarm", "v.yaml"]) == 1
    assert "v.yaml: there is no such file here" in capsys.readouterr().err
