"""A client of a dialogue's own: brokers may ask it, and it is in whichever group the round says.

Question: who stands behind a group that nobody of the load belongs to?

Model. One client for all rounds of an operator, on a node that the load leaves free. It is nowhere before the first
:meth:`Newcomer.enter`; from then on its heartbeats name the group that it entered last. What it tells of itself and
what it says when it is asked is for whoever derives from it.
"""

from __future__ import annotations

from harness.workloads.parts import PartHost
from harness.workloads.workload import Stage
from reference_impl.client.client import Client, ClientSettings, Part
from reference_impl.environment import Environment


def newcomer(stage: Stage) -> tuple[str, Client]:
    """The node and the client; whoever adds it to the backend starts it."""
    name = stage.load.spare_client("newcomers")
    settings = ClientSettings(ip=stage.backend.host(name), nameservers=tuple(stage.nameservers.values()), instance=name)
    return name, Client(settings)


class Newcomer(Part):
    """A member of one group after the other."""

    def __init__(self, host: PartHost) -> None:
        self._stage, (self.name, self.client) = host.stage, newcomer(host.stage)
        self.topic = self.group = ""
        self._is_there = False
        self.client.parts.append(self)

    def enter(self, topic: str, group: str) -> None:
        """Be in that group from now on."""
        self.topic, self.group = topic, group
        if not self._is_there:
            self._is_there = True
            self._stage.backend.add_client(self.name, self.client)
        self._stage.backend.step(self.name, self._look_for_brokers)

    def _look_for_brokers(self, env: Environment) -> None:
        self.client.routes.refresh(env, self.topic, lambda env, _status: self.client.heartbeat(env))
