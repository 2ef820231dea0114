"""Bugs of a member whose disk or whose table of waiting proposals does not do what it should."""

from __future__ import annotations

from collections.abc import Hashable
from random import Random
from typing import Final

import msgspec

from reference_impl.broker import Broker
from reference_impl.defects.defect import BrokerDefect, substitute
from reference_impl.defects.protocol import GoOn, around, engine_of
from reference_impl.dledger.codes import Code, Role
from reference_impl.dledger.events import DiskFailed, Done, Effect, Input
from reference_impl.dledger.settings import Settings
from reference_impl.dledger.state import Member
from reference_impl.dledger.turn import LogView
from reference_impl.environment import Environment
from reference_impl.store.forcing import Forcing


def _leads_on(member: Member, log: LogView, it: Input, go_on: GoOn) -> list[Effect]:
    """What could not be written is refused, and nothing else follows."""
    if not isinstance(it, DiskFailed) or member.role != Role.LEADER:
        return go_on()
    for progress in member.progress.values():
        progress.next = min(progress.next, log.end_index + 1)
        progress.in_flight = {at: sent for at, sent in progress.in_flight.items() if at <= log.end_index}
    refused = [member.pending.pop(at) for at in list(member.pending) if at > log.end_index]
    return [Done(one.ref, Code.DISK_ERROR) for one in refused if one.is_local]


class SeesNoError(Forcing):
    """Every force has been one."""

    def on_disk_error(self, env: Environment, token: Hashable, error: str) -> bool:
        return super().on_synced(env, token)


def keeps_slots(broker: Broker) -> None:
    """Each proposal that was not decided in time counts as waiting for as long as this member leads."""
    engine, kept = engine_of(broker), 0
    true = engine.step

    def wrong(settings: Settings, member: Member, log: LogView, now: int, rng: Random, it: Input) -> list[Effect]:
        nonlocal kept
        kept = kept if member.role == Role.LEADER else 0
        fewer = msgspec.structs.replace(settings, max_pending=settings.max_pending - kept)
        effects = true(fewer, member, log, now, rng, it)
        kept += sum(isinstance(it, Done) and it.code == Code.WAIT_QUORUM_ACK_TIMEOUT for it in effects)
        return effects

    engine.step = wrong


GROUP_DISK: Final = {
    "group-leads-with-a-dead-disk": BrokerDefect(
        around(_leads_on),
        "a leader whose writes fail goes on leading",
        "a group that takes no message while two members and their disks are well",
        "elections",
        ("A17",),
        "dledger#287: leadership depends on heart beats only",
    ),
    "group-counts-failed-forces": BrokerDefect(
        lambda broker: substitute(engine_of(broker).forcing, SeesNoError),
        "with strict persistence a member answers as if it had forced what could not be forced",
        "acknowledged messages lost when a majority loses its power, although members answer from their disks",
        "accounting",
        ("A24",),
        "dledger, mapped files: the exception of a force is logged, and the flushed position goes on",
    ),
    "group-keeps-slots": BrokerDefect(
        keeps_slots,
        "a proposal that timed out counts as waiting for as long as its leader leads",
        "a leader that refuses all messages long after its followers are back",
        "availability",
        ("A30",),
        "dledger 0.3.1.2: futures that timed out stay in the table of pending ones, which has 10,000 places",
    ),
}
