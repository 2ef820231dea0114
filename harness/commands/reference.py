"""``mqchaos namesrv`` and ``mqchaos broker``: the reference RocketMQ by itself.

The words are the reference's own (``python -m mqchaos.reference_impl``) and are handed over as they are, ``--help``
included.
"""

from __future__ import annotations

from collections.abc import Sequence


def hand_over(words: Sequence[str]) -> int:
    """Run one node until it ends; returns its exit code."""
    from reference_impl.__main__ import main

    return main(words)
