"""A virtual X server for the tests of windows."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from system_packages import need_commands


@contextmanager
def virtual_display(*options: str) -> Iterator[str]:
    """Start Xvfb on a free display and yield its name; skips the test where the tools are not installed."""
    need_commands("Xvfb", "xdotool")
    read, write = os.pipe()
    server = subprocess.Popen(
        # Without -r a key that a busy machine releases late counts as pressed again and again.
        ["Xvfb", "-displayfd", str(write), "-screen", "0", "640x480x24", "-nolisten", "tcp", "-r", *options],
        pass_fds=[write],
        stderr=subprocess.DEVNULL,
    )
    os.close(write)
    with os.fdopen(read) as answers:
        number = answers.readline().strip()
    assert number, "Xvfb did not start"
    yield f":{number}"
    server.terminate()
    server.wait(30)


def window_environment(display: str) -> dict[str, str]:
    """Return the environment of a program that opens a window on `display` and imports what this one does."""
    # Drawn in software: a virtual display has no graphics card.
    return {**os.environ, "DISPLAY": display, "LIBGL_ALWAYS_SOFTWARE": "1", "PYTHONPATH": os.pathsep.join(sys.path)}


def press_key(key: str, display: str) -> None:
    """Press and release a key in the window on `display`."""
    subprocess.run(["xdotool", "key", key], check=True, env=window_environment(display), stderr=subprocess.DEVNULL)
