"""What nodes left on their disks, as far as checkers look at it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class NodeDump:
    """What one node left. Positions are physical; ``queued`` maps (topic, queue id) to offset → position."""

    node: str
    broker: str
    log: Mapping[int, int] = field(default_factory=dict)
    """message → position, for messages before the end of the log."""
    log_end: int = -1
    behind: Mapping[int, int] = field(default_factory=dict)
    """message → position, for those that can be recognised behind the end."""
    queued: Mapping[tuple[str, int], Mapping[int, int]] = field(default_factory=dict)
    is_first_master: bool = False
