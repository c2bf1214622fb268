"""The exceptions of the client library."""

from __future__ import annotations

from enum import Enum
from typing import Any, ClassVar, Protocol


class _Parameter(Protocol):
    """What an error tells of a parameter. `Parameter` itself raises errors, so it is above them."""

    @property
    def name(self) -> str: ...

    @property
    def value(self) -> Any: ...

    @property
    def type_(self) -> Enum: ...


class NotInitializedException(Exception):
    """Raised when ROS communications are used before `rclpy.init()`."""

    def __init__(self, message: str | None = None) -> None:
        start = "rclpy.init() has not been called"
        super().__init__(start if message is None else f"{start}: {message}")


class NoTypeSupportImportedException(Exception):
    """Raised for a class of a full ROS 2 whose type support is not loaded."""

    def __init__(self) -> None:
        super().__init__("no type_support imported")


class RCLError(RuntimeError):
    """Raised when the middleware or the client library refuses an operation."""


class InvalidHandle(RuntimeError):
    """Raised when something destroyed is used."""


class NameValidationException(Exception):
    """Raised for a name that breaks the rules; says at which character."""

    def __init__(self, name_type: str, name: str, error_msg: str, invalid_index: int) -> None:
        self.name_type = name_type
        marker = " " * invalid_index + "^"
        super().__init__(f"Invalid {name_type}: {error_msg}:\n  '{name}'\n   {marker}")


class _InvalidNameException(NameValidationException):
    _kind: ClassVar[str]

    def __init__(self, name: str, error_msg: str, invalid_index: int) -> None:
        super().__init__(self._kind, name, error_msg, invalid_index)


class InvalidNamespaceException(_InvalidNameException):
    """Raised for an invalid namespace."""

    _kind = "namespace"


class InvalidNodeNameException(_InvalidNameException):
    """Raised for an invalid node name."""

    _kind = "node name"


class InvalidTopicNameException(_InvalidNameException):
    """Raised for an invalid topic name."""

    _kind = "topic name"


class InvalidServiceNameException(_InvalidNameException):
    """Raised for an invalid service name."""

    _kind = "service name"


class ParameterException(Exception):
    """What all parameter exceptions are; the text is the reason and the names."""

    def __init__(self, error_msg: str, parameters: str | list[str]) -> None:
        super().__init__(f"{error_msg}: {parameters}")


class ParameterNotDeclaredException(ParameterException):
    """Raised for an undeclared parameter."""

    def __init__(self, parameters: str | list[str]) -> None:
        super().__init__("Invalid access to undeclared parameter(s)", parameters)


class ParameterAlreadyDeclaredException(ParameterException):
    """Raised when a parameter is declared twice."""

    def __init__(self, parameters: str | list[str]) -> None:
        super().__init__("Parameter(s) already declared", parameters)


class InvalidParameterException(ParameterException):
    """Raised for an invalid parameter name."""

    def __init__(self, parameter_name: str) -> None:
        super().__init__("Invalid parameter name", parameter_name)


class InvalidParameterTypeException(ParameterException):
    """Raised for a value of another type than the parameter's."""

    def __init__(self, desired_parameter: _Parameter, expected_type: Any) -> None:
        expected = getattr(expected_type, "name", expected_type)
        super().__init__(
            f"Trying to set parameter '{desired_parameter.name}' to '{desired_parameter.value}' of type "
            f"'{desired_parameter.type_.name}', expecting type '{expected}'",
            desired_parameter.name,
        )


class InvalidParameterValueException(ParameterException):
    """Raised for a value that a descriptor or callback rejects."""

    def __init__(self, parameter: str, value: Any, reason: str = "") -> None:
        super().__init__(f"Invalid parameter value ({value}) for parameter. Reason: {reason}", parameter)


class ParameterImmutableException(ParameterException):
    """Raised when a read-only parameter is written."""

    def __init__(self, parameter_name: str) -> None:
        super().__init__("Attempted to modify read-only parameter", parameter_name)


class ParameterUninitializedException(ParameterException):
    """Raised when a statically typed parameter without value is read."""

    def __init__(self, parameter_name: str) -> None:
        super().__init__(f"The parameter '{parameter_name}' is not initialized", parameter_name)


class ROSInterruptException(Exception):
    """Raised when a wait is cut short by shutdown."""

    def __init__(self) -> None:
        super().__init__("rclpy.shutdown() has been called")


class UnknownROSArgsError(RuntimeError):
    """Raised by init for a ROS argument that does not exist."""


class InvalidROSArgsError(RCLError):
    """Raised for ROS arguments, of init or of a node, that cannot be parsed."""

    def __init__(self, text: str) -> None:
        super().__init__(f"Failed to parse ROS arguments: {text}")
