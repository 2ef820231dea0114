"""Roles over asyncio and real files: the world of processes and containers.

``run_role`` is a whole node, ``AsyncioEnvironment`` is one role's door to the world (the harness hosts its clients
with it, many in one loop), ``Disk`` is the node's folder.
"""

from reference_impl.runtime.asyncio_environment import AsyncioEnvironment
from reference_impl.runtime.disk import Disk
from reference_impl.runtime.network import SocketFactory, open_tcp_socket
from reference_impl.runtime.process import EXIT_CRASH, EXIT_LOCKED, run_role

__all__ = [
    "EXIT_CRASH",
    "EXIT_LOCKED",
    "AsyncioEnvironment",
    "Disk",
    "SocketFactory",
    "open_tcp_socket",
    "run_role",
]
