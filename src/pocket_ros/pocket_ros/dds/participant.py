"""The DDS participant of a context: its topics and what hangs off it."""

from __future__ import annotations

import ctypes as ct
import struct
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from threading import Lock, RLock
from types import SimpleNamespace

from . import domain
from .endpoints import EndpointQos, Reader, Writer, native_qos
from .library import INFINITY, LIBRARY, check, clayer, lib

# Deleting endpoints, many at once.


_THREADS = 16


class Deleter:
    """Carries deletions out in threads of its own: each is a millisecond of waiting for Cyclone's threads.

    Whoever looks at what deletions change calls `settle` first, so nobody sees that they take their time.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._pending: set[Future[None]] = set()

    def delete(self, work: Callable[[], None]) -> None:
        """Have `work` done soon."""
        try:
            with self._lock:
                if self._pool is None:
                    self._pool = ThreadPoolExecutor(_THREADS, "dds_delete")
                future = self._pool.submit(work)
                self._pending.add(future)
        except RuntimeError:  # an interpreter that is ending starts no threads
            work()
        else:
            future.add_done_callback(self._pending.discard)

    def settle(self) -> None:
        """Wait until everything is deleted."""
        if self._pending:
            with self._lock:
                pending = list(self._pending)
            wait(pending)

    def close(self) -> None:
        """Wait until everything is deleted, and end the threads; a new deletion begins anew."""
        self.settle()
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown()


# Topic types whose content Cyclone DDS does not look into. The Python binding ties a topic to a
# described type, checks every sample against the description and announces it. ROS 2 announces no
# description, and its types are described by their hash in the user data. So all topics here are made
# of one description (a single octet, true of the start of any CDR), under the type name of ROS, and it
# is withheld from discovery: peers then match by type name, as they do with rmw_cyclonedds.


_XCDR1_ONLY = 1
_SEARCHED_BYTES = 256
# Behind the Python type: three flags padded to 8 bytes, then pointer and size of the serialised description.
_DESCRIPTION_OFFSET = 16


DESCRIPTION = (
    bytes.fromhex(
        "6000000001100040280000002400000014000000f1f5de112d140e2e8638d5b052e17800270000000000000004000000"
        "0000000002100040280000002400000014000000f2f9a94a9b6f052ae4a29536844ded00480000000000000004000000"
        "00000000"
    ),
    bytes.fromhex(
        "3b00000001000000f1f5de112d140e2e8638d5b052e1780023000000f151010001000000000000001300000001000000"
        "0b0000000000000001000d8b04d5e3005c00000001000000f2f9a94a9b6f052ae4a29536844ded0044000000f2510100"
        "1b0000000000000013000000706f636b65745f726f733a3a4f706171756500001c000000010000001400000000000000"
        "01000d000600000066697273740000002200000001000000f2f9a94a9b6f052ae4a29536844dedf1f5de112d140e2e86"
        "38d5b052e178"
    ),
)
"""The information and the map of `struct pocket_ros::Opaque {octet first;}`, as XTypes serializes them.

