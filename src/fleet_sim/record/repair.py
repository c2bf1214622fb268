"""Makes a recording that was cut off whole again."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from fleet_sim.errors import InvalidValueError
from fleet_sim.output import as_path, check_target, part_of
from fleet_sim.paths import is_file
from fleet_sim.record.mcap_file import McapFile
from fleet_sim.record.mcap_index import McapIndex

CHUNK_TIME = 1_000_000_000
"""In ns of simulated time, of a chunk."""


def repair(source: str | Path, target: str | Path) -> int:
    """Write all that can be read of the recording `source` to `target`; return the number of messages.

    `source` stays as it is. Raises InvalidValueError for what is no MCAP file, and where `target` cannot be
    written, or is `source`.
    """
    source, target = as_path(source), as_path(target)
    if target.suffix.lower() != ".mcap":
        raise InvalidValueError(f"{target}: recordings are written to files that end in .mcap")
    check_target(target)
    with contextlib.closing(McapIndex(source)) as index:
        if is_file(target) and os.path.samefile(source, target):
            raise InvalidValueError(f"{target}: it is the file that is read; give the new recording another name")
        # Not beside it, where the unfinished recording is in the way, or what a killed repair has left.
        file = McapFile(target, part=part_of(target))
        try:
            _copy(index, file)
            file.finish()
        except BaseException:
            file.abandon()
            file.part.unlink(missing_ok=True)
            raise
        return index.message_count


def _copy(index: McapIndex, file: McapFile) -> None:
    """Write to `file` what `index` has found."""
    for name, data in index.attachments.items():
        file.attach(name, "application/json", data)
    for name, values in index.metadata.items():
        file.describe(name, values)
    begin = 0
    for topic, place in index.messages():
        if place.time - begin > CHUNK_TIME:
            file.flush()
            begin = place.time
        text = index.definition_of(topic.kind)
        channel = file.copied_channel(topic.name, topic.kind, text, topic.metadata)
        file.write(channel, place.time, index.message(place))
