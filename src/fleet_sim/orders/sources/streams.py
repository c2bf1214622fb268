"""ArrivalStreams: all random streams of orders of one simulation, each waiting for its next one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from fleet_sim.core.world import World
from fleet_sim.errors import ConfigError, FleetSimError, InvalidValueError, UnknownNameError
from fleet_sim.orders.order import Order
from fleet_sim.orders.places import OrderPlaces
from fleet_sim.orders.sources.arrivals import Arrivals, ArrivalSettings
from fleet_sim.orders.timers import Timers

log = logging.getLogger(__name__)

ARRIVED = "arrived"


class ArrivalStreams:
    """Submits each order when it comes. One that is refused is counted only: nobody waits for an answer."""

    def __init__(self, world: World, timers: Timers, submit: Callable[[Order], str]) -> None:
        self._world, self._timers, self._submit = world, timers, submit
        self._streams: list[Arrivals] = []
        self._warned = False

    def begin(self, settings: Sequence[ArrivalSettings], places: OrderPlaces, skus: Sequence[str]) -> None:
        """Let orders come as set, of items among `skus`; raises ConfigError naming the stream."""
        for index, own in enumerate(settings):
            try:
                key = self._world.random.key(f"orders {index}")
                self._streams.append(Arrivals(own, places, key, skus))
            except (UnknownNameError, InvalidValueError) as error:
                raise ConfigError(str(error), path=f"arrivals[{index}]") from error
            self._expect(index)

    def _expect(self, stream: int) -> None:
        time = self._streams[stream].next_time()
        if time is not None:
            self._timers.add(self._world.clock.ticks(time), ARRIVED, stream)

    def arrive(self, stream: int) -> None:
        """Submit the order of a stream that comes now, and wait for the next."""
        arrivals, clock = self._streams[stream], self._world.clock
        self._take(arrivals.order())
        # All that come within a step come in it: busy streams would lag behind their rate.
        while (time := arrivals.next_time()) is not None:
            if (tick := clock.ticks(time)) > clock.tick:
                self._timers.add(tick, ARRIVED, stream)
                break
            self._take(arrivals.order())

    def _take(self, order: Order) -> None:
        try:
            self._submit(order)
        except FleetSimError as error:
            # The next ones may be possible.
            if not self._warned:
                log.warning("an order was refused: %s; further ones are counted only", error)
            self._warned = True

    def save(self) -> Any:
        """Return the state, for a checkpoint."""
        return [stream.save() for stream in self._streams]

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned."""
        for stream, state in zip(self._streams, saved, strict=True):
            stream.restore(state)
