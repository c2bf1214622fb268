"""OwnBroker: a small MQTT broker in this process, for runs without another one."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

from fleet_sim.base.errors import StateError, of_extra

with of_extra("amqtt", "vda5050", "a broker of its own"):
    from amqtt.broker import Broker

START_TIMEOUT = 20.0
CLOSE_TIMEOUT = 5.0
LOOK = 0.05
"""How often a broker that ends closes the connections that there are, in s."""


class _Broker(Broker):  # type: ignore[misc]
    """Knows its connections: it closes those of clients that said CONNECT only."""

    def __init__(self, config: dict[str, object]) -> None:
        super().__init__(config)
        self._serving: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def stream_connected(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, listener_name: str
    ) -> None:
        """Serve a client until it or the broker closes the connection."""
        task = asyncio.current_task()
        assert task is not None
        self._serving[task] = writer
        try:
            await super().stream_connected(reader, writer, listener_name)
        finally:
            writer.close()
            del self._serving[task]

    async def _publish_retained_messages_for_subscription(self, subscription: tuple[str, int], session: Any) -> None:
        """Send retained messages to a client that has subscribed to them.

        amqtt 0.12 sends each new client those of the subscriptions of all others, too.
        """
        if any(subscriber is session for subscriber, _ in self._subscriptions.get(subscription[0], ())):
            await super()._publish_retained_messages_for_subscription(subscription, session)

    async def disconnect(self) -> None:
        """Close all connections, and wait until nobody is served any more."""
        for writer in self._serving.values():
            writer.close()
        if self._serving:
            await asyncio.wait(list(self._serving), timeout=CLOSE_TIMEOUT)


class OwnBroker:
    """Listens on `host` until `close`; everybody on that address may connect. For a fleet, use a real broker."""

    def __init__(self, port: int = 1883, host: str = "127.0.0.1") -> None:
        """Raises StateError where the port is taken."""
        self.port, self.host = port, host
        self._loop = asyncio.new_event_loop()
        self._error: BaseException | None = None
        self._ready = threading.Event()
        # It logs each packet, and the exception of each client that goes without a word.
        logging.getLogger("amqtt").setLevel(logging.CRITICAL)
        logging.getLogger("transitions").setLevel(logging.WARNING)
        self._thread = threading.Thread(target=self._run, name="mqtt broker", daemon=True)
        self._thread.start()
        self._ready.wait(START_TIMEOUT)
        if self._error is not None:
            raise StateError(f"there can be no broker at {host}:{port}: {self._error}") from self._error

    def close(self) -> None:
        """Disconnect everybody."""
        if self._loop.is_running():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(timeout=10.0)

    def _run(self) -> None:
        """Run the broker in this thread until it is stopped; what it raises is kept for whoever waits for it."""
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        except Exception as error:  # of another package: told to whoever asked for the broker
            self._error = error
        finally:
            self._ready.set()
            self._loop.close()

    async def _serve(self) -> None:
        """Serve until asked to stop, then end all connections, also those that come meanwhile.

        Raises TimeoutError if they have not ended after CLOSE_TIMEOUT s.
        """
        self._stop = asyncio.Event()
        broker = _Broker(
            {
                "listeners": {"default": {"type": "tcp", "bind": f"{self.host}:{self.port}"}},
                "plugins": {"amqtt.plugins.authentication.AnonymousAuthPlugin": {"allow_anonymous": True}},
            }
        )
        await broker.start()
        self._ready.set()
        await self._stop.wait()
        ending = asyncio.ensure_future(broker.shutdown())
        while not ending.done():
            # From Python 3.12 on, a server that is closed waits for its connections; some may come until then.
            await broker.disconnect()
            await asyncio.wait([ending], timeout=LOOK)
        await ending
        await broker.disconnect()
        # What serves clients that are still there ends with them, and a loop must not end before.
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.wait_for(asyncio.gather(*others, return_exceptions=True), CLOSE_TIMEOUT)
