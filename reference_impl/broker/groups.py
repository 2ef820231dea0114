"""The consumer groups of one broker: what each may do, how often it retries, which broker it should read from.

Question: may this group consume here, and by which rules?

Model (RocketMQ: SubscriptionGroupManager). A table by name with one version. Built-in groups exist from the start. An
unknown group is made when it is first asked for, unless ``autoCreateSubscriptionGroup`` is false; groups of the system
(CID_RMQ_SYS_…) are made in any case.
"""

from __future__ import annotations

from typing import Any, Final

from reference_impl.broker.config import BrokerConfig
from reference_impl.broker.pretty import pretty
from reference_impl.wire.bodies import DataVersion, SubscriptionGroupConfig, SubscriptionGroupTable
from reference_impl.wire.dialect import convert, write_json

SYSTEM_GROUP_PREFIX: Final = "CID_RMQ_SYS_"
BUILT_IN_GROUPS: Final = (
    "TOOLS_CONSUMER",
    "FILTERSRV_CONSUMER",
    "SELF_TEST_C_GROUP",
    "CID_ONS-HTTP-PROXY",
    "CID_ONSAPI_PULL",
    "CID_ONSAPI_PERMISSION",
    "CID_ONSAPI_OWNER",
)


class GroupTable:
    """The table; ``changed`` is True until the caller has saved it."""

    def __init__(self, config: BrokerConfig) -> None:
        self.config = config
        self.version = DataVersion()
        self.changed = False
        self.groups = {name: SubscriptionGroupConfig(group_name=name) for name in BUILT_IN_GROUPS}

    def start_version(self, wall_ms: int) -> None:
        """Give the table a time where no file has brought one."""
        if not self.version.timestamp:
            self.version = DataVersion(timestamp=wall_ms)

    def load(self, parsed: Any) -> None:
        """Take over the parsed subscriptionGroup.json."""
        table = convert(parsed, SubscriptionGroupTable)
        self.groups.update(table.subscription_group_table)
        self.version = table.data_version

    def take(self, table: SubscriptionGroupTable) -> bool:
        """A slave becomes what its master is; True if the versions differ."""
        if self.version.same_as(table.data_version):
            return False
        self.groups, self.version = dict(table.subscription_group_table), table.data_version
        return True

    def find(self, name: str, wall_ms: int) -> SubscriptionGroupConfig | None:
        """The group, made if it may be; ``None`` where it may not."""
        group = self.groups.get(name)
        if group is None and (self.config.auto_create_group or name.startswith(SYSTEM_GROUP_PREFIX)):
            group = SubscriptionGroupConfig(group_name=name)
            self.put(group, wall_ms)
        return group

    def put(self, group: SubscriptionGroupConfig, wall_ms: int) -> None:
        """Create or replace (UPDATE_AND_CREATE_SUBSCRIPTIONGROUP)."""
        self.groups[group.group_name] = group
        self._bump(wall_ms)

    def remove(self, name: str, wall_ms: int) -> None:
        """Delete; an unknown group is no error."""
        if self.groups.pop(name, None) is not None:
            self._bump(wall_ms)

    def _bump(self, wall_ms: int) -> None:
        self.version = self.version.next(wall_ms)
        self.changed = True

    def answer_body(self) -> bytes:
        """The body of GET_ALL_SUBSCRIPTIONGROUP_CONFIG."""
        return write_json(SubscriptionGroupTable(self.version, self.groups))

    def file_text(self) -> str:
        """The text of subscriptionGroup.json."""
        return pretty({"dataVersion": self.version, "subscriptionGroupTable": self.groups})
