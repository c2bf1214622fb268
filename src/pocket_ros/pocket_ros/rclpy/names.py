"""Rules for names: validation, expansion, and what discovery calls them."""

from __future__ import annotations

import re

from .exceptions import (
    InvalidNamespaceException,
    InvalidNodeNameException,
    InvalidParameterException,
    InvalidServiceNameException,
    InvalidTopicNameException,
    NameValidationException,
)

HIDDEN_TOPIC_PREFIX = "_"
TOPIC_SEPARATOR_STRING = "/"
_DIGIT_FIRST = re.compile(r"(?:^|/)\d")
_BAD = re.compile(r"[^A-Za-z0-9_/~{}]")
_MAX_NODE_NAME = 255
_MAX_TOPIC_NAME = 255 - 8  # DDS allows 255; prefixes such as `rt` and suffixes such as `Reply` take 8


def validate_node_name(node_name: str) -> bool:
    """True, or raises InvalidNodeNameException."""
    if not node_name:
        raise InvalidNodeNameException(node_name, "node name must not be empty", 0)
    bad = re.search(r"[^A-Za-z0-9_]", node_name)
    if bad:
        text = "node name must not contain characters other than alphanumerics or '_'"
        raise InvalidNodeNameException(node_name, text, bad.start())
    if node_name[0].isdigit():
        raise InvalidNodeNameException(node_name, "node name must not start with a number", 0)
    if len(node_name) > _MAX_NODE_NAME:
        raise InvalidNodeNameException(
            node_name, "node name length should not exceed '255'", _MAX_NODE_NAME - 1
        )
    return True


def validate_namespace(namespace: str) -> bool:
    """True, or raises InvalidNamespaceException."""
    if not namespace:
        raise InvalidNamespaceException(namespace, "namespace must not be empty", 0)
    if namespace[0] != "/":
        raise InvalidNamespaceException(namespace, "namespace must be absolute, it must lead with a '/'", 0)
    if namespace == "/":
        return True
    if namespace[-1] == "/":
        raise InvalidNamespaceException(
            namespace, "namespace must not end with a '/', unless only a '/'", len(namespace) - 1
        )
    bad = re.search(r"[^A-Za-z0-9_/]", namespace)
    if bad:
        text = "namespace must not contain characters other than alphanumerics, '_', or '/'"
        raise InvalidNamespaceException(namespace, text, bad.start())
    problem = _token_problem(namespace)
    if problem:
        raise InvalidNamespaceException(namespace, "namespace " + problem[0], problem[1])
    return True


def validate_topic_name(name: str, *, is_service: bool = False) -> bool:
    """True, or raises InvalidTopicNameException (InvalidServiceNameException for services)."""
    error = InvalidServiceNameException if is_service else InvalidTopicNameException
    if not name:
        raise error(name, "topic name must not be empty string", 0)
    if name[-1] == "/":
        raise error(name, "topic name must not end with a forward slash", len(name) - 1)
    bad = _BAD.search(name)
    if bad:
        raise error(
            name,
            "topic name must not contain characters other than alphanumerics, '_', '~', '{', or '}'",
            bad.start(),
        )
    tilde = name.find("~")
    if tilde > 0:
        raise error(name, "topic name must not have tilde '~' unless it is the first character", tilde)
    if tilde == 0 and len(name) > 1 and name[1] != "/":
        text = "topic name must not have a tilde '~' that is not followed by a forward slash '/'"
        raise error(name, text, 1)
    if name.count("{") != name.count("}"):
        text = "topic name must not have unmatched (unbalanced) curly braces '{}'"
        raise error(name, text, max(name.find("{"), name.find("}")))
    digit = _DIGIT_FIRST.search(name)
    if digit:
        raise error(name, "topic name token must not start with a number", digit.end() - 1)
    return True


def validate_full_topic_name(name: str, *, is_service: bool = False) -> bool:
    """`validate_topic_name` for an expanded name: absolute, without empty parts, not too long for DDS."""
    error = InvalidServiceNameException if is_service else InvalidTopicNameException
    if not name.startswith("/"):
        raise error(name, "topic name must be absolute, it must lead with a '/'", 0)
    validate_topic_name(name, is_service=is_service)
    if "//" in name:
        raise error(name, "topic name must not contain repeated '/'", name.index("//") + 1)
    if len(name) > _MAX_TOPIC_NAME:
        raise error(name, f"topic length should not exceed '{_MAX_TOPIC_NAME}'", _MAX_TOPIC_NAME - 1)
    return True


def expand_topic_name(topic_name: str, node_name: str, node_namespace: str) -> str:
    """The absolute name: `~`, `{node}` and `{namespace}` replaced.

    Raises ValueError for a topic name that cannot be expanded, and for a node name or a namespace that is
    none; a namespace is absolute.
    """
    try:
        validate_topic_name(topic_name)
        validate_node_name(node_name)
        validate_namespace(node_namespace)
    except NameValidationException as error:
        raise ValueError(f"{error.name_type} is invalid: {error}") from None
    namespace = node_namespace
    base = namespace.rstrip("/")
    if topic_name.startswith("~"):
        topic_name = f"{base}/{node_name}{topic_name[1:]}"
    topic_name = (
        topic_name.replace("{node}", node_name).replace("{ns}", namespace).replace("{namespace}", namespace)
    )
    if "{" in topic_name:
        raise ValueError(
            f"topic name '{topic_name}' is invalid: unknown substitution; "
            "known are {node}, {ns} and {namespace}"
        )
    return topic_name if topic_name.startswith("/") else f"{base}/{topic_name}"


def validate_parameter_name(name: str) -> bool:
    """True, or raises InvalidParameterException for an empty name."""
    if not name:
        raise InvalidParameterException(name)
    return True


def topic_or_service_is_hidden(name: str) -> bool:
    """Whether a part of the name starts with an underscore."""
    return any(part.startswith(HIDDEN_TOPIC_PREFIX) for part in name.split("/"))


def _token_problem(name: str) -> tuple[str, int] | None:
    doubled = name.find("//")
    if doubled >= 0:
        return "must not contain repeated '/'", doubled + 1
    digit = _DIGIT_FIRST.search(name)
    if digit:
        return "must not have a token that starts with a number", digit.end() - 1
    return None
