"""Service introspection, which is not covered."""

from enum import IntEnum


class ServiceIntrospectionState(IntEnum):
    """What would be published of a service's calls; anything but OFF raises NotImplementedError."""

    OFF = 0
    METADATA = 1
    CONTENTS = 2
