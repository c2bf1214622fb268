"""Messages of several topics brought together by their time stamps, and kept for a while."""

from .cache import Cache
from .simple_filter import SimpleFilter
from .subscriber import Subscriber
from .synchronizers import ApproximateTimeSynchronizer, TimeSynchronizer

__all__ = [
    "ApproximateTimeSynchronizer",
    "Cache",
    "SimpleFilter",
    "Subscriber",
    "TimeSynchronizer",
]


def __getattr__(name: str) -> object:
    if name == "Chain":
        raise NotImplementedError(
            "message_filters.Chain is not covered by pocket_ros; a full ROS 2 has it. "
            "Filters are chained by giving one to the next as well: Cache(Subscriber(...))"
        )
    raise AttributeError(f"module 'message_filters' has no attribute '{name}'")
