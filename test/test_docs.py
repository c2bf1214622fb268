"""What the documents show works: their Python runs, their links and make targets exist."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest
import references
import without_dds
from pages import blocks

import fleet_sim
from fleet_sim.base.ros_params import Group, RateParams, RosParams
from fleet_sim.sensing.sensors.registry import SENSORS

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


# Tutorials are followed step by step in test_tutorials.py.
SCRIPTS = [path for path in DOCUMENTS if blocks(path, "python") and path.parent.name != "tutorials"]


@pytest.mark.slow
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_python_in_documents_runs(path: Path, tmp_path: Path) -> None:
    # The blocks of a document build on each other, as its reader does.
    code = "\n".join(blocks(path, "python"))
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    if done.returncode:
        references.skip_program_that_needs_pybullet(done.stderr)
        without_dds.skip_program_that_needs_dds(done.stderr)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_and_make_targets_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        assert "://" in link or link.startswith("mailto:") or (path.parent / link).exists(), f"{path.name}: {link}"
    for target in re.findall(r"(?:^|`)make ([a-z-]+)", text, re.MULTILINE):
        assert target in TARGETS, f"{path.name}: make {target}"


def test_the_guide_to_ros_names_every_key_and_launch_file() -> None:
    text = (ROOT / "docs/ros.md").read_text(encoding="utf-8")
    keys = {field.name for field in fields(RosParams)} - {"rates"} | {f"rates.{key.name}" for key in fields(RateParams)}
    keys |= {*get_args(Group), *(path.name for path in ROOT.glob("launch/*.launch.py"))}
    assert [key for key in sorted(keys) if f"`{key}`" not in text] == []


def test_every_bundled_model_and_sensor_is_in_the_documents() -> None:
    models = (ROOT / "docs/models.md").read_text(encoding="utf-8")
    assert [path.stem for path in ROOT.glob("urdf/*.urdf") if f"`{path.stem}`" not in models] == []
    sensors = (ROOT / "docs/sensors.md").read_text(encoding="utf-8")
    # Tests register kinds too.
    kinds = [kind for kind in fleet_sim.list_sensors() if SENSORS[kind].__module__.startswith("fleet_sim.")]
    assert "lidar" in kinds
    assert [kind for kind in kinds if f"| `{kind}` |" not in sensors] == []


def test_every_public_name_is_in_the_list_of_names_and_no_other() -> None:
    text = (ROOT / "docs/names.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)) == sorted(fleet_sim.__all__)


def test_the_index_of_documents_names_each_page_once() -> None:
    links = re.findall(r"\]\(([\w./]+)\)", (ROOT / "docs/README.md").read_text(encoding="utf-8"))
    pages = sorted(path.name for path in ROOT.glob("docs/*.md") if path.name != "README.md")
    assert sorted(link for link in links if not link.startswith(("..", "tutorials/"))) == pages
    tutorials = sorted(path.name for path in ROOT.glob("docs/tutorials/*.md"))
    assert sorted(link.removeprefix("tutorials/") for link in links if link.startswith("tutorials/")) == tutorials


def test_the_site_lists_each_page_once() -> None:
    listed = re.findall(r"[\w/]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:")[1])
    pages = sorted(str(path.relative_to(ROOT / "docs")) for path in ROOT.glob("docs/**/*.md"))
    assert sorted(page for page in listed if not page.startswith(("project/", "reference/"))) == pages
