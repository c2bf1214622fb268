"""The types of fields, as messages tell them in `SLOT_TYPES`."""

from ..module_places import not_covered

__all__: list[str] = []

__getattr__ = not_covered("rosidl_parser")
