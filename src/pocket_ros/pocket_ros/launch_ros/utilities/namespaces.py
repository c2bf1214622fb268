"""Namespaces as text."""


def is_root_namespace(ns: str) -> bool:
    """Whether it is `/`."""
    return ns == "/"


def is_namespace_absolute(ns: str) -> bool:
    """Whether it begins with `/`."""
    return ns.startswith("/")


def make_namespace_absolute(ns: str) -> str:
    """The namespace below the root."""
    return ns if is_namespace_absolute(ns) else f"/{ns}"


def prefix_namespace(base_ns: str | None = None, ns: str | None = None) -> str | None:
    """A namespace inside another; an absolute one stands alone, None leaves the other as it is."""
    if ns is None:
        return base_ns
    if base_ns is None or not base_ns or is_namespace_absolute(ns):
        combined = ns
    elif not ns:
        combined = base_ns
    else:
        combined = f"{base_ns.rstrip('/')}/{ns}"
    return combined.rstrip("/") if combined != "/" else combined
