"""Which IPv4 address a node has: a function of its name, so that it is known before the node is.

Question: what does ``10.2.1.1`` mean in a log? Answer: ``broker-a-0``.

    namesrv-3 → 10.1.0.3    broker-a-0 → 10.2.1.1    broker-c-2 → 10.2.3.3    client-7 → 10.3.0.7
    operator → 10.3.255.1   anything else → 10.4.x.y, in the order of asking

Limits. 254 NameServers, brokers ``a`` to ``z`` with ids 0 to 253, 65,000 clients; beyond that: in the order of asking.
"""

from __future__ import annotations

import re

_NAMESRV = re.compile(r"namesrv-([1-9]\d*)")
_BROKER = re.compile(r"broker-([a-z])-(0|[1-9]\d*)")
_CLIENT = re.compile(r"client-([1-9]\d*)")
OPERATOR = "10.3.255.1"


class Hosts:
    """The address book of one world."""

    def __init__(self) -> None:
        self._others: dict[str, str] = {}

    def of(self, node: str) -> str:
        """The address; always the same for the same name."""
        return _by_name(node) or self._in_order(node)

    def _in_order(self, node: str) -> str:
        if node not in self._others:
            high, low = divmod(len(self._others), 250)
            self._others[node] = f"10.4.{high}.{low + 1}"
        return self._others[node]


def _by_name(node: str) -> str:
    if node == "operator":
        return OPERATOR
    if (match := _NAMESRV.fullmatch(node)) and 0 < int(match[1]) < 255:
        return f"10.1.0.{int(match[1])}"
    if (match := _BROKER.fullmatch(node)) and int(match[2]) < 254:
        return f"10.2.{ord(match[1]) - ord('a') + 1}.{int(match[2]) + 1}"
    if (match := _CLIENT.fullmatch(node)) and 0 < int(match[1]) < 255 * 250:
        high, low = divmod(int(match[1]) - 1, 250)
        return f"10.3.{high}.{low + 1}"
    return ""
