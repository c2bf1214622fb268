"""Publishers that publish only while their node is active."""

from __future__ import annotations

from typing import Any

from ..publisher import Publisher
from .managed_entity import SimpleManagedEntity


class LifecyclePublisher(SimpleManagedEntity, Publisher):
    """What is published while the node is not active is dropped. Made by `create_lifecycle_publisher`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        SimpleManagedEntity.__init__(self)
        Publisher.__init__(self, *args, **kwargs)

    def publish(self, msg: Any) -> None:
        """Publish while the node is active; as `Publisher.publish` then, and nothing otherwise."""
        if self._enabled:
            Publisher.publish(self, msg)
