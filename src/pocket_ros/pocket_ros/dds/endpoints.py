"""Writers and readers of raw CDR."""

from __future__ import annotations

import ctypes as ct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from .library import ANY_STATE, INFINITY, RETCODE_TIMEOUT, DDSError, check, clayer, lib, take, write

# The quality-of-service policies of an endpoint, as Cyclone DDS takes and gives them.


BEST_EFFORT, RELIABLE = 0, 1
VOLATILE, TRANSIENT_LOCAL = 0, 1
KEEP_LAST, KEEP_ALL = 0, 1
AUTOMATIC, MANUAL_BY_PARTICIPANT, MANUAL_BY_TOPIC = 0, 1, 2
_XCDR1 = 0
_UNLIMITED = -1
_IGNORE_PARTICIPANT = 1


@dataclass(frozen=True)
class EndpointQos:
    """Policies of a writer or reader; durations are nanoseconds, INFINITY for none."""

    reliability: int = RELIABLE
    durability: int = VOLATILE
    history: int = KEEP_LAST
    depth: int = 10
    deadline: int = INFINITY
    lifespan: int = INFINITY
    liveliness: int = AUTOMATIC
    lease: int = INFINITY
    ignore_own_participant: bool = False


@cache
def _representation() -> ct.Array[ct.c_int16]:
    return (ct.c_int16 * 1)(_XCDR1)


@contextmanager
def native_qos(qos: EndpointQos, user_data: bytes, writer: bool) -> Iterator[int]:
    """A native QoS object for the duration of a block, with the policies rmw_cyclonedds sets."""
    native = lib.dds_create_qos()
    try:
        lib.dds_qset_userdata(native, user_data, len(user_data))
        lib.dds_qset_writer_data_lifecycle(native, False)
        depth = qos.depth if qos.history == KEEP_LAST else _UNLIMITED
        lib.dds_qset_history(native, qos.history, depth)
        lib.dds_qset_reliability(native, qos.reliability, INFINITY if qos.reliability == RELIABLE else 0)
        lib.dds_qset_durability(native, qos.durability)
        if qos.durability == TRANSIENT_LOCAL:
            lib.dds_qset_durability_service(native, 0, qos.history, depth, _UNLIMITED, _UNLIMITED, _UNLIMITED)
        lib.dds_qset_deadline(native, qos.deadline)
        if writer:
            lib.dds_qset_lifespan(native, qos.lifespan)
        lib.dds_qset_liveliness(native, qos.liveliness, qos.lease)
        if qos.ignore_own_participant:
            lib.dds_qset_ignorelocal(native, _IGNORE_PARTICIPANT)
        lib.dds_qset_data_representation(native, 1, _representation())
        yield native
    finally:
        lib.dds_delete_qos(native)


def read_qos(native: int) -> tuple[EndpointQos, bytes]:
    """The policies and the user data of a native QoS object, such as discovery hands out."""
    kind, number, duration = ct.c_int(), ct.c_int32(), ct.c_int64()
    values: dict[str, int] = {}
    if lib.dds_qget_reliability(native, kind, duration):
        values["reliability"] = kind.value
    if lib.dds_qget_durability(native, kind):
        values["durability"] = kind.value
    if lib.dds_qget_history(native, kind, number):
        values["history"], values["depth"] = kind.value, max(number.value, 0)
    if lib.dds_qget_deadline(native, duration):
        values["deadline"] = duration.value
    if lib.dds_qget_lifespan(native, duration):
        values["lifespan"] = duration.value
    if lib.dds_qget_liveliness(native, kind, duration):
        values["liveliness"], values["lease"] = kind.value, duration.value
    return EndpointQos(**values), read_user_data(native)  # type: ignore[arg-type]


def read_user_data(native: int) -> bytes:
    """The user data of a native QoS object; empty where there is none."""
    data, size = ct.c_void_p(), ct.c_size_t()
    if not lib.dds_qget_userdata(native, data, size) or not data.value:
        return b""
    try:
        return ct.string_at(data.value, size.value)
    finally:
        lib.dds_free(data)


class MatchedEndpoint(NamedTuple):
    """The guids of an endpoint and its participant, and its user data."""

    guid: bytes
    participant: bytes
    user_data: bytes


