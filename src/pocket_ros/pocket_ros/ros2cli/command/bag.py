"""`ros2 bag`: recordings in MCAP, or in SQLite; each verb has a module of its own, such as `bag_record`."""

from __future__ import annotations

import argparse

from ..verbs import add_verbs

# The only user of rosbags, which is an extra: whoever runs nodes needs none of it.
try:
    from . import bag_convert, bag_info, bag_play, bag_record, bag_reindex
except ModuleNotFoundError as error:
    if error.name is None or error.name.partition(".")[0] != "rosbags":
        raise
    raise RuntimeError(
        "'ros2 bag' needs rosbags, which is not installed; run: pip install 'pocket_ros[bag]'"
    ) from error


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs of `ros2 bag`."""
    verbs = add_verbs(parser)
    bag_convert.add_convert(verbs)
    bag_info.add_info(verbs)
    bag_play.add_play(verbs)
    bag_record.add_record(verbs)
    bag_reindex.add_reindex(verbs)
