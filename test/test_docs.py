"""What the documents show works: their Python runs, their links and make targets exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


SCRIPTS = [path for path in DOCUMENTS if blocks(path, "python")]


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_python_in_documents_runs(path: Path, tmp_path: Path) -> None:
    # The blocks of a document build on each other, as its reader does.
    code = "\n".join(blocks(path, "python"))
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_and_make_targets_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        assert "://" in link or link.startswith("mailto:") or (path.parent / link).exists(), f"{path.name}: {link}"
    for target in re.findall(r"(?:^|`)make ([a-z-]+)", text, re.MULTILINE):
        assert target in TARGETS, f"{path.name}: make {target}"
