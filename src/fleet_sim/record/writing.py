"""WriterThread: writes samples to a file, so that the step does not."""

from __future__ import annotations

import logging
from threading import Thread

from fleet_sim.core.ros_names import Frames
from fleet_sim.core.snapshot import EntityBodies
from fleet_sim.errors import FleetSimError
from fleet_sim.record.mcap_file import McapFile
from fleet_sim.record.queue import SampleQueue
from fleet_sim.record.topic import RecordedTopic, Sample
from fleet_sim.record.topics import TOPICS

logger = logging.getLogger(__name__)

PATIENCE = 0.8
"""In s of real time, from a sample to the chunk it is in, unless more come in less time."""


class WriterThread:
    """Turns the samples of a queue into messages, and messages into chunks, until the queue is closed.

    `error` is what ended it before, and `written` the number of samples in the file.
    """

    def __init__(self, file: McapFile, queue: SampleQueue, frames: Frames) -> None:
        self.error: FleetSimError | None = None
        self.written = 0
        self._file, self._queue = file, queue
        self._topics: list[RecordedTopic] = [topic(file, frames) for topic in TOPICS]
        self._bodies: EntityBodies | None = None
        # A run that ends without `close`, by an exception of the user's program, still ends.
        self._thread = Thread(target=self._run, name=f"recording {file.path.name}", daemon=True)
        self._thread.start()

    def finish(self) -> None:
        """Return when all samples are written and the file has its name, or could not be written."""
        self._thread.join()

    def _run(self) -> None:
        try:
            self._write_all()
            self._file.finish()
        except Exception as error:
            # Whatever it is, the run goes on, and who closes the recording is told.
            known = isinstance(error, FleetSimError)
            self.error = error if isinstance(error, FleetSimError) else FleetSimError(f"recording: {error!r}")
            rest = f"; what was written so far is in {self._file.part}" if self._keep() else ""
            logger.error("the recording ends here, the run goes on: %s%s", error, rest, exc_info=not known)
            self._queue.close(forget=True)

    def _keep(self) -> bool:
        try:
            self._file.abandon()
        except FleetSimError:
            return self._file.part.exists()
        return self._file.part.exists()

    def _write_all(self) -> None:
        while not self._queue.is_over:
            samples = self._queue.get(PATIENCE)
            for sample in samples:
                self._write(sample)
            if samples:
                self._file.flush()

    def _write(self, sample: Sample) -> None:
        bodies = sample.snapshot.bodies
        if bodies is not self._bodies:
            self._bodies = bodies
            for topic in self._topics:
                topic.on_bodies_changed(sample)
        for topic in self._topics:
            topic.write(sample)
        self.written += 1
