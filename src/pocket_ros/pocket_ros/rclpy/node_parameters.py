"""The parameters of a node."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..interfaces.classes import message_class
from .exceptions import (
    InvalidParameterTypeException,
    InvalidParameterValueException,
    ParameterAlreadyDeclaredException,
    ParameterImmutableException,
    ParameterNotDeclaredException,
    ParameterUninitializedException,
)
from .names import validate_parameter_name
from .parameter import PARAMETER_SEPARATOR_STRING, Parameter, parameter_value_to_python

if TYPE_CHECKING:
    from .clock import ROSClock
    from .publisher import Publisher


# What descriptors allow: types, ranges, steps, read-only.


def refusal(
    parameter: Parameter, descriptor: Any, declared: bool, check_read_only: bool, tolerance: float
) -> str:
    """Why a descriptor does not allow a value.

    Empty where it does. A dynamically typed descriptor takes the type. Of floating point numbers `tolerance`
    is what counts as equal, relative to the larger one.
    """
    if check_read_only and descriptor.read_only:
        return f"Trying to set a read-only parameter: {parameter.name}."
    kind = parameter.type_
    if descriptor.dynamic_typing:
        descriptor.type = kind.value
    elif declared and kind is Parameter.Type.NOT_SET:
        return "Static parameter cannot be undeclared"
    elif kind is not Parameter.Type.NOT_SET and kind.value != descriptor.type:
        return f"Wrong parameter type, expected '{Parameter.Type(descriptor.type)}' got '{kind}'"
    if kind is Parameter.Type.INTEGER and descriptor.integer_range:
        return _outside(parameter, descriptor.integer_range[0], 0.0)
    if kind is Parameter.Type.DOUBLE and descriptor.floating_point_range:
        return _outside(parameter, descriptor.floating_point_range[0], tolerance)
    return ""


def _outside(parameter: Parameter, limits: Any, tolerance: float) -> str:
    """The texts differ by type because rclpy's do, and programs show and compare them."""
    value = parameter.value
    whole = parameter.type_ is Parameter.Type.INTEGER
    low = min(limits.from_value, limits.to_value)
    high = max(limits.from_value, limits.to_value)
    if any(math.isclose(value, edge, rel_tol=tolerance, abs_tol=0.0) for edge in (low, high)):
        return ""
    if not low < value < high:
        stop = "." if whole else ""
        return f"Parameter {parameter.name} out of range{stop} Min: {low}, Max: {high}, value: {value}"
    if limits.step:
        nearest = low + round((value - low) / limits.step) * limits.step
        if not math.isclose(nearest, value, rel_tol=tolerance, abs_tol=0.0):
            verdict = "not a valid step" if whole else "not close enough to a valid step"
            return (
                f"The parameter value for {parameter.name} is {verdict}. "
                f"Min: {low}, max: {high}, value: {value}, step: {limits.step}"
            )
    return ""


def _rcl(name: str) -> Any:
    return message_class(f"rcl_interfaces/msg/{name}")


