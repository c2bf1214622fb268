"""Make robots.png: the bundled robots and things, five in a row."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fleet_sim.cli.models import picture_of
from fleet_sim.images import write_png

MODELS = (
    "diff_base",
    "omni_base",
    "arm6",
    "rail_arm",
    "mobile_manipulator",
    "pallet",
    "shelf",
    "station",
    "box",
    "cube",
)
COLUMNS, WIDTH, HEIGHT = 5, 240, 200


def main() -> None:
    """Write the picture beside this file."""
    tiles = [picture_of(model, WIDTH, HEIGHT) for model in MODELS]
    rows = [np.concatenate(tiles[at : at + COLUMNS], axis=1) for at in range(0, len(tiles), COLUMNS)]
    write_png(Path(__file__).with_suffix(".png"), np.concatenate(rows, axis=0))


if __name__ == "__main__":
    main()
