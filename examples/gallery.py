"""Make the pictures of docs/gallery.md: the shipped scenarios at work.

Run: python examples/gallery.py [FOLDER]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from PIL import Image

import fleet_sim as fs
from fleet_sim.base.files import resolve_config
from fleet_sim.base.settings import load_mapping

ROOT = Path(__file__).parents[1]
SIZE = (560, 380)
COLORS = 96
"""So many are enough for floors and robots, and keep the files small."""
SCENARIOS = {
    "demo": 20.0,
    "warehouse": 2.0,
    "sites/warehouse": 60.0,
    "sites/office": 30.0,
    "sites/sortation": 40.0,
    "sensors": 3.0,
    "parking": 22.0,
    "arm": 6.0,
    "bin_picking": 4.0,
}
"""Seconds after which each scenario is drawn."""


def draw(name: str, seconds: float) -> Image.Image:
    """Return the scenario `name` after so many seconds, framed."""
    path = resolve_config(f"{name}.yaml")
    config: dict[str, Any] = dict(load_mapping(path))
    config["simulation"] = {**config.get("simulation", {}), "gui": False, "monitor": False, "target_rtf": 0}
    with fs.MultiRobotSimulationCore.from_dict(config, source=str(path)) as sim:
        sim.run_simulation(duration=seconds)
        return Image.fromarray(sim.draw_picture(*SIZE)).quantize(COLORS)


def main() -> None:
    """Write all pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "docs" / "images")
    folder = parser.parse_args().folder
    for name, seconds in SCENARIOS.items():
        target = folder / f"gallery_{name.replace('/', '_')}.png"
        draw(name, seconds).save(target, optimize=True)
        print(target)


if __name__ == "__main__":
    main()
