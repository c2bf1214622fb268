"""What a part reads from a file is compared with what it would write now: kinds of arrays, numbers, truth values."""

from __future__ import annotations

from typing import Any

import numpy as np

from fleet_sim.core.saving.objects import attributes_of
from fleet_sim.errors import StateFileError, brief
from fleet_sim.saved_classes import saved_name


def check_alike(own: Any, given: Any, where: str) -> None:
    """Raise StateFileError where `given` holds another kind of array or number than `own` at the same place.

    Members of lists and of tables by number come and go, so they are not compared; None may stand for a number.
    """
    if isinstance(own, np.ndarray):
        if not isinstance(given, np.ndarray) or given.dtype != own.dtype or given.ndim != own.ndim:
            raise StateFileError(f"{where}: expected an array of {own.dtype} in {own.ndim} dimensions")
    elif isinstance(own, bool):
        if not isinstance(given, bool):
            raise StateFileError(f"{where}: expected true or false, got {brief(given)}")
    elif isinstance(own, (int, float)):
        # A count that was never added to is 0 and may have become 0.5.
        if given is not None and (isinstance(given, bool) or not isinstance(given, (int, float, np.number))):
            raise StateFileError(f"{where}: expected a number, got {brief(given)}")
    elif isinstance(own, dict) and isinstance(given, dict):
        for key in own.keys() & given.keys():
            if isinstance(key, str):
                check_alike(own[key], given[key], f"{where}.{key}")
    elif isinstance(own, tuple) and isinstance(given, tuple) and len(own) == len(given):
        for index, (one, other) in enumerate(zip(own, given, strict=True)):
            check_alike(one, other, f"{where}[{index}]")
    elif type(own) is type(given) and saved_name(type(own)) is not None:
        mine, theirs = attributes_of(own), attributes_of(given)
        if not mine.keys() <= theirs.keys():
            raise StateFileError(f"{where}: {', '.join(mine.keys() - theirs.keys())} is missing")
        check_alike(mine, theirs, where)
