"""The quality-of-service policies of an endpoint, as Cyclone DDS takes and gives them."""

from __future__ import annotations

import ctypes as ct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

from .library import INFINITY, lib

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
