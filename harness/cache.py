"""Where things are kept that can be fetched or made again: jars, a Java home for Spark."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """``$XDG_CACHE_HOME/mqchaos``, by default ``~/.cache/mqchaos``; not made here."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mqchaos"
