"""Topic types whose content Cyclone DDS does not look into.

The Python binding ties a topic to a described type, checks every sample against the description and announces
it. ROS 2
announces no description, and its types are described by their hash in the user data. So all topics here are
made of one
description (a single octet, true of the start of any CDR), under the type name of ROS, and it is withheld
from discovery:
peers then match by type name, as they do with rmw_cyclonedds.
"""

from __future__ import annotations

import ctypes as ct
import struct
from types import SimpleNamespace

from .library import check, clayer, lib

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
