"""Real processes on this machine: one a server node, clients in the harness's own process.

What each kind of user can do with it stands in ``docs/backends.md``.
"""

from harness.backends.process.backend import ProcessBackend
from harness.backends.process.capabilities import Isolation, Machine, scan

__all__ = ["Isolation", "Machine", "ProcessBackend", "scan"]
