"""Partitions as nftables tables: one table a partition and namespace, removed by its name.

Question: how is a partition made so that it can be undone by anybody, at any time, without touching another? Each is a
table of its own (``mqc_NAME``) in the namespace of every node it concerns, with a chain on input and one on output. A
drop in any table is final. Removing the table removes the partition and nothing else; there are no rule handles to
remember.

Both ends drop, on the way in and on the way out: dropping at one end only leaks what is already queued behind it.
A port class matches source *or* destination port of TCP and UDP, so that answers and connections opened by either side
are covered.

What gets through all the same is counted: a third chain, on input and behind every drop, counts the bytes of packets
that should not have come so far. It says 0 for as long as the partition holds, and more where a rule is missing.

Limits. IPv4. Existing connections stay open and stall: after a partition of seconds TCP comes back only when its own
retransmission timer fires (0.7–2.7 s after one of 4 s), so the time of the heal is not the time of recovery.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from faults.levers import PortClass
from faults.mechanisms.command import call
from faults.mechanisms.netns import argv_inside

TABLE_PREFIX = "mqc_"
LEAKED = "leaked"

PORTS: dict[PortClass, tuple[int, ...]] = {
    "any": (),
    "broker": (10911, 10909),
    "namesrv": (9876,),
    "ha": (10912,),
}
"""RocketMQ's ports by class; ``any`` matches every packet, of every protocol."""


@dataclass(frozen=True)
class Drop:
    """Packets from any of *sources* to any of *targets* (IPv4 literals) on one port class are dropped."""

    sources: tuple[str, ...]
    targets: tuple[str, ...]
    port_class: PortClass = "any"
    only_new: bool = False
    """Only what opens a TCP connection to a port of the class."""


def table_name(partition: str) -> str:
    """The table of a partition: its name with everything that nft would not take in a name replaced."""
    return TABLE_PREFIX + re.sub(r"[^A-Za-z0-9_]", "_", partition)


def install(namespace: str, partition: str, drops: Sequence[Drop]) -> None:
    """Make the partition's table in the namespace, at once (one transaction); replaces one of the same name."""
    call(argv_inside(namespace, ["nft", "-f", "-"]), text=_script(table_name(partition), drops))


def remove(namespace: str, partition: str) -> bool:
    """Remove the partition's table; False if there is none."""
    return remove_table(namespace, table_name(partition))


def remove_table(namespace: str, table: str) -> bool:
    """Remove a table of ours; False if there is none."""
    if not table.startswith(TABLE_PREFIX):
        raise ValueError(f"not a table of ours: {table!r}")
    if table not in list_tables(namespace):
        return False
    call(argv_inside(namespace, ["nft", "delete", "table", "ip", table]))
    return True


def leaked_bytes(namespace: str, partition: str) -> int:
    """Bytes of IP packets that arrived in the namespace although the partition drops them; 0 if there is no such
    partition here."""
    table = table_name(partition)
    if table not in list_tables(namespace):
        return 0
    listed = json.loads(call(argv_inside(namespace, ["nft", "-j", "list", "counters", "table", "ip", table])))
    return sum(entry["counter"]["bytes"] for entry in listed["nftables"] if "counter" in entry)


def list_tables(namespace: str) -> list[str]:
    """Names of our tables in the namespace, sorted."""
    listed = json.loads(call(argv_inside(namespace, ["nft", "-j", "list", "tables"])))
    names = [entry["table"]["name"] for entry in listed["nftables"] if "table" in entry]
    return sorted(name for name in names if name.startswith(TABLE_PREFIX))


def _script(table: str, drops: Sequence[Drop]) -> str:
    rules, counting = (
        "\n".join(f"        {rule} {verdict}" for drop in drops for rule in _rules(drop))
        for verdict in ("drop", f"counter name {LEAKED}")
    )
    return f"""table ip {table}
delete table ip {table}
table ip {table} {{
    counter {LEAKED} {{ }}
    chain input {{
        type filter hook input priority -10; policy accept;
{rules}
    }}
    chain output {{
        type filter hook output priority -10; policy accept;
{rules}
    }}
    chain arrived {{
        type filter hook input priority 10; policy accept;
{counting}
    }}
}}
"""


def _rules(drop: Drop) -> list[str]:
    """Which packets it means; what is done with them follows."""
    pair = f"ip saddr {_set(drop.sources)} ip daddr {_set(drop.targets)}"
    ports = _set(tuple(str(port) for port in PORTS[drop.port_class]))
    if drop.only_new:
        towards = f"tcp dport {ports} " if PORTS[drop.port_class] else ""
        return [f"{pair} {towards}tcp flags & (syn | ack) == syn"]
    if not PORTS[drop.port_class]:
        return [pair]
    return [f"{pair} meta l4proto {{ tcp, udp }} th {side} {ports}" for side in ("sport", "dport")]


def _set(values: tuple[str, ...]) -> str:
    return "{ " + ", ".join(values) + " }"
