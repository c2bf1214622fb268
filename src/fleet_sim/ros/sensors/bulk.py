"""Messages with one large array as bytes: serialised once, then only the stamp and the array are written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from rclpy.serialization import serialize_message

from fleet_sim.arrays import AnyArray
from fleet_sim.ros.conversions import NS_PER_S

_PATTERN = 0x01010101


class BulkMessage:
    """One message with a header and a fixed layout: `fill` sets its stamp and arrays and returns it as CDR.

    Their positions are found by serialising the message twice, once with all their bytes zero, once with all nonzero.
    """

    def __init__(self, message: Any, arrays: Mapping[str, tuple[str, int]]) -> None:
        """Take a message, and the NumPy type and length of each array field that `fill` writes."""
        for name, (kind, length) in arrays.items():
            # Set once to learn the layout: arrays decide where everything behind them is.
            _set(message, name, np.zeros(length, kind))
        empty = np.frombuffer(serialize_message(message), np.uint8)
        self._bytes = empty.copy()
        self._views: dict[str, AnyArray] = {}
        for name, (kind, length) in arrays.items():
            if length:
                # No byte of it is zero, so that all bytes of the array differ from the empty message.
                _set(message, name, np.full(length * np.dtype(kind).itemsize, 1, np.uint8).view(kind))
                self._views[name] = self._changed(empty, message).view(np.dtype(kind).newbyteorder("<"))
                # Back to zeros, so that only the next array shows up in the next comparison.
                _set(message, name, np.zeros(length, kind))
        # No byte of it is zero, so all bytes of the stamp show up.
        message.header.stamp.sec = message.header.stamp.nanosec = _PATTERN
        self._stamp = self._changed(empty, message).view("<u4")

    def _changed(self, empty: AnyArray, message: Any) -> AnyArray:
        places = np.flatnonzero(np.frombuffer(serialize_message(message), np.uint8) != empty)
        return self._bytes[places[0] : places[-1] + 1]

    def fill(self, now: int, **values: AnyArray) -> bytes:
        """Return the message with the stamp `now` in ns and with the arrays given, which are converted."""
        self._stamp[:] = divmod(now, NS_PER_S)
        for name, array in values.items():
            if name in self._views:
                self._views[name][:] = array.reshape(-1)
        # A copy: publishing may take place later, when the next reading is written here already.
        return self._bytes.tobytes()


def _set(message: Any, name: str, array: AnyArray) -> None:
    setattr(message, name, array.tolist())
