"""Search text for what a test expects.

PYTEST_DONT_REWRITE
"""

from ..text_match import build_line_match, build_text_match, normalize_lineseps

__all__ = ["build_line_match", "build_text_match", "normalize_lineseps"]
