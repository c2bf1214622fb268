"""Samples of many writers in packets that they share.

By itself Cyclone DDS sends a packet for each sample, as each writer packs for itself. A thousand robots with
odometry at 30 Hz are 30,000 packets a second, and most of what they cost is the system's work for a packet.
Here are the calls that `dds_write` makes itself, with one packer for all writers. They are not for users of
the library, and two of its structures are looked into, so this is for the versions that it was tried with.
"""

from __future__ import annotations

import ctypes as ct
import time
import weakref
from collections import deque
from collections.abc import Sequence
from functools import cache
from itertools import chain, islice, repeat
from operator import is_
from typing import Any

import numpy

from .library import BAD_PARAMETER, lib, library

TRIED = {"11.0.1"}
"""Versions of the Python package, which brings the library."""
_WHOLE = 2
"""The kind of a sample that is not only a key."""
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
    "ddsi_xpack_free": (None, [_p]),
}


class _Sample(ct.Structure):
    """What the Python binding takes for a sample."""

    _fields_ = (("data", ct.c_void_p), ("size", ct.c_size_t))


class _Type(ct.Structure):
    """How a `struct ddsi_sertype` begins."""

    _fields_ = (("others", ct.c_byte * 32), ("name", ct.c_char_p), ("domain", ct.c_void_p))


class _Head(ct.Structure):
    """How a `struct ddsi_serdata` begins."""

    _fields_ = (("others", ct.c_byte * 24), ("type", ct.c_void_p), ("timestamp", ct.c_int64))


@cache
def _library() -> Any:
    """The library with the functions above, which keep the interpreter; None where it is another."""
    from importlib.metadata import PackageNotFoundError, version

    found = ct.PyDLL(library._name)
    try:
        if version("cyclonedds") not in TRIED or ct.sizeof(_p) != 8:
            return None
        for name, (result, arguments) in _PROTOTYPES.items():
            function = getattr(found, name)
            function.restype, function.argtypes = result, arguments
    except (AttributeError, PackageNotFoundError):
        return None
    return found


def make_burst(
    writers: Sequence[int], pieces: Sequence[bytes | bytearray | memoryview], type_name: str
) -> Burst | None:
    """A burst of writers of that type; None where the library is another, or a piece is not whole words."""
    if _library() is None or any(len(piece) & 3 or not piece for piece in pieces):
        return None
    # Of one domain, they have the same one.
    kinds = set(map(_type_of, writers))
    kind = kinds.pop()
    if not kind or kinds or _Type.from_address(kind).name != type_name.encode() or not _has_times(kind):
        return None
    return Burst(writers, pieces, kind)


def _type_of(writer: int) -> int | None:
    kind = ct.c_void_p()
    return kind.value if lib.dds_get_entity_sertype(writer, kind) >= 0 else None


def _has_times(kind: int) -> bool:
    data = ct.create_string_buffer(8)
    sample = _library().ddsi_serdata_from_sample(kind, _WHOLE, ct.byref(_Sample(ct.addressof(data), 8)))
    if not sample:
        return False
    try:
        head = _Head.from_address(sample)
        return bool(head.type == kind and head.timestamp == _NO_TIME)
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
        place, step = ct.addressof(self._samples), ct.sizeof(_Sample)
        self._places = range(place, place + count * step, step)
        # The last one sends what is packed.
        self._sends = [False] * (count - 1) + [True]
        self._packer = _library().ddsi_xpack_new(_Type.from_address(kind).domain, False)
        # Not at exit, where another thread may still write.
        weakref.finalize(self, _library().ddsi_xpack_free, self._packer).atexit = False

    def is_of(self, writers: Sequence[int], pieces: Sequence[bytes | bytearray | memoryview]) -> bool:
        """Whether it writes just these."""
        known = self._pieces
        return writers == self._writers and len(pieces) == len(known) and all(map(is_, pieces, known))

    def write(self) -> list[int]:
        """Write all of them; what Cyclone answers for each. Where one is refused none is written."""
        call, kind, packer, now = _library(), repeat(self._kind), repeat(self._packer), repeat(time.time_ns())
        pinned = (ct.c_void_p * len(self._writers))()
        begin = ct.addressof(pinned)
        pins = map(call.dds_entity_pin, self._writers, range(begin, begin + ct.sizeof(pinned), 8))
        samples: list[int] = []
        answers: list[int] = []
        unpinned: list[None] = []
        made = map(call.ddsi_serdata_from_sample, kind, repeat(_WHOLE), self._places)
        written = map(call.dds_writecdr_impl, pinned, packer, samples, self._sends)
        # Who deletes a writer, its type or its domain waits while it is pinned. All of this is one call for
        # the interpreter, so no thread comes in between, and no handler of a signal, which waited for ever.
        steps = chain(
            map({0: 0}.__getitem__, pins),
            map(samples.append, made),
            map(setattr, map(_Head.from_address, samples), repeat("timestamp"), now),
            map(answers.append, written),
            map(unpinned.append, map(call.dds_entity_unpin, filter(None, pinned))),
        )
        try:
            deque(steps, 0)
        except KeyError as refused:
            # It is the first that is not pinned.
            answers = [0] * len(self._writers)
            answers[list(pinned).index(None)] = refused.args[0]
        except TypeError:
            # There is no sample of bytes that are no CDR.
            for sample in filter(None, samples):
                call.ddsi_serdata_unref(sample)
            answers = [0 if sample else BAD_PARAMETER for sample in samples]
        finally:
            left = islice(filter(None, pinned), len(unpinned), None)
            deque(map(unpinned.append, map(call.dds_entity_unpin, left)), 0)
        return answers
