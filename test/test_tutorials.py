"""The tutorials, followed step by step: their files are saved, their commands and code run, what they show appears."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import without_dds
from command_line import fleet_sim_command
from pages import code_blocks

TUTORIALS = sorted((Path(__file__).parents[1] / "docs/tutorials").glob("*.md"))
SCENARIOS = Path(__file__).parents[1] / "docs/scenarios.md"


def run(command: list[str], folder: Path) -> str:
    """Run `command` as in the reader's shell, with the scripts of this environment."""
    scripts = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": os.pathsep.join((scripts, os.environ["PATH"]))}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    without_dds.skip_program_that_needs_dds(done.stderr)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("text", [text for _, text in code_blocks(SCENARIOS)], ids=lambda text: text.split()[1])
def test_scenarios_of_the_page_are_whole(text: str, tmp_path: Path) -> None:
    (tmp_path / "it.yaml").write_text(text, encoding="utf-8")
    checked = fleet_sim_command("check", "it.yaml", cwd=tmp_path)
    assert checked.returncode == 0, checked.stderr
    done = fleet_sim_command("run", "it.yaml", cwd=tmp_path)
    # What fails in the run of an example stands beside it.
    failed = [line for line in done.stdout.splitlines() if "failed" in line]
    assert all(f"`{line}`" in SCENARIOS.read_text(encoding="utf-8") for line in failed)
    assert done.returncode == len(failed), done.stderr
    assert "simulated in" in done.stdout


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
@pytest.mark.slow
def test_a_tutorial_works_as_it_is_written(path: Path, tmp_path: Path) -> None:
    blocks = code_blocks(path)
    code: list[str] = []
    shown = ""
    for language, text in blocks:
        name = re.match(r"# (\w+\.\w+)\n", text)
        if name:
            (tmp_path / name[1]).write_text(text, encoding="utf-8")
        elif language == "python":
            code.append(text)
        elif language == "sh":
            # -m: `kill %1` of a page needs job control.
            shown += run(["bash", "-m", "-e", "-c", text.replace("kill %1; wait", "kill %1; wait || true")], tmp_path)
        elif language == "text":
            assert text.strip() in shown
    if code:
        run([sys.executable, "-c", "\n".join(code)], tmp_path)
