"""Kernels: loops over arrays that are compiled to machine code, with the extra `fast`.

A kernel has the results of the same function in plain Python (`in_python`), bit for bit: laws of motion run so in small
worlds. Other parts have code on arrays beside it. `compiled.py` has the decorators, `turns.py` rotations for use in
kernels.
"""

from fleet_sim.kernels.compiled import (
    Kernel,
    check_installed,
    compiled,
    compiled_step,
    inlined,
    is_installed,
    is_usable,
)

__all__ = ["Kernel", "check_installed", "compiled", "compiled_step", "inlined", "is_installed", "is_usable"]
