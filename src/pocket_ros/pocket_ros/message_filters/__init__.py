"""Messages of several topics brought together by their time stamps, and kept for a while."""

from ..module_places import not_covered
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

__getattr__ = not_covered("message_filters")
