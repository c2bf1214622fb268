"""`~/get_logger_levels` and `~/set_logger_levels`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..interfaces.classes import message_class, service_class
from .logging import get_logger_level, set_logger_level

if TYPE_CHECKING:
    from .node_base import NodeBase


class LoggingService:
    """The two services of a node."""

    def __init__(self, node: NodeBase) -> None:
        for name, callback in (("get_logger_levels", self._get), ("set_logger_levels", self._set)):
            kind = "".join(word.capitalize() for word in name.split("_"))
            node.create_service(
                service_class(f"rcl_interfaces/srv/{kind}"), f"{node.get_name()}/{name}", callback
            )

    def _get(self, request: Any, response: Any) -> Any:
        level = message_class("rcl_interfaces/msg/LoggerLevel")
        response.levels = [level(name=name, level=int(get_logger_level(name))) for name in request.names]
        return response

    def _set(self, request: Any, response: Any) -> Any:
        result = message_class("rcl_interfaces/msg/SetLoggerLevelsResult")
        for level in request.levels:
            try:
                set_logger_level(level.name, level.level)
                response.results.append(result(successful=True))
            except ValueError:
                response.results.append(
                    result(successful=False, reason="Failed reason: Invalid logger level.")
                )
        return response