class NodeParameters:
    """Declaring, reading, setting and describing parameters; a part of Node."""

    PARAM_REL_TOL = 1e-6
    """By how much, relative to it, a floating point value may miss a limit or a step of its range."""

    _clock: ROSClock
    _parameter_event_publisher: Publisher

    def _ros_init_parameters(self, allow_undeclared: bool, overrides: dict[str, Parameter]) -> None:
        self._parameters: dict[str, Parameter] = {}
        self._descriptors: dict[str, Any] = {}
        self._allow_undeclared_parameters = allow_undeclared
        self._parameter_overrides = overrides
        self._pre_set_parameters_callbacks: list[Callable[[list[Parameter]], list[Parameter]]] = []
        self._on_set_parameters_callbacks: list[Callable[[list[Parameter]], Any]] = []
        self._post_set_parameters_callbacks: list[Callable[[list[Parameter]], None]] = []

    def get_fully_qualified_name(self) -> str:
        raise NotImplementedError("Node defines get_fully_qualified_name()")

    def declare_parameter(
        self, name: str, value: Any = None, descriptor: Any = None, ignore_override: bool = False
    ) -> Parameter:
        """Declare a parameter by a default value or a type; an override comes before the default.

        Raises ParameterAlreadyDeclaredException, InvalidParameterTypeException,
        InvalidParameterValueException,
        InvalidParameterException for an empty name, ValueError for neither value nor type.
        """
        entry: list[Any] = [name]
        if value is not None or descriptor is not None:
            entry.append(value)
        if descriptor is not None:
            entry.append(descriptor)
        return self.declare_parameters("", [tuple(entry)], ignore_override)[0]

    def declare_parameters(
        self, namespace: str, parameters: Sequence[tuple[Any, ...]], ignore_override: bool = False
    ) -> list[Parameter]:
        """Declare several `(name, value or type, descriptor)`, with `namespace.` in front of their names."""
        declared: list[Parameter] = []
        descriptors: dict[str, Any] = {}
        for index, entry in enumerate(parameters):
            name, value, descriptor = self._ros_read_declaration(namespace, index, entry)
            if not ignore_override and name in self._parameter_overrides:
                value = self._parameter_overrides[name].value
                value = _widened(value, descriptor)
            declared.append(Parameter(name, value=value))
            descriptors[name] = descriptor
        known = [p.name for p in declared if p.name in self._parameters]
        if known:
            raise ParameterAlreadyDeclaredException(known)
        for parameter in declared:
            result = self._ros_set_atomically([parameter], descriptors, keep_unset=True)
            if not result.successful:
                if result.reason.startswith("Wrong parameter type"):
                    expected = Parameter.Type(descriptors[parameter.name].type)
                    raise InvalidParameterTypeException(parameter, expected.name)
                raise InvalidParameterValueException(parameter.name, parameter.value, result.reason)
        return [self._parameters[p.name] for p in declared]

    def _ros_read_declaration(
        self, namespace: str, index: int, entry: tuple[Any, ...]
    ) -> tuple[str, Any, Any]:
        if not 1 <= len(entry) <= 3:
            raise TypeError(
                f"Invalid parameter tuple length at index {index} in parameters list: {entry}; "
                "expecting length between 1 and 3"
            )
        name = entry[0]
        if not isinstance(name, str):
            raise TypeError(f"First element {name} at index {index} in parameters list is not a str.")
        if namespace:
            name = f"{namespace}.{name}"
        validate_parameter_name(name)
        value = entry[1] if len(entry) > 1 else None
        descriptor = entry[2] if len(entry) > 2 else _rcl("ParameterDescriptor")()
        if not isinstance(descriptor, _rcl("ParameterDescriptor")):
            raise TypeError(
                f"Third element {descriptor} at index {index} in parameters list "
                "is not a ParameterDescriptor."
            )
        if len(entry) == 1:
            warnings.warn(
                f"when declaring parameter named '{name}', declaring a parameter only providing its name is "
                "deprecated. Pass a default value, a type, or a descriptor with dynamic_typing=True",
                stacklevel=4,
            )
            descriptor.dynamic_typing = True
        return name, _typed(name, value, descriptor), descriptor

    def undeclare_parameter(self, name: str) -> None:
        """Forget a parameter. Raises ParameterNotDeclaredException, ParameterImmutableException."""
        if name not in self._parameters:
            raise ParameterNotDeclaredException(name)
        if self._descriptors[name].read_only:
            raise ParameterImmutableException(name)
        del self._parameters[name]
        del self._descriptors[name]

    def has_parameter(self, name: str) -> bool:
        """Whether a parameter is declared."""
        return name in self._parameters

    def get_parameter_types(self, names: list[str]) -> list[int]:
        """The types of parameters. Raises as `get_parameter_type` does."""
        return [self.get_parameter_type(name) for name in _texts(names)]

    def get_parameter_type(self, name: str) -> int:
        """The number of a parameter's type, as in ParameterType. Raises ParameterNotDeclaredException."""
        if name in self._parameters:
            return self._parameters[name].type_.value
        if self._allow_undeclared_parameters:
            return Parameter.Type.NOT_SET.value
        raise ParameterNotDeclaredException(name)

    def get_parameters(self, names: list[str]) -> list[Parameter]:
        """Parameters by name. Raises as `get_parameter` does, and TypeError for names that are no str."""
        return [self.get_parameter(name) for name in _texts(names)]

    def get_parameter(self, name: str) -> Parameter:
        """A parameter. Raises ParameterNotDeclaredException, ParameterUninitializedException."""
        if name in self._parameters:
            parameter = self._parameters[name]
            if parameter.type_ is not Parameter.Type.NOT_SET or self._descriptors[name].dynamic_typing:
                return parameter
            raise ParameterUninitializedException(name)
        if self._allow_undeclared_parameters:
            return Parameter(name, Parameter.Type.NOT_SET, None)
        raise ParameterNotDeclaredException(name)

    def get_parameter_or(self, name: str, alternative_value: Parameter | None = None) -> Parameter:
        """A parameter, or the alternative where it has no value."""
        found = self._parameters.get(name)
        if found is not None and found.type_ is not Parameter.Type.NOT_SET:
            return found
        return Parameter(name, Parameter.Type.NOT_SET) if alternative_value is None else alternative_value

    def get_parameters_by_prefix(self, prefix: str) -> dict[str, Parameter]:
        """Rest of the name to parameter, for those below `prefix.`; all where the prefix is empty."""
        start = f"{prefix}{PARAMETER_SEPARATOR_STRING}" if prefix else ""
        return {n.removeprefix(start): p for n, p in self._parameters.items() if n.startswith(start)}

    def set_parameters(self, parameter_list: list[Parameter]) -> list[Any]:
        """Set parameters one by one; a SetParametersResult for each.

        Raises ParameterNotDeclaredException for the first that is undeclared, where that is not allowed, and
        TypeError for what is no Parameter.
        """
        results = []
        for parameter in parameter_list:
            results.append(self.set_parameters_atomically([parameter]))
        return results

    def set_parameters_atomically(self, parameter_list: list[Parameter]) -> Any:
        """Set all parameters or none; fails where a callback left none of those given.

        Raises ParameterNotDeclaredException.
        """
        changed = self._ros_before_setting(parameter_list)
        if not changed and self._pre_set_parameters_callbacks:
            return _failed(
                "parameter list cannot be empty, this might be due to pre_set_parameters_callback modifying "
                "the original parameters list."
            )
        self._ros_check_undeclared(changed)
        return self._ros_set_atomically(changed)

    def _ros_before_setting(self, parameters: list[Parameter]) -> list[Parameter]:
        for parameter in parameters:
            if not isinstance(parameter, Parameter):
                raise TypeError(f"parameter must be instance of type '{Parameter!r}', it was {parameter!r}")
        for callback in self._pre_set_parameters_callbacks:
            parameters = callback(parameters)
        return parameters

    def _ros_check_undeclared(self, parameters: list[Parameter]) -> None:
        unknown = [p.name for p in parameters if p.name not in self._parameters]
        if unknown and not self._allow_undeclared_parameters:
            raise ParameterNotDeclaredException(unknown)

    def _ros_set_atomically(
        self, parameters: list[Parameter], descriptors: dict[str, Any] | None = None, keep_unset: bool = False
    ) -> Any:
        for parameter in parameters:
            if descriptors is not None:
                descriptor = descriptors[parameter.name]
            else:
                descriptor = self._descriptors.get(parameter.name)
                if descriptor is None:  # undeclared, and allowed to be: of whatever type it gets
                    descriptor = _rcl("ParameterDescriptor")(dynamic_typing=True)
            descriptor.name = parameter.name
            known = self.has_parameter(parameter.name)
            reason = refusal(parameter, descriptor, known, descriptors is None, self.PARAM_REL_TOL)
            if reason:
                return _failed(reason)
        for callback in self._on_set_parameters_callbacks:
            result = callback(parameters)
            if not result.successful:
                return result
        event = _rcl("ParameterEvent")(node=self.get_fully_qualified_name())
        for parameter in parameters:
            self._ros_store(parameter, descriptors, keep_unset, event)
        event.stamp = self._clock.now().to_msg()
        self._parameter_event_publisher.publish(event)
        for after in self._post_set_parameters_callbacks:
            after(parameters)
        return _rcl("SetParametersResult")(successful=True)

    def _ros_store(
        self, parameter: Parameter, descriptors: dict[str, Any] | None, keep_unset: bool, event: Any
    ) -> None:
        name, message = parameter.name, parameter.to_parameter_msg()
        if parameter.type_ is Parameter.Type.NOT_SET and not keep_unset:
            self._parameters.pop(name, None)
            self._descriptors.pop(name, None)
            event.deleted_parameters.append(message)
            return
        if descriptors is not None:
            self._descriptors[name] = descriptors[name]
        elif name not in self._descriptors:
            kind = parameter.type_.value
            self._descriptors[name] = _rcl("ParameterDescriptor")(name=name, type=kind, dynamic_typing=True)
        known = self.get_parameter_or(name).type_ is not Parameter.Type.NOT_SET
        (event.changed_parameters if known else event.new_parameters).append(message)
        self._parameters[name] = parameter

    def list_parameters(self, prefixes: list[str], depth: int) -> Any:
        """A ListParametersResult; depth 0 is any. Raises TypeError and ValueError for other arguments."""
        if not isinstance(prefixes, list):
            raise TypeError("The prefixes argument must be a list")
        if not all(isinstance(prefix, str) for prefix in prefixes):
            raise TypeError("All prefixes must be instances of type str")
        if not isinstance(depth, int):
            raise TypeError("The depth must be instance of type int")
        if depth < 0:
            raise ValueError("The depth must be greater than or equal to zero")
        result = _rcl("ListParametersResult")()
        for name in self._parameters:
            if _listed(name, prefixes, depth):
                result.names.append(name)
                parent = name.rpartition(PARAMETER_SEPARATOR_STRING)[0]
                if parent and parent not in result.prefixes:
                    result.prefixes.append(parent)
        return result

    def describe_parameter(self, name: str) -> Any:
        """The descriptor of a parameter. Raises ParameterNotDeclaredException."""
        if name in self._descriptors:
            return self._descriptors[name]
        if self._allow_undeclared_parameters:
            return _rcl("ParameterDescriptor")()
        raise ParameterNotDeclaredException(name)

    def describe_parameters(self, names: list[str]) -> list[Any]:
        """The descriptors of parameters. Raises ParameterNotDeclaredException."""
        return [self.describe_parameter(name) for name in names]

    def set_descriptor(self, name: str, descriptor: Any, alternative_value: Any = None) -> Any:
        """Give a parameter another descriptor, and a value where the present one does not fit it; the value.

        Raises ParameterNotDeclaredException, ParameterImmutableException, InvalidParameterValueException.
        """
        if not self.has_parameter(name):
            if self._allow_undeclared_parameters:
                return self.get_parameter(name).get_parameter_value()
            raise ParameterNotDeclaredException(name)
        if self.describe_parameter(name).read_only:
            raise ParameterImmutableException(name)
        parameter = self._parameters[name]
        if alternative_value is not None:
            message = _rcl("Parameter")(name=name, value=alternative_value)
            parameter = Parameter.from_parameter_msg(message)
        descriptor.name = name
        reason = refusal(parameter, descriptor, True, False, self.PARAM_REL_TOL)
        if reason:
            raise InvalidParameterValueException(name, parameter.value, reason)
        self._descriptors[name] = descriptor
        self._parameters[name] = parameter
        return parameter.get_parameter_value()

    def add_pre_set_parameters_callback(self, callback: Callable[[list[Parameter]], list[Parameter]]) -> None:
        """Call before anything is checked; the callback answers what is to be set."""
        self._pre_set_parameters_callbacks.insert(0, callback)

    def add_on_set_parameters_callback(self, callback: Callable[[list[Parameter]], Any]) -> None:
        """Call to accept or reject new values by a SetParametersResult; it must have no side effects."""
        self._on_set_parameters_callbacks.insert(0, callback)

    def add_post_set_parameters_callback(self, callback: Callable[[list[Parameter]], None]) -> None:
        """Call after values were set."""
        self._post_set_parameters_callbacks.insert(0, callback)

    def remove_pre_set_parameters_callback(self, callback: Callable[..., Any]) -> None:
        """Take a callback back. Raises ValueError where it is not there."""
        self._pre_set_parameters_callbacks.remove(callback)

    def remove_on_set_parameters_callback(self, callback: Callable[..., Any]) -> None:
        """Take a callback back. Raises ValueError where it is not there."""
        self._on_set_parameters_callbacks.remove(callback)

    def remove_post_set_parameters_callback(self, callback: Callable[..., Any]) -> None:
        """Take a callback back. Raises ValueError where it is not there."""
        self._post_set_parameters_callbacks.remove(callback)


