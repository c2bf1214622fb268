"""Waking the tasks that send to pages from the threads that have something to say.

viser sets an event of asyncio from any thread, which walks through all who wait for it while its own loop changes who
does: with many pages that raises now and then, in the middle of a picture. viser asks the loop to set it afterwards,
too, and that is all it needs.
"""

from __future__ import annotations

import asyncio
from typing import Any

import viser


class LoopEvent(asyncio.Event):
    """An event that is set by tasks and callbacks of a loop; by other threads it is not."""

    def set(self) -> None:
        """Wake who waits, if this is the thread of a loop."""
        if _is_in_a_loop():
            super().set()


def _is_in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def wake_in_the_loop(server: viser.ViserServer) -> None:
    """Let threads that say something to the pages of `server` leave the waking to its loop."""
    pages = server._websock_server
    _guard(pages.get_message_buffer())
    pages.on_client_connect(lambda page: _guard(page.get_message_buffer()))


def _guard(buffer: Any) -> None:
    # In place: a page may wait for it already.
    buffer.message_event.__class__ = LoopEvent
