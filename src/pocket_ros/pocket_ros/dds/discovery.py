"""What discovery knows of the domain: every writer and reader of every participant.

Nothing is read before the first question, so programs that never ask pay nothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from threading import Lock
from typing import Any

from .endpoints import EndpointQos, read_qos, read_user_data
from .library import check, clayer, lib
from .participant import Participant

_PARTICIPANTS, _PUBLICATIONS, _SUBSCRIPTIONS = 0x7FFF0001, 0x7FFF0003, 0x7FFF0004
_BATCH = 256
_ALIVE = 16


@dataclass(frozen=True)
class Endpoint:
    """A writer or reader as discovery announced it."""

    guid: bytes
    participant: bytes
    topic: str
    type_name: str
    qos: EndpointQos
    user_data: bytes


class Discovery:
    """The endpoints and participants of the domain, this process's own included."""

    def __init__(self, participant: Participant) -> None:
        self._participant = participant
        self._lock = Lock()
        self._readers: dict[int, int] = {}
        self._endpoints: dict[int, dict[bytes, Endpoint]] = {_PUBLICATIONS: {}, _SUBSCRIPTIONS: {}}
        self._participants: dict[bytes, bytes] = {}
        self._censuses: dict[int, _Census] = {}

    def writers(self) -> list[Endpoint]:
        """All writers."""
        self._participant.settle()
        return self._refresh(_PUBLICATIONS)

    def readers(self) -> list[Endpoint]:
        """All readers."""
        self._participant.settle()
        return self._refresh(_SUBSCRIPTIONS)

    def count_writers(self, topic: str) -> int:
        """How many writers a topic has. However many there are in the domain, this costs next to nothing."""
        return self._census(_PUBLICATIONS).count(topic)

    def count_readers(self, topic: str) -> int:
        """How many readers a topic has, as cheaply."""
        return self._census(_SUBSCRIPTIONS).count(topic)

    def forget_departed(self) -> None:
        """Take what was announced since the last question; to be called now and then.

        A reader keeps what is not taken: of each endpoint that came and went 1.5 kB, as long as nobody asks.
        """
        with self._lock:
            asked, censuses = list(self._readers), list(self._censuses.values())
            for census in censuses:
                census.refresh()
        for topic in asked:
            if topic == _PARTICIPANTS:
                self.participants()
            else:
                self._refresh(topic)

    def participants(self) -> dict[bytes, bytes]:
        """Guid to user data of every participant."""
        with self._lock:
            reader = self._reader(_PARTICIPANTS)
            while True:
                samples = clayer.ddspy_take_participant(reader, _BATCH, _participant, read_user_data)
                for guid, user_data, info in _checked(samples):
                    if info.instance_state == _ALIVE:
                        self._participants[guid] = user_data
                    else:
                        self._participants.pop(guid, None)
                if len(samples) < _BATCH:
                    return dict(self._participants)

    def _refresh(self, topic: int) -> list[Endpoint]:
        with self._lock:
            reader, known = self._reader(topic), self._endpoints[topic]
            while True:
                samples = clayer.ddspy_take_endpoint(reader, _BATCH, _endpoint, _qos)
                for guid, endpoint, info in _checked(samples):
                    if info.instance_state == _ALIVE and endpoint is not None:
                        known[guid] = endpoint
                    else:
                        known.pop(guid, None)
                if len(samples) < _BATCH:
                    return list(known.values())

    def _census(self, topic: int) -> _Census:
        self._participant.settle()
        with self._lock:
            if topic not in self._censuses:
                self._censuses[topic] = _Census(self._create_reader(topic))
            self._censuses[topic].refresh()
            return self._censuses[topic]

    def _reader(self, topic: int) -> int:
        if topic not in self._readers:
            self._readers[topic] = self._create_reader(topic)
        return self._readers[topic]

    def _create_reader(self, topic: int) -> int:
        created = lib.dds_create_reader(self._participant.handle, topic, None, None)
        return check(created, "a reader of the discovered endpoints")


class _Census:
    """Counts endpoints by topic, without reading their policies, which is what takes time."""

    def __init__(self, reader: int) -> None:
        self._reader = reader
        self._topics: dict[bytes, str] = {}
        self._counts: Counter[str] = Counter()

    def refresh(self) -> None:
        """Hear of the endpoints that came and went."""
        while True:
            samples = clayer.ddspy_take_endpoint(self._reader, _BATCH, _topic_of, _no_qos)
            for guid, topic, info in _checked(samples):
                known = self._topics.pop(guid, None)
                if known is not None:
                    self._counts[known] -= 1
                if info.instance_state == _ALIVE and topic is not None:
                    self._topics[guid] = topic
                    self._counts[topic] += 1
            if len(samples) < _BATCH:
                return

    def count(self, topic: str) -> int:
        """How many endpoints a topic had at the last refresh."""
        return self._counts[topic]


def _checked(samples: Any) -> Any:
    if isinstance(samples, int):
        check(samples, "to read discovered endpoints")
    return samples


def _no_qos(native: int) -> None:
    return None


def _topic_of(
    guid: bytes, participant: bytes, instance: int, topic: str | None, type_name: str | None, *rest: Any
) -> tuple[bytes, str | None, Any]:
    return guid, topic, rest[1]


def _qos(native: int) -> tuple[EndpointQos, bytes] | None:
    return read_qos(native) if native else None


def _participant(guid: bytes, user_data: bytes, info: Any) -> tuple[bytes, bytes, Any]:
    return guid, user_data, info


def _endpoint(
    guid: bytes,
    participant: bytes,
    participant_instance: int,
    topic: str | None,
    type_name: str | None,
    qos: tuple[EndpointQos, bytes] | None,
    info: Any,
    type_id: bytes | None,
) -> tuple[bytes, Endpoint | None, Any]:
    if topic is None or type_name is None or qos is None:
        return guid, None, info
    return guid, Endpoint(guid, participant, topic, type_name, *qos), info
