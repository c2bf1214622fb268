"""Sizes, struct formats and NumPy and array types of the primitive types."""

from __future__ import annotations

FORMATS = {
    "bool": "?",
    "byte": "c",
    "char": "B",
    "int8": "b",
    "uint8": "B",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
    "float32": "f",
    "float64": "d",
}
SIZES = {
    base: {"h": 2, "H": 2, "i": 4, "I": 4, "f": 4}.get(f, 8 if f in "qQd" else 1)
    for base, f in FORMATS.items()
}
# Sequences of these are `array.array` of that type code, fixed arrays are NumPy arrays of that dtype.
TYPE_CODES = {base: f for base, f in FORMATS.items() if base not in ("bool", "byte")}
DTYPES = {base: "uint8" if base == "char" else base for base in FORMATS if base not in ("bool", "byte")}
# The names that `get_fields_and_field_types` uses.
IDL_NAMES = {
    "bool": "boolean",
    "byte": "octet",
    "char": "uint8",
    "float32": "float",
    "float64": "double",
}
