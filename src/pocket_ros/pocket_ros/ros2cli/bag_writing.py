"""Writers of recordings, for `ros2 bag record` and `ros2 bag convert`."""

from __future__ import annotations

from pathlib import Path

from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer

STORAGES = {"mcap": StoragePlugin.MCAP, "sqlite3": StoragePlugin.SQLITE3}


def open_writer(path: Path, storage: str, compression_mode: str) -> Writer:
    """The writer of a new recording, compressed with zstd unless the mode is none or empty."""
    writer = Writer(path, version=9, storage_plugin=STORAGES[storage])
    if compression_mode not in ("", "none"):
        writer.set_compression(CompressionMode[compression_mode.upper()], CompressionFormat.ZSTD)
    return writer


def already_exists(path: Path) -> str:
    """The error of a recording that would replace something."""
    return f"[ERROR] [ros2bag]: Output folder '{path}' already exists."
