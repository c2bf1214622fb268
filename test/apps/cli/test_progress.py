"""The line with the progress of `run`, `swarm` and `bench`, tables on terminals, and tab completion."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fleet_sim.apps.cli import arguments as progress
from fleet_sim.apps.cli.arguments import ProgressBar
from fleet_sim.apps.cli.main import main

WORLD = """
{type: RectangularWorld, time_step: 0.1, stop_at: 30, metrics: [scatter], spawners: [{type: uniform, n: 5,
 agent: {type: MazeAgent, controller: {type: static, output: [0.5, 0.1]}}}]}
"""


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("run empty.yaml --duration 3", r"/3 s  "),
        ("run empty.yaml --duration 3 --seeds 1,2", "run 2 of 2  ["),
        ("swarm w.yaml", "/30 steps  "),
        ("bench --robots 3 --steps 5", "3 robots  ["),
        ("bench empty.yaml --steps 5", "/5 steps  "),
    ],
)
def test_progress_has_rate_and_remaining_time(
    command: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(progress, "IN_LINES", 0.0)
    Path("empty.yaml").write_text("simulation: {gui: false, target_rtf: 0, timestep: 0.1}\nrobots: []\n")
    Path("w.yaml").write_text(WORLD)
    assert main([*command.split(), "--progress"]) == 0
    told = capsys.readouterr().err
    assert shown in told
    assert " per second  " in told
    assert " s left\n" in told
    # Nobody asked, and no terminal is there.
    for asked in ([], ["--no-progress"]):
        assert main([*command.split(), *asked]) == 0
        assert "per second" not in capsys.readouterr().err


def test_the_line_says_what_is_left() -> None:
    assert (
        ProgressBar(False, "s", 100.0).text(25.0, 5.0) == "[#####...............] 25/100 s  5 s per second  15 s left"
    )
    assert ProgressBar(False, "s").text(25.0, 5.0) == "25 s  5 s per second"


def test_an_action_of_a_subcommand_shows_its_own_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["models", "render", "arm6", "a.png", "--fast"])
    assert capsys.readouterr().err.startswith("usage: fleet-sim models render ")


def test_shells_can_complete_commands_options_and_names(tmp_path: Path) -> None:
    pytest.importorskip("argcomplete")

    def completed(line: str) -> list[str]:
        asked = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_STDOUT_FILENAME": str(tmp_path / "out"), "_ARGCOMPLETE_IFS": "\n"}
        asked |= {"COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE_COMP_WORDBREAKS": " "}
        program = [sys.executable, "-m", "fleet_sim.apps.cli.main"]
        subprocess.run(program, env={**os.environ, **asked}, cwd=tmp_path, check=True, timeout=120)
        return [word.strip() for word in (tmp_path / "out").read_text().split("\n")]

    assert {"run", "swarm", "bench"} <= set(completed("fleet-sim "))
    assert {"--seed", "--seeds"} == set(completed("fleet-sim run --seed"))
    assert "demo.yaml" in completed("fleet-sim run d")
    assert "arm6" in completed("fleet-sim models render ar")


@pytest.mark.skipif(sys.platform == "win32", reason="has no pseudo-terminals")
@pytest.mark.slow
def test_a_terminal_gets_a_drawn_table_and_lines_that_fit(tmp_path: Path) -> None:
    pytest.importorskip("rich")
    import pty

    master, slave = pty.openpty()
    command = [
        sys.executable,
        "-m",
        "fleet_sim.apps.cli.main",
        "run",
        "empty.yaml",
        "--seeds",
        "1,2",
        "--duration",
        "300",
    ]
    (tmp_path / "empty.yaml").write_text("simulation: {gui: false, target_rtf: 0, timestep: 0.01}\nrobots: []\n")
    sized = {**os.environ, "COLUMNS": "80", "TERM": "xterm"}
    with subprocess.Popen(command, stdout=slave, stderr=slave, cwd=tmp_path, env=sized) as process:
        os.close(slave)
        told = b""
        # The system says that the other end was closed by an error.
        with contextlib.suppress(OSError):
            while part := os.read(master, 65536):
                told += part
    os.close(master)
    assert process.returncode == 0
    text = re.sub(r"\x1b\[[0-9;]*m", "", told.decode())
    assert max(map(len, re.split(r"[\r\n]+", text))) <= 80
    assert "run 2 of 2  [" in text
    (heading,) = [line for line in text.splitlines() if "collisions" in line]
    assert "cancelled" in heading
    assert "─" in text
