"""Poses that are nearly the same."""

from __future__ import annotations

import pytest

from fleet_sim import Pose


def close(pose: Pose, other: Pose) -> bool:
    """Whether positions and angles differ by rounding only."""
    same_place = pose.as_position() == pytest.approx(other.as_position())
    return bool(same_place and pose.as_euler() == pytest.approx(other.as_euler()))
