"""Load by kind. A kind is a class that takes a :class:`Stage` and is a :class:`Workload`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from harness.workloads.batches import BatchWorkload
from harness.workloads.external import ExternalWorkload
from harness.workloads.group import GroupWorkload
from harness.workloads.log import LogWorkload
from harness.workloads.looking import LookingProducerWorkload, LookingWorkload
from harness.workloads.producers import ProducerWorkload
from harness.workloads.push import DelayedWorkload, PushWorkload
from harness.workloads.routes import RoutesWorkload
from harness.workloads.scripts import metadata, order, permissions, promotion, replication
from harness.workloads.workload import Stage, Workload

KINDS: Final[dict[str, Callable[[Stage], Workload]]] = {
    "log": LogWorkload,
    "batch": BatchWorkload,
    "routes": RoutesWorkload,
    "producer": ProducerWorkload,
    "group": GroupWorkload,
    "push": PushWorkload,
    "push-delayed": DelayedWorkload,
    "external": ExternalWorkload,
    "external-ordered": partial(ExternalWorkload, in_order=True),
    "permissions": partial(LookingWorkload, script=permissions),
    "order": partial(LookingWorkload, script=order),
    "metadata": partial(LookingWorkload, script=metadata),
    "replication": partial(LookingWorkload, script=replication),
    "moving": partial(LookingProducerWorkload, script=replication),
    "promotion": partial(LookingProducerWorkload, script=promotion),
}


def make_workload(kind: str, stage: Stage) -> Workload:
    """The load of that *kind*; ``KeyError`` for one that scenario files would not have let pass."""
    return KINDS[kind](stage)
