"""Services: their names and types."""

from __future__ import annotations

from typing import Any

from ..ros2cli.listing import NamesAndTypes, visible
from ..ros2cli.node.strategy import NodeStrategy
from ..ros2cli.subscribing import absolute_name
from ..ros2interface.api import interface_to_yaml
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
    return [f"{package}/{name}" for package, names in get_service_interfaces().items() for name in names]


class ServiceNameCompleter:
    """Completes names of services."""

    def __init__(self, *, include_hidden_services_key: str | None = None) -> None:
        self.include_hidden_services_key = include_hidden_services_key

    def __call__(self, prefix: str, parsed_args: Any, **kwargs: Any) -> list[str]:
        key = self.include_hidden_services_key
        with NodeStrategy(parsed_args) as node:
            return get_service_names(
                node=node, include_hidden_services=bool(key and getattr(parsed_args, key, False))
            )


class ServiceTypeCompleter:
    """Completes the types of the service that was named, or all."""

    def __init__(self, *, service_name_key: str | None = None) -> None:
        self.service_name_key = service_name_key

    def __call__(self, prefix: str, parsed_args: Any, **kwargs: Any) -> list[str]:
        if self.service_name_key is None:
            return service_type_completer()
        with NodeStrategy(parsed_args) as node:
            names = dict(get_service_names_and_types(node=node, include_hidden_services=True))
        return names.get(getattr(parsed_args, self.service_name_key), [])


class ServicePrototypeCompleter:
    """Completes a request with all defaults."""

    def __init__(self, *, service_type_key: str | None = None) -> None:
        self.service_type_key = service_type_key

    def __call__(self, prefix: str, parsed_args: Any, **kwargs: Any) -> list[str]:
        return [interface_to_yaml(getattr(parsed_args, self.service_type_key or ""))]
