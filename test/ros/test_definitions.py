"""The interface package: its list of files is complete, and every definition can be read."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "src" / "fleet_sim_msgs"
FILES = sorted(
    path.relative_to(ROOT).as_posix() for kind in ("msg", "srv", "action") for path in (ROOT / kind).iterdir()
)


def test_cmake_generates_every_definition() -> None:
    listed = re.findall(r"^  ((?:msg|srv|action)/\S+)$", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"), re.M)
    assert sorted(listed) == FILES


@pytest.mark.parametrize("file", FILES)
def test_a_definition_becomes_a_class(file: str) -> None:
    pytest.importorskip("rclpy")
    kind, name = file.split("/")
    made = getattr(importlib.import_module(f"fleet_sim_msgs.{kind}"), name.split(".")[0])
    assert made.__name__ == name.split(".")[0]
