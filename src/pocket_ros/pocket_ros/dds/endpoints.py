"""Writers and readers of raw CDR."""

from __future__ import annotations

import ctypes as ct
from collections.abc import Callable
from typing import Any, NamedTuple

from .library import ANY_STATE, RETCODE_TIMEOUT, DDSError, check, clayer, lib, take, write
from .qos import read_user_data


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
