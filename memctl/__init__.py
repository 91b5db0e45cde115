"""memctl: what language-model agents remember, in plain files.

The public names are resolved on first use (PEP 562), so `import memctl` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memctl.errors import MemctlError as MemctlError

__version__ = "0.1.0"
