"""Samples of many writers in packets that they share.

By itself Cyclone DDS sends a packet for each sample, as each writer packs for itself. A thousand robots with
odometry at 30 Hz are 30,000 packets a second, and most of what they cost is the system's work for a packet.
Here are the calls that `dds_write` makes itself, with one packer for all writers. Two structures of the
library are looked into, so all of it is used only where they are found to be as in version 11.
"""

from __future__ import annotations

import ctypes as ct
import time
import weakref
from collections.abc import Sequence
from functools import cache
from itertools import repeat
from operator import is_
from typing import Any

import numpy

from .library import BAD_PARAMETER, lib, library

_WHOLE = 2
"""The kind of a sample that is not only a key."""
_TYPE_NAME, _DOMAIN = 32, 40
"""Where a type has its name and its domain."""
_TYPE, _TIMESTAMP = 24, 32
"""Where a sample has its type and when it was written."""
_NO_TIME = -(1 << 63)
"""When a new sample was written."""
_p, _i, _flag = ct.c_void_p, ct.c_int, ct.c_bool
_PROTOTYPES: dict[str, tuple[Any, list[Any]]] = {
    "dds_entity_pin": (_i, [ct.c_int32, _p]),
    "dds_entity_unpin": (None, [_p]),
    "ddsi_serdata_from_sample": (_p, [_p, _i, _p]),
    "ddsi_serdata_unref": (None, [_p]),
    "dds_writecdr_impl": (_i, [_p, _p, _p, _flag]),
    "ddsi_xpack_new": (_p, [_p, _flag]),
    "ddsi_xpack_send": (None, [_p, _flag]),
    "ddsi_xpack_free": (None, [_p]),
    "ddsi_lookup_thread_state": (_p, []),
    "ddsi_thread_state_awake": (None, [_p, _p]),
    "ddsi_thread_state_asleep": (None, [_p]),
}


class _Sample(ct.Structure):
    """What the Python binding takes for a sample."""

    _fields_ = (("data", ct.c_void_p), ("size", ct.c_size_t))


@cache
def _library() -> Any:
    """The library with the functions above, which keep the interpreter; None where it lacks one."""
    found = ct.PyDLL(library._name)
    if ct.sizeof(_p) != 8:
        return None
    try:
        for name, (result, arguments) in _PROTOTYPES.items():
            function = getattr(found, name)
            function.restype, function.argtypes = result, arguments
    except AttributeError:
        return None
    return found


def make_burst(
    writers: Sequence[int], pieces: Sequence[bytes | bytearray | memoryview], type_name: str
) -> Burst | None:
    """A burst of writers of that type; None where the library is another, or a piece is not whole words."""
    kind = ct.c_void_p()
    if _library() is None or lib.dds_get_entity_sertype(writers[0], kind) < 0 or not kind.value:
        return None
    name = _number(kind.value + _TYPE_NAME)
    if not name or ct.string_at(name) != type_name.encode() or not _has_times(kind.value):
        return None
    return None if any(len(piece) & 3 for piece in pieces) else Burst(writers, pieces, kind.value)


def _number(place: int) -> int:
    return ct.c_int64.from_address(place).value


def _has_times(kind: int) -> bool:
    data = ct.create_string_buffer(8)
    sample = _library().ddsi_serdata_from_sample(kind, _WHOLE, ct.byref(_Sample(ct.addressof(data), 8)))
    if not sample:
        return False
    try:
        return _number(sample + _TYPE) == kind and _number(sample + _TIMESTAMP) == _NO_TIME
    finally:
        _library().ddsi_serdata_unref(sample)


class Burst:
    """Writes a sample for each of `writers`, handles of one type: the CDR in `pieces`, as it is then."""

    def __init__(
        self, writers: Sequence[int], pieces: Sequence[bytes | bytearray | memoryview], kind: int
    ) -> None:
        count = len(writers)
        self._writers, self._pieces, self._kind = list(writers), list(pieces), kind
        # They keep the pieces where they are.
        self._arrays = [numpy.frombuffer(piece, numpy.uint8) for piece in pieces]
        self._samples = (_Sample * count)(*[_Sample(array.ctypes.data, array.size) for array in self._arrays])
        self._pinned = (ct.c_void_p * count)()
        self._places, self._pins = map(_addresses, (self._samples, self._pinned))
        self._memory = (ct.c_int64 * (1 << 44)).from_address(0)
        self._domain = _number(kind + _DOMAIN)
        self._packer = _library().ddsi_xpack_new(self._domain, False)
        weakref.finalize(self, _library().ddsi_xpack_free, self._packer)

    def is_of(self, writers: Sequence[int], pieces: Sequence[bytes | bytearray | memoryview]) -> bool:
        """Whether it writes just these."""
        known = self._pieces
        return writers == self._writers and len(pieces) == len(known) and all(map(is_, pieces, known))

    def write(self) -> list[int]:
        """Write all of them; what Cyclone answers for each. Where it refuses one it may have written none."""
        call = _library()
        try:
            # Pinned, none is deleted meanwhile, nor is their domain.
            answers = list(map(call.dds_entity_pin, self._writers, self._pins))
            if min(answers) < 0:
                return answers
            samples = list(
                map(call.ddsi_serdata_from_sample, repeat(self._kind), repeat(_WHOLE), self._places)
            )
            if None in samples:
                for sample in filter(None, samples):
                    call.ddsi_serdata_unref(sample)
                return [0 if sample else BAD_PARAMETER for sample in samples]
            memory, now = self._memory, time.time_ns()
            for sample in samples:
                memory[(sample + _TIMESTAMP) >> 3] = now
            answers = list(
                map(call.dds_writecdr_impl, self._pinned[:], repeat(self._packer), samples, repeat(False))
            )
            thread = call.ddsi_lookup_thread_state()
            call.ddsi_thread_state_awake(thread, self._domain)
            call.ddsi_xpack_send(self._packer, True)
            call.ddsi_thread_state_asleep(thread)
            return answers
        finally:
            for writer in filter(None, self._pinned):
                call.dds_entity_unpin(writer)
            ct.memset(self._pinned, 0, ct.sizeof(self._pinned))


def _addresses(array: Any) -> list[int]:
    """Where each element of a C array is."""
    return list(range(ct.addressof(array), ct.addressof(array) + ct.sizeof(array), ct.sizeof(array._type_)))
