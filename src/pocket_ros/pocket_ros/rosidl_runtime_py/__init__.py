"""Messages as text and text as messages, for tools that work with any type."""

from .convert import message_to_csv, message_to_ordereddict, message_to_yaml
from .set_message import set_message_fields

__all__ = ["message_to_csv", "message_to_ordereddict", "message_to_yaml", "set_message_fields"]
