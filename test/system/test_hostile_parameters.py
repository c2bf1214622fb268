"""What a node is started with: wrong arguments, parameters and parameter files are one error each, and no traceback."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import json, sys
from fleet_sim.ros.main import main
for arguments in json.loads(sys.argv[1]):
    print(main(arguments), flush=True)
    print("end", file=sys.stderr, flush=True)
"""
VALUES = ("{a: 1}", "!!int abc", "[a, 1]", "[[1]]", "9" * 400, "*a", "nan", "[1, 2]", "x" * 3000)
NAMES = ("robots", "state_folder", "client_timeout", "target_rtf", "rates.odom")
FILES = (
    *("- 1", "fleet_sim: 1", "fleet_sim: {ros__parameters: 1}", "fleet_sim: {ros__parameters: {robots: [a]}}"),
    *("a: [", "fleet_sim: {ros__parameters: {robots: !!int abc}}"),
    *("{" * 300, "fleet_sim: {ros__parameters: {robots: null}}", "fleet_sim: {ros__parameters: {gui: 1e400}}"),
)
ARGUMENTS = (
    *(["-p"], ["-p", "x"], ["-p", ":="], ["--params-file"], ["--params-file", "/nobody"], ["-r", "x"], ["--nobody"]),
    *(["-r", "__node:=1x"], ["-r", "__ns:=x y"], ["-r", "__node:="], ["--log-level", "nobody"]),
)


def cases(folder: Path) -> list[list[str]]:
    """Return the arguments of all starts."""
    starts = [["-p", f"{name}:={value}"] for name in NAMES for value in VALUES]
    for number, text in enumerate(FILES):
        file = folder / f"{number}.yaml"
        file.write_text(text)
        starts.append(["--params-file", str(file)])
    starts += [list(arguments) for arguments in ARGUMENTS]
    return [["--ros-args", *start] for start in starts]


@pytest.mark.slow
def test_each_wrong_start_is_one_error(tmp_path: Path) -> None:
    starts = cases(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(starts)], capture_output=True, text=True, check=False, timeout=250.0
    )
    assert done.stdout.split() == ["1"] * len(starts), done.stderr[-3000:]
    assert "Traceback" not in done.stderr
    for start, told in zip(starts, done.stderr.split("end\n"), strict=False):
        assert told.startswith("fleet_sim_node: error: "), (start, told)
        assert len(told) < 5000
