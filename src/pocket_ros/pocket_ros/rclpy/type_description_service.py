"""`~/get_type_description`: tells other nodes what a type hash stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..interfaces import catalog, hashing
from ..interfaces.classes import message_class, service_class
from .parameter import Parameter
from .service import Service

if TYPE_CHECKING:
    from .node_base import NodeBase

START_TYPE_DESCRIPTION_SERVICE_PARAM = "start_type_description_service"


class TypeDescriptionService:
    """The service, unless the parameter `start_type_description_service` is false."""

    def __init__(self, node: NodeBase) -> None:
        self._node = node
        self._service: Service | None = None
        if not node.has_parameter(START_TYPE_DESCRIPTION_SERVICE_PARAM):
            descriptor = message_class("rcl_interfaces/msg/ParameterDescriptor")(
                name=START_TYPE_DESCRIPTION_SERVICE_PARAM,
                type=Parameter.Type.BOOL.value,
                description="If enabled, start the ~/get_type_description service.",
                read_only=True,
            )
            node.declare_parameter(START_TYPE_DESCRIPTION_SERVICE_PARAM, True, descriptor)
        if node.get_parameter(START_TYPE_DESCRIPTION_SERVICE_PARAM).value:
            kind = service_class("type_description_interfaces/srv/GetTypeDescription")
            self._service = node.create_service(kind, "~/get_type_description", self._answer)

    def destroy(self) -> None:
        """End the service; doing so twice changes nothing."""
        if self._service is not None:
            self._node.destroy_service(self._service)
            self._service = None

    def _answer(self, request: Any, response: Any) -> Any:
        try:
            known = hashing.type_hash(request.type_name)
        except catalog.UnknownInterfaceError as error:
            response.failure_reason = str(error)
            return response
        if request.type_hash and request.type_hash != known:
            response.failure_reason = f"'{request.type_name}' is {known} here, not {request.type_hash}"
            return response
        description = hashing.type_description(request.type_name)
        response.type_description.type_description = _individual(description["type_description"])
        response.type_description.referenced_type_descriptions = [
            _individual(d) for d in description["referenced_type_descriptions"]
        ]
        if request.include_type_sources:
            names = [
                request.type_name,
                *(d["type_name"] for d in description["referenced_type_descriptions"]),
            ]
            response.type_sources = [_source(name) for name in names]
        response.successful = True
        return response


def _source(name: str) -> Any:
    """The text that a type was read from. Parts of services and actions are in that of their owner."""
    text = catalog.source_text(name)
    return message_class("type_description_interfaces/msg/TypeSource")(
        type_name=name,
        encoding="implicit" if text is None else name.split("/")[1],
        raw_file_contents=text or "",
    )


def _individual(description: dict[str, Any]) -> Any:
    def make(kind: str, /, **values: Any) -> Any:
        return message_class(f"type_description_interfaces/msg/{kind}")(**values)

    fields = [
        make("Field", name=f["name"], type=make("FieldType", **f["type"])) for f in description["fields"]
    ]
    return make("IndividualTypeDescription", type_name=description["type_name"], fields=fields)
