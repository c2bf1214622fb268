"""Services: their names and types."""

from __future__ import annotations

from typing import Any

from ..completers import NameCompleter, PrototypeCompleter, TypeCompleter, type_names
from ..ros2cli.listing import NamesAndTypes, visible
from ..ros2cli.subscribing import absolute_name
from ..rosidl_runtime_py.get_interfaces import get_service_interfaces
from ..rosidl_runtime_py.utilities import get_service


def get_service_names_and_types(*, node: Any, include_hidden_services: bool = False) -> NamesAndTypes:
    """Names and types, by name."""
    return visible(node.get_service_names_and_types(), include_hidden_services)


def get_service_names(*, node: Any, include_hidden_services: bool = False) -> list[str]:
    """Names, in order."""
    found = get_service_names_and_types(node=node, include_hidden_services=include_hidden_services)
    return [name for name, _ in found]


def get_service_class(node: Any, service_name: str, include_hidden_services: bool = False) -> Any:
    """The class of a service, None where the service is not known.

    Raises RuntimeError for a service with several types or with one that is not installed.
    """
    found = dict(get_service_names_and_types(node=node, include_hidden_services=include_hidden_services))
    types = found.get(absolute_name(service_name))
    if not types:
        return None
    if len(types) > 1:
        raise RuntimeError(f"Cannot echo service '{service_name}', as it has more than one type: {types}")
    try:
        return get_service(types[0])
    except (AttributeError, ModuleNotFoundError, ValueError) as error:
        raise RuntimeError(f"The service type '{types[0]}' is invalid: {error}") from error


def service_type_completer(**kwargs: Any) -> list[str]:
    """All types of services."""
    return type_names(get_service_interfaces())


class ServiceNameCompleter(NameCompleter):
    """Completes names of services."""

    def __init__(self, *, include_hidden_services_key: str | None = None) -> None:
        super().__init__(include_hidden_services_key)
        self.include_hidden_services_key = include_hidden_services_key

    def _names(self, node: Any, hidden: bool) -> list[str]:
        return get_service_names(node=node, include_hidden_services=hidden)


class ServiceTypeCompleter(TypeCompleter):
    """Completes the types of the service that was named, or all."""

    def __init__(self, *, service_name_key: str | None = None) -> None:
        super().__init__(service_name_key)
        self.service_name_key = service_name_key

    def _types(self) -> list[str]:
        return service_type_completer()

    def _names_and_types(self, node: Any) -> NamesAndTypes:
        return get_service_names_and_types(node=node, include_hidden_services=True)


class ServicePrototypeCompleter(PrototypeCompleter):
    """Completes a request with all defaults."""

    def __init__(self, *, service_type_key: str | None = None) -> None:
        super().__init__(service_type_key)
        self.service_type_key = service_type_key
