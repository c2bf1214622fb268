"""Kernels: loops over arrays that are compiled to machine code, with the extra `fast`."""

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