class _Endpoint:
    _matched: Callable[..., int]
    """Cyclone's function that lists the endpoints on the other side."""
    _matched_data: Callable[..., MatchedEndpoint | None]
    """Cyclone's function that describes one of them."""

    def __init__(self, handle: int, delete: Callable[[], None], settle: Callable[[], None]) -> None:
        self.handle = handle
        self._delete = delete
        self._settle = settle
        guid = (ct.c_uint8 * 16)()
        lib.dds_get_guid(handle, guid)
        self.guid = bytes(guid)

    def instance_handle(self) -> int:
        """A number that is this endpoint's alone within the process and, being random, within the domain."""
        value = ct.c_uint64()
        check(lib.dds_get_instance_handle(self.handle, value), "the instance handle of an endpoint")
        return value.value

    def set_status_mask(self, mask: int) -> None:
        """Choose which statuses trigger a wait set that this endpoint is attached to."""
        check(lib.dds_set_status_mask(self.handle, mask), "a status mask")

    def matched_count(self) -> int:
        """How many endpoints on the other side are known: readers of a writer, writers of a reader."""
        self._settle()
        return check(self._matched(self.handle, None, 0), "the matched endpoints")

    def matched_handles(self) -> list[int]:
        """Their instance handles."""
        self._settle()
        count = check(self._matched(self.handle, None, 0), "the matched endpoints")
        # Cyclone refuses to fill an array of none.
        while count:
            handles = (ct.c_uint64 * count)()
            found = check(self._matched(self.handle, handles, count), "the matched endpoints")
            if found <= count:
                return list(handles[:found])
            count = found
        return []

    def matched_data(self, instance: int) -> MatchedEndpoint | None:
        """Who one of them is; None where it has gone."""
        return self._matched_data(self.handle, instance, _matched_endpoint, read_user_data)

    def close(self) -> None:
        """Delete the endpoint. From now on it refuses everything, though it may take a moment to go."""
        self.handle = 0
        self._delete()


class Writer(_Endpoint):
    """Writes samples that are CDR already."""

    _matched = staticmethod(lib.dds_get_matched_subscriptions)
    _matched_data = staticmethod(clayer.ddspy_get_matched_subscription_data)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Write CDR with its encapsulation header. Raises DDSError where Cyclone refuses."""
        if len(data) & 3:
            # The wire carries whole words, and Cyclone reads up to the next one.
            data = bytes(data).ljust(len(data) + 3 & ~3, b"\x00")
        result = write(self.handle, data)
        if result < 0:
            check(result, "to write a sample")

    def wait_for_acks(self, timeout_ns: int) -> bool:
        """Wait until every matched reliable reader has everything; False on timeout."""
        result = lib.dds_wait_for_acks(self.handle, timeout_ns)
        return result != RETCODE_TIMEOUT and check(result, "to wait for acknowledgements") == 0

    def assert_liveliness(self) -> None:
        """Tell matched readers that this writer is alive."""
        check(lib.dds_assert_liveliness(self.handle), "to assert liveliness")


class Reader(_Endpoint):
    """Takes samples as CDR; `condition` is what a wait set waits on."""

    _matched = staticmethod(lib.dds_get_matched_publications)
    _matched_data = staticmethod(clayer.ddspy_get_matched_publication_data)

    def __init__(self, handle: int, delete: Callable[[], None], settle: Callable[[], None]) -> None:
        super().__init__(handle, delete, settle)
        self.condition = check(lib.dds_create_readcondition(handle, ANY_STATE), "a read condition")

    def take(self) -> tuple[bytes, Any] | None:
        """The next sample (CDR and sample info), or None. Notices of departed writers are skipped."""
        while True:
            samples = take(self.handle, ANY_STATE, 1)
            if type(samples) is int:
                raise DDSError(f"Cyclone DDS refused to take a sample: code {samples}")
            if not samples:
                return None
            if samples[0][1].valid_data:
                return samples[0]  # type: ignore[no-any-return]


def _matched_endpoint(
    key: bytes, participant: bytes, instance: int, topic: str, type_name: str, user_data: bytes, *_: Any
) -> MatchedEndpoint:
    return MatchedEndpoint(key, participant, user_data)
