"""The sixteen bytes in front of every request and reply, and how the two ends know each other."""

from __future__ import annotations

import struct
from dataclasses import dataclass

_FORMAT = struct.Struct("<Qq")
_GID = struct.Struct("<QQ")
FIELDS_OFFSET = 4 + _FORMAT.size


@dataclass(frozen=True)
class RequestHeader:
    """Who asks (the guid of the client, 64 bits) and which of its requests this is."""

    guid: int
    sequence_number: int
    publication_handle: int = 0
    source_timestamp: int = 0

    @property
    def request_id(self) -> RequestHeader:
        return self

    @property
    def client_gid(self) -> bytes:
        """The client as the service's side knows it, 16 bytes."""
        return _GID.pack(self.guid, self.publication_handle)


def join(header: RequestHeader, data: bytes | bytearray) -> bytes:
    """CDR with the header between encapsulation and fields, padded for the wire."""
    joined = bytes(data[:4]) + _FORMAT.pack(header.guid, header.sequence_number) + bytes(data[4:])
    return joined.ljust(len(joined) + 3 & ~3, b"\x00")


def split(data: bytes) -> RequestHeader:
    """The header of a request or reply. Raises `struct.error` where `data` is too short."""
    order = _FORMAT if data[1] & 1 else struct.Struct(">Qq")
    return RequestHeader(*order.unpack_from(data, 4))


def identity(user_data: bytes, key: str) -> str | None:
    """The value of `serviceid` or `clientid` in the user data of an endpoint."""
    for part in user_data.decode("ascii", "replace").split(";"):
        name, separator, value = part.partition("=")
        if separator and name == key:
            return value.strip()
    return None


def endpoint_id(participant: bytes, number: int) -> bytes:
    """What tells a client or service from all others of the domain, 16 bytes.

    `number` counts the services and clients of a participant.
    """
    return participant[:12] + number.to_bytes(4, "big")


def user_data(type_hash: str, key: str, endpoint: bytes) -> bytes:
    """User data of both ends of a service or client, by its `endpoint_id`."""
    return f"{key}= {'.'.join(f'{byte:x}' for byte in endpoint)};typehash={type_hash};".encode()
