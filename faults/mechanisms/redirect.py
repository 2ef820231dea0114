"""Connections led through a proxy without anybody being told another address: nftables in the namespace of the server.

Question: brokers and clients learn addresses from each other (registration, routes). How does a link stay proxied
after discovery? The address stays, and packets of new connections from some hosts to a port are redirected to the
proxy's port on the same machine; the proxy calls the real port from inside, where no rule fits. A connection that was
there before is reset by its next packet, and comes back through the proxy.

Taking the rules away leaves proxied connections as they are (the kernel remembers each), so a heal disturbs nobody.

Limits. IPv4, TCP. The server sees the proxy's address (its own) as that of its client.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from faults.mechanisms import nft
from faults.mechanisms.command import call
from faults.mechanisms.netns import argv_inside


@dataclass(frozen=True)
class Detour:
    """Connections from *source* to *port* go to *proxy_port*."""

    source: str
    port: int
    proxy_port: int


def install(namespace: str, name: str, detours: Sequence[Detour]) -> None:
    """Make the table of *name* in the namespace, at once; it is removed as that of a partition (``nft.remove``)."""
    call(argv_inside(namespace, ["nft", "-f", "-"]), text=_script(nft.table_name(name), detours))


def connection_count(namespace: str, ports: Sequence[int]) -> int:
    """How many established connections end at these ports of the namespace."""
    wanted = {f"{port:04X}" for port in ports}
    # Programs in Go listen for both families with one socket.
    lines = call(argv_inside(namespace, ["cat", "/proc/self/net/tcp", "/proc/self/net/tcp6"])).splitlines()
    fields = (line.split() for line in lines if ":" in line.split()[0])
    return sum(local.rpartition(":")[2] in wanted and state == "01" for _, local, _, state, *_ in fields)


def _script(table: str, detours: Sequence[Detour]) -> str:
    led = "\n".join(f"        ip saddr {d.source} tcp dport {d.port} redirect to :{d.proxy_port}" for d in detours)
    old = "\n".join(f"        ip saddr {d.source} tcp dport {d.port} reject with tcp reset" for d in detours)
    return f"""table ip {table}
delete table ip {table}
table ip {table} {{
    chain lead {{
        type nat hook prerouting priority -100; policy accept;
{led}
    }}
    chain old {{
        type filter hook input priority 0; policy accept;
{old}
    }}
}}
"""
