"""The functions of the Cyclone DDS library that this package calls, with their C types.

Loading it takes time, so nothing imports this module before the first context is initialised.
"""

from __future__ import annotations

import ctypes
import ctypes as ct
import importlib
import os
import sys
from importlib.util import find_spec, module_from_spec
from typing import Any

# How the C library gives memory back. A sample of a megabyte is copied three or four times between
# publisher and callback. By default glibc returns such blocks to the system at once, and each copy then
# waits for hundreds of fresh pages: an image of 640x480 took 1.6 ms, and takes 0.15 ms when freed
# blocks are kept. The price is up to 64 MB that a process keeps after it handled large messages.


_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_KEPT, _LARGEST = 64 << 20, 32 << 20


def keep_freed_memory() -> None:
    """Keep freed blocks for the next message.

    Where the C library is not glibc nothing changes, nor where the environment sets either threshold itself.
    """
    if "MALLOC_TRIM_THRESHOLD_" in os.environ or "MALLOC_MMAP_THRESHOLD_" in os.environ:
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_TRIM_THRESHOLD, _KEPT)
        mallopt(_M_MMAP_THRESHOLD, _LARGEST)


# The compiled part of the Python binding of Cyclone DDS, without the rest of it. `import cyclonedds`
# reads all of the binding, among it the description of every built-in type, which takes as long as all
# else that a node needs. What is used here is two modules of it. They are imported below a package that
# holds nothing; the package itself is imported as usual by whoever asks for it, and finds the two
# there.


_PACKAGE = "cyclonedds"
_MODULES = (f"{_PACKAGE}.internal", f"{_PACKAGE}._clayer")


def _import_modules() -> tuple[Any, Any]:
    if _PACKAGE in sys.modules:
        internal, clayer = map(importlib.import_module, _MODULES)
        return internal, clayer
    spec = find_spec(_PACKAGE)
    if spec is None:
        raise ModuleNotFoundError(f"No module named '{_PACKAGE}'", name=_PACKAGE)
    placeholder = sys.modules[_PACKAGE] = module_from_spec(spec)
    try:
        internal, clayer = map(importlib.import_module, _MODULES)
    finally:
        # Another thread may have imported the package in the meantime.
        if sys.modules.get(_PACKAGE) is placeholder:
            del sys.modules[_PACKAGE]
    return internal, clayer


_internal, clayer = _import_modules()
library = ctypes.CDLL(_internal.DDS._dll_handle._name)
"""The library of Cyclone DDS. Not the handle of the binding, which declares the same functions otherwise."""


_entity, _qos, _ns = ct.c_int32, ct.c_void_p, ct.c_int64
_u32, _p, _size = ct.c_uint32, ct.c_void_p, ct.c_size_t
_RETURN_POINTER = {"dds_create_qos", "ddsi_sertype_ref"}
_RETURN_NOTHING = {"dds_delete_qos", "dds_free", "dds_set_log_mask", "ddsi_sertype_unref"}

