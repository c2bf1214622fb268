"""A launch file that cannot be used."""

from collections.abc import Sequence


class InvalidLaunchFileError(Exception):
    """Says what each way of reading the file complained about."""

    def __init__(self, extension: str = "", *, likely_errors: Sequence[BaseException] = ()) -> None:
        super().__init__(extension)
        self.extension = extension
        self.likely_errors = list(likely_errors)

    def __str__(self) -> str:
        if not self.likely_errors:
            return "The launch file may have a syntax error, or its format is unknown"
        reasons = "\n".join(f"- {type(e).__name__}: {e}" for e in self.likely_errors)
        kind = self.extension or "launch file"
        return f"Caught multiple exceptions when trying to load file of format [{kind}]:\n {reasons}"
