"""docs/swarm.md does what it says: its files are written, its commands are run, in its order, as a reader does."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

DOCUMENT = Path(__file__).parents[2] / "docs" / "swarm.md"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def run(command: str, folder: Path) -> None:
    program, *arguments = shlex.split(command)
    assert program == "fleet-sim"
    done = subprocess.run(
        [sys.executable, "-m", "fleet_sim.apps.cli.main", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stderr}"


@pytest.mark.slow
def test_the_document_works(tmp_path: Path) -> None:
    written, commands = set(), []
    for language, text in BLOCKS:
        name = re.match(r"# (\w+\.\w+)\n", text)
        if name:
            (tmp_path / name.group(1)).write_text(text, encoding="utf-8")
            written.add(name.group(1))
        if language == "sh":
            commands += text.splitlines()
    assert written == {"mill.yaml", "mine.py", "mine.yaml", "fast.py", "search.yaml", "both.yaml"}
    assert len(commands) == 5
    for command in commands:
        run(command, tmp_path)
    with Image.open(tmp_path / "mill.gif") as gif:
        assert gif.n_frames > 50
    assert (tmp_path / "mill.csv").read_text().startswith("step,time,population,Circliness\n")
    for picture in ("mill.png", "mine.png"):
        assert (tmp_path / picture).read_bytes().startswith(b"\x89PNG")