_PROTOTYPES: dict[str, list[Any]] = {
    "dds_create_domain": [_u32, ct.c_char_p],
    "dds_create_participant": [_u32, _qos, _p],
    "dds_create_topic_sertype": [_entity, ct.c_char_p, _p, _qos, _p, _p],
    "dds_create_writer": [_entity, _entity, _qos, _p],
    "dds_create_reader": [_entity, _entity, _qos, _p],
    "dds_create_readcondition": [_entity, _u32],
    "dds_create_guardcondition": [_entity],
    "dds_set_guardcondition": [_entity, ct.c_bool],
    "dds_take_guardcondition": [_entity, ct.POINTER(ct.c_bool)],
    "dds_triggered": [_entity],
    "dds_create_waitset": [_entity],
    "dds_waitset_attach": [_entity, _entity, ct.c_ssize_t],
    "dds_waitset_detach": [_entity, _entity],
    "dds_waitset_wait": [_entity, _p, _size, _ns],
    "dds_set_status_mask": [_entity, _u32],
    "dds_delete": [_entity],
    "dds_get_guid": [_entity, _p],
    "dds_get_instance_handle": [_entity, ct.POINTER(ct.c_uint64)],
    "dds_get_entity_sertype": [_entity, ct.POINTER(ct.c_void_p)],
    "ddsi_sertype_ref": [_p],
    "ddsi_sertype_unref": [_p],
    "dds_wait_for_acks": [_entity, _ns],
    "dds_assert_liveliness": [_entity],
    "dds_get_matched_subscriptions": [_entity, _p, _size],
    "dds_get_matched_publications": [_entity, _p, _size],
    "dds_create_qos": [],
    "dds_delete_qos": [_qos],
    "dds_qset_userdata": [_qos, ct.c_char_p, _size],
    "dds_qset_durability": [_qos, ct.c_int],
    "dds_qset_history": [_qos, ct.c_int, ct.c_int32],
    "dds_qset_reliability": [_qos, ct.c_int, _ns],
    "dds_qset_deadline": [_qos, _ns],
    "dds_qset_lifespan": [_qos, _ns],
    "dds_qset_liveliness": [_qos, ct.c_int, _ns],
    "dds_qset_ignorelocal": [_qos, ct.c_int],
    "dds_qset_writer_data_lifecycle": [_qos, ct.c_bool],
    "dds_qset_durability_service": [_qos, _ns, ct.c_int, ct.c_int32, ct.c_int32, ct.c_int32, ct.c_int32],
    "dds_qset_data_representation": [_qos, _u32, _p],
    "dds_qget_userdata": [_qos, ct.POINTER(ct.c_void_p), ct.POINTER(_size)],
    "dds_qget_durability": [_qos, ct.POINTER(ct.c_int)],
    "dds_qget_history": [_qos, ct.POINTER(ct.c_int), ct.POINTER(ct.c_int32)],
    "dds_qget_reliability": [_qos, ct.POINTER(ct.c_int), ct.POINTER(_ns)],
    "dds_qget_deadline": [_qos, ct.POINTER(_ns)],
    "dds_qget_lifespan": [_qos, ct.POINTER(_ns)],
    "dds_qget_liveliness": [_qos, ct.POINTER(ct.c_int), ct.POINTER(_ns)],
    "dds_free": [_p],
    "dds_get_log_mask": [],
    "dds_set_log_mask": [_u32],
    "dds_get_offered_incompatible_qos_status": [_entity, _p],
    "dds_get_requested_incompatible_qos_status": [_entity, _p],
    "dds_get_offered_deadline_missed_status": [_entity, _p],
    "dds_get_requested_deadline_missed_status": [_entity, _p],
    "dds_get_liveliness_lost_status": [_entity, _p],
    "dds_get_liveliness_changed_status": [_entity, _p],
    "dds_get_sample_lost_status": [_entity, _p],
    "dds_get_publication_matched_status": [_entity, _p],
    "dds_get_subscription_matched_status": [_entity, _p],
    "dds_get_inconsistent_topic_status": [_entity, _p],
}


class DDSError(RuntimeError):
    """Cyclone DDS refused a call."""


def _load() -> Any:
    for name, arguments in _PROTOTYPES.items():
        function = getattr(library, name)
        function.argtypes = arguments
        function.restype = ct.c_void_p if name in _RETURN_POINTER else ct.c_int32
        if name in _RETURN_NOTHING:
            function.restype = None
    return library


lib: Any = _load()
keep_freed_memory()
write = clayer.ddspy_write
take = clayer.ddspy_take

ANY_STATE = 0x7F
INFINITY = (1 << 63) - 1
LIBRARY = 0x7FFF0100
"""The handle of the library itself, which is above all participants."""
BAD_PARAMETER = -3
"""What Cyclone DDS answers to bytes without encapsulation header."""
RETCODE_TIMEOUT = -10
RETCODE_PRECONDITION_NOT_MET = -4
LOG_WARNING = 4
_RETCODES = {
    -1: "error",
    -2: "unsupported",
    -3: "bad parameter",
    -4: "precondition not met",
    -5: "out of resources",
    -7: "immutable policy",
    -8: "inconsistent policy",
    -9: "already deleted",
    -10: "timeout",
    -12: "illegal operation",
}


def check(result: int, doing: str) -> int:
    """The result of a call. Raises DDSError naming what was being done when it is negative."""
    if result < 0:
        reason = _RETCODES.get(result, f"code {result}")
        raise DDSError(f"Cyclone DDS refused {doing}: {reason}")
    return result
