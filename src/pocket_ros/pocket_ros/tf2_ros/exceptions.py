"""Why a transform cannot be had."""


class TransformException(Exception):
    """What all of them are."""


class LookupException(TransformException):
    """A frame does not exist."""


class ConnectivityException(TransformException):
    """The frames are in trees that are not connected."""


class ExtrapolationException(TransformException):
    """The time is outside what is known."""


class InvalidArgumentException(TransformException):
    """A frame name is empty or starts with a slash, or a transform is not a number."""


class TimeoutException(TransformException):
    """It did not become available in time."""


BY_NUMBER: dict[int, type[TransformException]] = {
    1: LookupException,
    2: ConnectivityException,
    3: ExtrapolationException,
    4: InvalidArgumentException,
    5: TimeoutException,
}
"""By the numbers of tf2_msgs/msg/TF2Error."""
