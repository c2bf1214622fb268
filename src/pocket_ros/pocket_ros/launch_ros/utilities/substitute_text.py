"""Substitutions written inside text: `$(var name)`, `$(env NAME default)`, `$(find-pkg-share
package)` and others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...launch.frontend.parse_substitution import parse_substitution
from ...launch.utilities import perform_substitutions

if TYPE_CHECKING:
    from ...launch.launch_context import LaunchContext


def substitute_text(context: LaunchContext, text: str) -> str:
    """The text with every `$(…)` replaced; what they give is not looked at again.

    Raises ValueError for a substitution that does not exist, is badly written or has too few or many words.
    """
    return perform_substitutions(context, parse_substitution(text))
