"""Messages as text and text as messages, for tools that work with any type."""

from ..places import offer_places
from .convert import (
    get_message_slot_types,
    message_to_csv,
    message_to_ordereddict,
    message_to_yaml,
    set_message_fields,
)
from .utilities import (
    get_action_interfaces,
    get_interface_packages,
    get_interface_path,
    get_interfaces,
    get_message_interfaces,
    get_service_interfaces,
    import_message_from_namespaced_type,
)

__all__ = [
    "get_action_interfaces",
    "get_interface_packages",
    "get_interface_path",
    "get_interfaces",
    "get_message_interfaces",
    "get_message_slot_types",
    "get_service_interfaces",
    "import_message_from_namespaced_type",
    "message_to_csv",
    "message_to_ordereddict",
    "message_to_yaml",
    "set_message_fields",
]

offer_places(__name__)
