"""Type hashes as the graph reports them."""

from __future__ import annotations

from typing import Any


class TypeHash:
    """A version and 32 bytes; prints as `RIHS01_<hex>`, or INVALID."""

    __slots__ = ("value", "version")

    def __init__(self, version: int = -1, value: bytes = bytes(32)) -> None:
        self.version = version
        self.value = value

    @classmethod
    def from_string(cls, text: str) -> TypeHash:
        """Reads `RIHS01_<64 hex digits>`; anything else is the invalid hash."""
        prefix, _, digits = text.partition("_")
        if not prefix.startswith("RIHS") or len(digits) != 64:
            return cls()
        return cls(int(prefix[4:]), bytes.fromhex(digits))

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, TypeHash) and (self.version, self.value) == (other.version, other.value)

    def __hash__(self) -> int:
        return hash((self.version, self.value))

    def __str__(self) -> str:
        return "INVALID" if self.version < 0 else f"RIHS{self.version:02}_{self.value.hex()}"

    def __repr__(self) -> str:
        return f"TypeHash(version={self.version}, value={self.value!r})"
