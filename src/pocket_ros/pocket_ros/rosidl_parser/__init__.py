"""The types of fields, as messages tell them in `SLOT_TYPES`."""

from typing import Any

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    if name in ("parse_idl_file", "parse_idl_string"):
        raise NotImplementedError(
            f"rosidl_parser.{name} is not covered by pocket_ros, which reads .msg, .srv and .action files; "
            "a full ROS 2 has it"
        )
    raise AttributeError(f"module 'rosidl_parser' has no attribute '{name}'")
