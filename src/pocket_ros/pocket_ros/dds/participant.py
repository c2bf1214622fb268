"""The DDS participant of a context: its topics and what hangs off it."""

from __future__ import annotations

import ctypes as ct
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import RLock

from . import domain
from .deleter import Deleter
from .endpoints import Reader, Writer
from .library import check, lib
from .opaque import OpaqueType
from .qos import EndpointQos, native_qos

_DELETERS = 16


class Participant:
    """A participant in a domain. Everything created from it ends with `close`.

    Creation and deletion are safe from any thread.
    """

    def __init__(self, domain_id: int, user_data: bytes) -> None:
        self.domain_id = domain_id
        self._lock = RLock()
        self._types: dict[str, OpaqueType] = {}
        self._topics: dict[tuple[str, str], list[int]] = {}
        domain.acquire(domain_id)
        native = lib.dds_create_qos()
        lib.dds_qset_userdata(native, user_data, len(user_data))
        try:
            self.handle = check(
                lib.dds_create_participant(domain_id, native, None), f"a participant in domain {domain_id}"
            )
        except BaseException:
            domain.release(domain_id)
            raise
        finally:
            lib.dds_delete_qos(native)
        self.guid = guid_of(self.handle)
        self._closed = False
        self._endpoints: set[int] = set()
        self._deleter = Deleter()

    def create_writer(self, topic: str, type_name: str, qos: EndpointQos, user_data: bytes) -> Writer:
        """A writer of raw CDR. Raises DDSError for policies Cyclone refuses."""
        create = lib.dds_create_writer
        return Writer(*self._endpoint(create, topic, type_name, qos, user_data, True))

    def create_reader(self, topic: str, type_name: str, qos: EndpointQos, user_data: bytes) -> Reader:
        """A reader of raw CDR. Raises DDSError for policies Cyclone refuses."""
        create = lib.dds_create_reader
        return Reader(*self._endpoint(create, topic, type_name, qos, user_data, False))

    def close(self) -> None:
        """Delete the participant with all its endpoints; doing so twice changes nothing."""
        self._deleter.close()
        with self._lock:
            if self._closed:
                return
            self._closed = True
            if self._delete_endpoints():
                # Topics made without the description end without it, the first of each type with it.
                for entity, _ in self._topics.values():
                    lib.dds_delete(entity)
                for kind in self._types.values():
                    kind.restore_description()
            lib.dds_delete(self.handle)
            self._types.clear()
            self._topics.clear()
        domain.release(self.domain_id)

    def _delete_endpoints(self) -> bool:
        """Delete all endpoints, many at once; False where no threads can be started, and nothing was deleted.

        Deleting one is waiting for Cyclone's own threads; many at once wait together, ten times as fast. An
        interpreter that is ending starts no threads: there everything goes with the participant, and the
        types stay as they are, for Cyclone crashes when descriptions come back before the endpoints go.
        """
        endpoints = list(self._endpoints)
        with suppress(RuntimeError), ThreadPoolExecutor(_DELETERS) as pool:
            list(pool.map(_delete_all, (endpoints[index::_DELETERS] for index in range(_DELETERS))))
            return True
        return False

    def settle(self) -> None:
        """Wait until the endpoints that were closed are gone; to be called before looking at who is there."""
        self._deleter.settle()

    def _endpoint(
        self,
        create: Callable[..., int],
        topic: str,
        type_name: str,
        qos: EndpointQos,
        user_data: bytes,
        writer: bool,
    ) -> tuple[int, Callable[[], None], Callable[[], None]]:
        with self._lock:
            key = (topic, type_name)
            entity = self._acquire_topic(key)
            with native_qos(qos, user_data, writer) as native:
                result = create(self.handle, entity, native, None)
            if result < 0:
                self._release_topic(key)
            check(result, f"a {'writer' if writer else 'reader'} of '{topic}' ({type_name}, {qos})")
            self._endpoints.add(result)
            return result, lambda: self._delete(result, key), self._deleter.settle

    def _acquire_topic(self, key: tuple[str, str]) -> int:
        entry = self._topics.get(key)
        if entry is None:
            topic, type_name = key
            kind = self._types.get(type_name)
            if kind is None:
                kind = self._types[type_name] = OpaqueType(self.handle, type_name, topic)
            entry = self._topics[key] = [kind.create_topic(topic), 0]
        entry[1] += 1
        return entry[0]

    def _delete(self, endpoint: int, key: tuple[str, str]) -> None:
        def delete() -> None:
            lib.dds_delete(endpoint)
            self._release_topic(key)

        with self._lock:
            if endpoint not in self._endpoints:
                return  # it went with the participant
            self._endpoints.discard(endpoint)
        self._deleter.delete(delete)

    def _release_topic(self, key: tuple[str, str]) -> None:
        with self._lock:
            entry = self._topics.get(key)
            if entry is None:
                return
            entry[1] -= 1
            if entry[1] == 0:
                del self._topics[key]
                lib.dds_delete(entry[0])


def _delete_all(handles: list[int]) -> None:
    for handle in handles:
        lib.dds_delete(handle)


def guid_of(handle: int) -> bytes:
    """The 16 bytes by which the whole domain knows an entity."""
    guid = (ct.c_uint8 * 16)()
    check(lib.dds_get_guid(handle, guid), "the guid of an entity")
    return bytes(guid)