Fixed here, for the part of the Python binding that computes them takes long to import.
"""


class OpaqueType:
    """A type of one participant: a name, and the native type object that its topics share."""

    def __init__(self, participant: int, type_name: str, topic_name: str) -> None:
        # A class of its own: Cyclone compares the types of a domain by it.
        self._shell = type(
            "Opaque",
            (),
            {
                "__idl__": SimpleNamespace(
                    idl_transformed_typename=type_name,
                    data_type_props=0,
                    supported_versions=_XCDR1_ONLY,
                    _xt_bytedata=DESCRIPTION,
                )
            },
        )
        self._participant = participant
        # Stays open as long as the participant: it keeps the native type registered.
        anchor = clayer.ddspy_topic_create(participant, topic_name, self._shell, None, None)
        check(anchor, f"topic '{topic_name}' of type '{type_name}'")
        native = ct.c_void_p()
        check(lib.dds_get_entity_sertype(anchor, native), f"the type of topic '{topic_name}'")
        self._native = native.value
        self._withheld = (0, 0)
        self._withhold_description()

    def create_topic(self, topic_name: str) -> int:
        """A topic entity of this type."""
        lib.ddsi_sertype_ref(self._native)
        native = ct.c_void_p(self._native)
        topic = lib.dds_create_topic_sertype(
            self._participant, topic_name.encode(), ct.byref(native), None, None, None
        )
        return check(topic, f"topic '{topic_name}'")

    def restore_description(self) -> None:
        """Undo the withholding; to be called before the type ends, for Cyclone frees by that size."""
        place, size = self._withheld
        if place:
            ct.memmove(place, struct.pack("<I", size), 4)
            self._withheld = (0, 0)

    def _withhold_description(self) -> None:
        """Set the size of the description in the native type to 0.

        Done only where the memory is laid out as expected, which is verified by what it points to. Otherwise
        the description stays: pocket_ros and ROS 2 peers match all the same, other Cyclone programs may not.
        """
        assert self._native is not None
        memory = ct.string_at(self._native, _SEARCHED_BYTES)
        found = memory.find(id(self._shell).to_bytes(8, "little"))
        if found < 0 or found + _DESCRIPTION_OFFSET + 12 > len(memory):
            return
        pointer, size = struct.unpack_from("<QI", memory, found + _DESCRIPTION_OFFSET)
        expected = DESCRIPTION[0]
        if size == len(expected) and ct.string_at(pointer, size) == expected:
            place = self._native + found + _DESCRIPTION_OFFSET + 8
            ct.memset(place, 0, 4)
            self._withheld = (place, size)


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
        # What Cyclone makes or deletes now. A Ctrl-C may raise between that and our note of it: what was
        # begun then never ends, and is not among the endpoints.
        self._begun = 0
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
            if not self._begun and self._delete_endpoints():
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
        types stay as they are, for Cyclone crashes when descriptions come back before the endpoints go. So
        it is where an endpoint is not known.
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
            self._begun += 1
            key = (topic, type_name)
            try:
                entity = self._acquire_topic(key)
                with native_qos(qos, user_data, writer) as native:
                    result = create(self.handle, entity, native, None)
                if result < 0:
                    self._release_topic(key)
                check(result, f"a {'writer' if writer else 'reader'} of '{topic}' ({type_name}, {qos})")
            except Exception:
                self._begun -= 1
                raise
            self._endpoints.add(result)
            self._begun -= 1
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
            self._begun += 1
            self._endpoints.discard(endpoint)
        self._deleter.delete(delete)
        with self._lock:
            self._begun -= 1

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


# Waiting for data, statuses and triggers.


_MAX_TRIGGERED = 1024


class Guard:
    """A condition that is triggered by a call."""

    def __init__(self, participant: Participant) -> None:
        self.handle = check(lib.dds_create_guardcondition(participant.handle), "a guard condition")

    def trigger(self) -> None:
        """Wake every wait set this guard is attached to. Safe from any thread."""
        lib.dds_set_guardcondition(self.handle, True)

    def reset(self) -> bool:
        """Take the trigger back; whether there was one."""
        triggered = ct.c_bool()
        lib.dds_take_guardcondition(self.handle, triggered)
        return triggered.value

    def close(self) -> None:
        """Delete the guard."""
        lib.dds_delete(self.handle)


class WaitSet:
    """Waits on any number of attached conditions; what a wait costs depends on what is triggered alone.

    They may be of any participant: an executor runs nodes of several contexts.
    """

    def __init__(self, most: int = _MAX_TRIGGERED) -> None:
        self._handle = check(lib.dds_create_waitset(LIBRARY), "a wait set")
        self._triggered = (ct.c_ssize_t * most)()
        self._most = most
        self._wait = lib.dds_waitset_wait

    def attach(self, handle: int, key: int) -> None:
        """Wait on a condition or endpoint from now on; `key` is what `wait` answers for it."""
        check(lib.dds_waitset_attach(self._handle, handle, key), "to attach a condition to a wait set")

    def detach(self, handle: int) -> None:
        """No longer wait on it; an entity that is gone already is no error."""
        lib.dds_waitset_detach(self._handle, handle)

    def wait(self, timeout_ns: int = INFINITY) -> list[int]:
        """The keys of what is triggered, waiting up to `timeout_ns`; empty on timeout.

        At most `most` keys are answered at once; the rest stay triggered.
        """
        count = self._wait(self._handle, self._triggered, self._most, timeout_ns)
        if count <= 0:
            return []
        return self._triggered[: min(count, self._most)]

    def close(self) -> None:
        """Delete the wait set."""
        lib.dds_delete(self._handle)
