"""What a process writes, line by line to the loggers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .logging import get_output_loggers


class ProcessOutput:
    """Cuts two streams into lines, logs them, and keeps the text where asked to."""

    def __init__(
        self,
        name: str,
        output: str | Mapping[str, str | set[str]],
        format_line: Callable[[str], str],
        *,
        keep: bool,
    ) -> None:
        self._loggers = dict(zip(("stdout", "stderr"), get_output_loggers(name, output), strict=True))
        self._format_line = format_line
        self._rest = {"stdout": b"", "stderr": b""}
        self._kept: dict[str, list[bytes]] | None = {"stdout": [], "stderr": []} if keep else None

    def write(self, stream: str, data: bytes) -> None:
        """Take a piece of a stream (`stdout` or `stderr`) and log the lines it completes."""
        if self._kept is not None:
            self._kept[stream].append(data)
        *lines, self._rest[stream] = (self._rest[stream] + data).split(b"\n")
        for line in lines:
            self._log(stream, line)

    def flush(self) -> None:
        """Log what is left of a last line that was not ended."""
        for stream, rest in self._rest.items():
            if rest:
                self._log(stream, rest)
                self._rest[stream] = b""

    def text(self, stream: str) -> str:
        """All that was kept of a stream."""
        return b"".join(self._kept[stream] if self._kept else []).decode(errors="replace")

    def _log(self, stream: str, line: bytes) -> None:
        self._loggers[stream].info("%s", self._format_line(line.rstrip(b"\r").decode(errors="replace")))
