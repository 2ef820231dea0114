"""Which port class a port of a node belongs to: what ``LinkSet(…, port_class="ha")`` means.

Question: is 10912 of this node its HA port? It depends on the node's properties, with RocketMQ's defaults.

Limits. Ports that no property names are class ``other`` and only ``any`` hits them.
"""

from __future__ import annotations

from harness.backends.backend import NodeSpec
from harness.backends.sim.weather import PORT_CLASS_BITS

NAMESRV_PORT = 9876
BROKER_PORT = 10911
FAST_CHANNEL = -2
"""RocketMQ: BrokerController, the fast remoting server listens on ``listenPort − 2``."""
HA_CHANNEL = 1
"""RocketMQ: BrokerStartup, ``haListenPort`` is ``listenPort + 1`` unless it is set."""


def port_bits(spec: NodeSpec) -> dict[int, int]:
    """port → bit of its class."""
    if spec.kind == "namesrv":
        return {int(spec.properties.get("listenPort", NAMESRV_PORT)): PORT_CLASS_BITS["namesrv"]}
    port = int(spec.properties.get("listenPort", BROKER_PORT))
    ha = int(spec.properties.get("haListenPort", port + HA_CHANNEL))
    broker = PORT_CLASS_BITS["broker"]
    return {port: broker, port + FAST_CHANNEL: broker, ha: PORT_CLASS_BITS["ha"]}
