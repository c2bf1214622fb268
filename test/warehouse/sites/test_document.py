"""The commands and files in docs/sites.md work as they stand there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from fleet_sim.apps.cli.main import main

DOCUMENT = Path(__file__).parents[3] / "docs" / "sites.md"


def test_the_commands_run_on_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = DOCUMENT.read_text(encoding="utf-8")
    ran = 0
    for language, block in re.findall(r"^```(\w+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        if language == "yaml":
            name = block.splitlines()[0].removeprefix("# ")
            (tmp_path / name).write_text(block)
        elif language == "sh":
            for line in block.splitlines():
                program, *arguments = shlex.split(line)
                assert (program, main(arguments)) == ("fleet-sim", 0), line
                ran += 1
    assert ran == 5
