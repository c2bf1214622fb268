"""A participant of another DDS vendor, as far as a test needs one: it announces endpoints and sends samples.

It speaks RTPS by hand, over loopback, because a vendor is told by the guid alone, and Cyclone DDS always
writes its own. It says the same again and again, and never listens.
"""

from __future__ import annotations

import os
import socket
import struct
from itertools import count
from threading import Event, Thread

FAST_DDS = b"\x01\x0f"
_PARTICIPANT_WRITER, _PUBLICATION_WRITER, _SUBSCRIPTION_WRITER = b"\0\1\0\xc2", b"\0\0\3\xc2", b"\0\0\4\xc2"
_PARTICIPANT = b"\0\0\1\xc1"
_ANNOUNCES_AND_DETECTS = 0x3F
_LEASE_S, _REPEAT_S = 3, 0.05
# As many processes as a test has at most.
_INDICES = range(8)


class RtpsPeer:
    """Announces itself until it is closed. Safe from one thread."""

    def __init__(self, domain: int, vendor: bytes = FAST_DDS) -> None:
        self._vendor = vendor
        self._prefix = vendor + os.urandom(10)
        base = 7400 + 250 * domain
        self._meta = [("127.0.0.1", base + 10 + 2 * i) for i in _INDICES]
        self._data = [("127.0.0.1", base + 11 + 2 * i) for i in _INDICES]
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self._numbers, self._beats = count(0x10), count(1)
        self._announced: dict[bytes, list[bytes]] = {_PUBLICATION_WRITER: [], _SUBSCRIPTION_WRITER: []}
        self._samples: list[tuple[bytes, bytes]] = []
        self._closed = Event()
        self._thread = Thread(target=self._repeat, daemon=True)
        self._thread.start()

    @property
    def guid(self) -> bytes:
        """Its own."""
        return self._prefix + _PARTICIPANT

    def writer(self, topic: str, type_name: str, *, transient_local: bool = False) -> bytes:
        """Announce a writer; its guid."""
        return self._endpoint(_PUBLICATION_WRITER, b"\3", topic, type_name, transient_local)

    def reader(self, topic: str, type_name: str) -> bytes:
        """Announce a reader; its guid."""
        return self._endpoint(_SUBSCRIPTION_WRITER, b"\4", topic, type_name, False)

    def write(self, writer: bytes, data: bytes) -> None:
        """Send a sample, CDR with its header, over and over as a new one."""
        self._samples.append((writer[12:], data))

    def close(self) -> None:
        """Fall silent; the others forget it after its lease."""
        self._closed.set()
        self._thread.join()
        self._socket.close()

    def _endpoint(self, announcer: bytes, kind: bytes, topic: str, type_name: str, kept: bool) -> bytes:
        guid = self._prefix + next(self._numbers).to_bytes(3, "big") + kind
        fields = [
            (0x5A, guid),
            (0x05, _text(topic)),
            (0x07, _text(type_name)),
            (0x1D, struct.pack("<I", int(kept))),
            (0x1A, struct.pack("<III", 2, 0, 0)),
        ]
        self._announced[announcer].append(self._list([*fields, *self._versions()]))
        return guid

    def _versions(self) -> list[tuple[int, bytes]]:
        return [(0x15, b"\2\3\0\0"), (0x16, self._vendor + b"\0\0")]

    def _repeat(self) -> None:
        while not self._closed.wait(_REPEAT_S):
            self._send(self._meta, self._sample(_PARTICIPANT_WRITER, 1, self._participant()))
            for announcer, endpoints in self._announced.items():
                self._send(self._meta, self._heartbeat(announcer, len(endpoints)))
                for number, data in enumerate(list(endpoints), 1):
                    self._send(self._meta, self._sample(announcer, number, data))
            for writer, data in list(self._samples):
                number = next(self._beats)
                self._send(self._data, self._heartbeat(writer, number - 1, first=number))
                self._send(self._data, self._sample(writer, number, data))

    def _participant(self) -> bytes:
        port = self._socket.getsockname()[1]
        locator = struct.pack("<iI", 1, port) + bytes(12) + socket.inet_aton("127.0.0.1")
        fields = [
            (0x50, self.guid),
            (0x32, locator),
            (0x31, locator),
            (0x58, struct.pack("<I", _ANNOUNCES_AND_DETECTS)),
            (0x02, struct.pack("<iI", _LEASE_S, 0)),
        ]
        return self._list([*self._versions(), *fields])

    @staticmethod
    def _list(fields: list[tuple[int, bytes]]) -> bytes:
        """Parameters as CDR."""
        data = b"\0\3\0\0"
        for number, value in [*fields, (1, b"")]:
            padded = value.ljust(len(value) + 3 & ~3, b"\0")
            data += struct.pack("<HH", number, len(padded)) + padded
        return data

    def _sample(self, writer: bytes, number: int, data: bytes) -> bytes:
        body = struct.pack("<HH", 0, 16) + bytes(4) + writer + struct.pack("<iI", 0, number) + data
        return struct.pack("<BBH", 0x15, 0b101, len(body)) + body

    def _heartbeat(self, writer: bytes, last: int, first: int = 1) -> bytes:
        body = bytes(4) + writer + struct.pack("<iIiIi", 0, first, 0, last, next(self._beats))
        return struct.pack("<BBH", 0x07, 0b11, len(body)) + body

    def _send(self, addresses: list[tuple[str, int]], submessage: bytes) -> None:
        message = b"RTPS\2\3" + self._vendor + self._prefix + submessage
        for address in addresses:
            self._socket.sendto(message, address)


def _text(text: str) -> bytes:
    encoded = text.encode() + b"\0"
    return struct.pack("<I", len(encoded)) + encoded
