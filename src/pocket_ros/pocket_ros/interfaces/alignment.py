"""What is known about a position in CDR bytes while code is generated."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Alignment:
    """The position, counted from the first field, is congruent to `residue` modulo `modulus`."""

    modulus: int = 8
    residue: int = 0

    def padding(self, size: int) -> int | None:
        """Bytes to the next multiple of `size`; None where that is only known when the code runs."""
        return -self.residue % size if self.modulus >= size else None

    def aligned(self, size: int) -> None:
        """The position has been padded, at run time, to a multiple of `size`."""
        self.modulus, self.residue = size, 0

    def advance(self, size: int) -> None:
        self.residue = (self.residue + size) % self.modulus

    def forget(self, modulus: int = 1) -> None:
        """Only that the position is a multiple of `modulus` remains known."""
        self.modulus, self.residue = modulus, 0

    def implies(self, other: Alignment) -> bool:
        """Whether every position that fits this fits `other`."""
        return self.modulus >= other.modulus and self.residue % other.modulus == other.residue
