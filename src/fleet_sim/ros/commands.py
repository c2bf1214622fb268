"""CommandGateway: the way from topics, services and actions into the simulation."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future as ConcurrentFuture
from typing import Any

from rclpy.task import Future

from fleet_sim.core.commands import Call, Command, CommandAck
from fleet_sim.ros.mailbox import Mailbox

Answer = ConcurrentFuture[CommandAck]


class CommandGateway:
    """Puts work in the simulation's inbox, from any thread. It is done in phase 1 of the next step."""

    def __init__(self, sim: Any, mailbox: Mailbox) -> None:
        self._sim = sim
        self._mailbox = mailbox

    def call(self, function: Callable[[Any], object]) -> Answer:
        """Have `function(sim)` called; the acknowledgement's `value` is what it returns."""
        return self._sim.inbox.put(Call(function=function, source="ros"))

    def dispatch(self, make: Callable[[], Command]) -> Answer:
        """Apply the command `make()` returns; it is made where the state of the world may be read."""
        return self.call(lambda sim: sim.dispatcher.dispatch(make()))

    async def wait(self, answer: Answer) -> Any:
        """Return what came of `answer`, or raise what it raised; to be awaited in the executor."""
        done: Future = Future()
        answer.add_done_callback(lambda _: self._mailbox.post(lambda: done.set_result(None)))
        await done
        return answer.result().value

    async def between_steps(self, function: Callable[[Any], object]) -> Any:
        """Return `function(sim)`, called while no step is being made; to be awaited in the executor.

        A running simulation is held for that time.
        """
        sim = self._sim
        running = not sim.is_paused
        if running:
            sim.pause()
        try:
            # The step that was running when we paused may be the one that takes the call.
            while not (done := await self.wait(self.call(lambda sim: _outside_step(sim, function)))):
                pass
        finally:
            if running:
                sim.resume()
        return done[0]


def _outside_step(sim: Any, function: Callable[[Any], object]) -> tuple[object] | None:
    return None if sim.world.in_step else (function(sim),)
