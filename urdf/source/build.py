"""Write the URDF files of this folder's parent, or with --check only say which would change."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import panda
import things

import robots

FOLDER = Path(__file__).resolve().parents[1]
MODELS = (
    robots.diff_base, robots.omni_base, robots.car, robots.arm6, robots.rail_arm, robots.mobile_manipulator,
    panda.panda,
    things.pallet, things.shelf, things.station, things.carton, things.cube, things.small_bin,
)  # fmt: skip


def main() -> int:
    """Return 1 where --check finds a file that differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing")
    check, stale = parser.parse_args().check, []
    for make in MODELS:
        robot = make()
        path = FOLDER / f"{robot.name}.urdf"
        if not path.is_file() or path.read_text(encoding="utf-8") != str(robot):
            stale.append(path.name)
            if not check:
                path.write_text(str(robot), encoding="utf-8")
    print(*stale, sep="\n")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
