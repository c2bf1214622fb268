"""Helpers for launch tests."""

from .keep_alive_proc import KeepAliveProc
from .proc_lookup import NO_CMD_ARGS, NoMatchingProcessException, resolveProcesses

__all__ = ["NO_CMD_ARGS", "KeepAliveProc", "NoMatchingProcessException", "resolveProcesses"]
