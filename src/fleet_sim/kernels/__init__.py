"""Kernels: loops over arrays that are compiled to machine code, with the extra `traffic`."""

from fleet_sim.kernels.compiled import Kernel, compiled

__all__ = ["Kernel", "compiled"]