def _typed(name: str, value: Any, descriptor: Any) -> Any:
    """The default value, None where only a type is given; the descriptor gets the type."""
    if isinstance(value, _rcl("ParameterValue")):
        value = parameter_value_to_python(value)
    if isinstance(value, Parameter.Type):
        if value is Parameter.Type.NOT_SET:
            raise ValueError(f"Cannot declare parameter '{name}' as statically typed of type NOT_SET")
        if descriptor.dynamic_typing:
            raise ValueError(
                f"When declaring parameter '{name}', a type and a descriptor with "
                "dynamic_typing=True exclude each other"
            )
        descriptor.type = value.value
        return None
    if not descriptor.dynamic_typing:
        descriptor.type = Parameter.Type.from_parameter_value(value).value
        if value is None:
            raise ValueError(
                "Cannot declare a statically typed parameter with default value of type PARAMETER_NOT_SET"
            )
    return value


def _widened(value: Any, descriptor: Any) -> Any:
    """An empty list from a file has no element type of its own: it is of the declared one."""
    return [] if value == [] and descriptor.type >= Parameter.Type.BYTE_ARRAY.value else value


def _failed(reason: str) -> Any:
    return _rcl("SetParametersResult")(successful=False, reason=reason)


def _listed(name: str, prefixes: list[str], depth: int) -> bool:
    def shallow(text: str) -> bool:
        return depth == 0 or text.count(PARAMETER_SEPARATOR_STRING) < depth

    if not prefixes:
        return shallow(name)
    return any(
        name == prefix
        or (name.startswith(f"{prefix}{PARAMETER_SEPARATOR_STRING}") and shallow(name[len(prefix) + 1 :]))
        for prefix in prefixes
    )


def _texts(names: list[str]) -> list[str]:
    if not all(isinstance(name, str) for name in names):
        raise TypeError("All names must be instances of type str")
    return names
