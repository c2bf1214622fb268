"""The target of the live view: bytes on the websocket of a page, while a simulation runs."""

from __future__ import annotations

import logging
import sys
import weakref
from pathlib import Path
from random import Random
from threading import Thread
from typing import Any

from fuzz_files import words_of
from fuzz_mutator import LARGEST
from fuzz_schema import Canaries, expanded, watch_files, worst_of
from fuzz_target import Target

SUPPORT = Path(__file__).parents[1] / "support"
CONTROL = b"CONTROL" + 29 * b"-"
"""Stands in a seed for a control of the page, whose name is as long, and another in each view."""
OFTEN = 20
"""After so many inputs the others are looked at."""
FRAMES = 2


class LivePage:
    """A simulation that runs, its view, a page that is fed, and one that looks on."""

    def __init__(self) -> None:
        from page_client import PageClient

        from fleet_sim import MultiRobotSimulationCore

        shape = {"shape_type": "box", "half_extents": [0.3, 0.3, 0.15]}
        robots = [{"name": f"robot_{i}", "pose": [1.0 * i, 0.0, 0.15], "shape": shape} for i in range(3)]
        self.sim = MultiRobotSimulationCore.from_dict({"simulation": {"gui": False}, "robots": robots})
        self.view = self.sim.view.show(port=0)
        thread = Thread(target=self.sim.run_simulation, daemon=True)
        thread.start()
        self._open = lambda: PageClient(self.view.url)
        self.witness, self._page = self._open(), self._open()
        self.witness.read_until(lambda: "Stop" in self.witness.controls)
        self._page.read_until(lambda: "Stop" in self._page.controls)
        self.faults: list[str] = []
        self._fed = 0
        self._listen()
        weakref.finalize(self, _end, self.sim, thread)

    def _listen(self) -> None:
        faults = self.faults

        class Listener(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                faults.append(self.format(record)[-3000:])

        # Whoever feeds inputs has switched off all logging.
        logging.disable(logging.NOTSET)
        for name in ("fleet_sim", "asyncio", "websockets"):
            log = logging.getLogger(name)
            log.propagate = False
            log.addHandler(Listener(logging.ERROR))

    def feed(self, data: bytes) -> None:
        """Say `data` as a page; raise AssertionError where the others do not go on."""
        from websockets.exceptions import ConnectionClosed

        own = self._page.controls
        names = [own[label]["uuid"] for label in sorted(own)]
        try:
            self._page.send(data.replace(CONTROL, str(names[self._fed % len(names)]).encode()))
            self._page.read_what_is_there()
        except ConnectionClosed:
            self._page = self._open()
            self._page.read_until(lambda: "Stop" in self._page.controls)
        self._fed += 1
        if self._fed % OFTEN == 0:
            self._look_on()
        assert not self.faults, self.faults[0]

    def _look_on(self) -> None:
        # Slowed down or paused, it has nothing new to show.
        self.sim.params.target_rtf = 1.0
        self.sim.resume()
        seen, steps = self.witness.updates, self.sim.step_count
        # It may have been paused again, and a reset counts from zero.
        goes_on = lambda: self.sim.step_count != steps or self.sim.is_paused  # noqa: E731
        self.witness.read_until(lambda: self.witness.updates >= seen + FRAMES and goes_on())


def _end(sim: Any, thread: Thread) -> None:
    sim.stop()
    thread.join(15.0)
    sim.close()


def messages(control: str) -> list[dict[str, Any]]:
    """Return one of each message that a page sends; `control` is the one that is used."""
    from page_client import CAMERA, click

    drag = {"name": "/own/gizmo", "owner": ""}
    pose = {"wxyz": [1.0, 0.0, 0.0, 0.0], "position": [1.0, 0.0, 0.0]}
    return [
        CAMERA,
        click(0.0, 0.0),
        {**click(2.0, 1.0), "modifier": "shift"},
        {"type": "GuiUpdateMessage", "uuid": control, "updates": {"value": True}},
        {"type": "GuiUpdateMessage", "uuid": control, "updates": {"value": "state"}},
        {"type": "GuiUpdateMessage", "uuid": control, "updates": {"value": 0.5}},
        {"type": "TransformControlsUpdateMessage", **drag, **pose},
        {"type": "TransformControlsDragStartMessage", **drag},
        {"type": "TransformControlsDragEndMessage", **drag},
        {"type": "CommandTriggerMessage", "uuid": control},
        {"type": "FileTransferStartUpload", "source_component_uuid": control, "part_count": 2, "size_bytes": 9},
    ]


def pages_target() -> Target:
    """Return the target of what pages say."""
    sys.path.append(str(SUPPORT))
    import msgspec.msgpack

    canaries, noted = Canaries(), list[str]()
    watch_files(canaries.folder, noted.append)
    said = messages(CONTROL.decode())
    seeds = [msgspec.msgpack.encode(message) for message in said]
    page: list[LivePage] = []

    def feed(data: bytes) -> None:
        if not page:
            page.append(LivePage())
        page[0].feed(data)
        canaries.check(noted, "")
        canaries.check_unchanged()
        noted.clear()

    def other(data: bytes, random: Random) -> bytes:
        """Change a value of a message and leave the rest as it is, so that more of it is read."""
        message = expanded(worst_of(random.choice(said), random), str(canaries.folder))
        try:
            made = msgspec.msgpack.encode(message)
        except OverflowError:
            # No MessagePack has such a number.
            return data
        return made if len(made) < LARGEST else data

    return Target(feed, seeds, words_of(seeds), mutate=other, seconds=40.0)
