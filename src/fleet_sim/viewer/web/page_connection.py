"""PageConnection: the websocket of a page, of which only what pages send is read, and not faster than they send."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

from websockets.asyncio.server import ServerConnection

from fleet_sim.viewer.web.incoming import reason_to_refuse

log = logging.getLogger("fleet_sim.viewer")

MOST_PAGES = 200
"""Connections at the same time, those included that have not said what they want."""
RATE, BURST = 200.0, 400.0
"""Messages per second that are read of a page, and how many at once; a page that is dragged sends 60."""
NOT_ALLOWED = 1008
"""Why such a connection is closed, in words of websockets: policy violation."""


class PageConnection(ServerConnection):
    """Reads messages for viser: one that no page sends ends the connection, and those that come too fast wait."""

    _allowance = BURST
    _counted_at = 0.0

    async def recv(self, decode: bool | None = None) -> Any:
        """Return the next message that pages send. Raises ConnectionClosed as ever."""
        await self._wait_for_allowance()
        message = await super().recv(decode)
        reason = reason_to_refuse(message)
        if reason:
            log.info("a page was cut off: it sent %s", reason)
            await self.close(NOT_ALLOWED, reason)
            # What has come already is thrown away. After it, this raises that the connection is closed.
            while True:
                await super().recv(decode)
        return message

    async def _wait_for_allowance(self) -> None:
        now = time.monotonic()
        self._allowance = min(BURST, self._allowance + (now - self._counted_at) * RATE) - 1.0
        self._counted_at = now
        if self._allowance < 0.0:
            # What is not read fills the connection, and its other end waits.
            await asyncio.sleep(-self._allowance / RATE)
