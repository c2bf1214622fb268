"""`ros2 bag`: recordings in MCAP, or in SQLite; `bag_record`, `bag_info` and `bag_play` hold the verbs."""

from __future__ import annotations

import argparse

from ..verbs import add_verbs
from . import bag_info, bag_play, bag_record


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs of `ros2 bag`."""
    verbs = add_verbs(parser)
    bag_info.add_info(verbs)
    bag_play.add_play(verbs)
    bag_record.add_record(verbs)
