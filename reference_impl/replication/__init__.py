"""Classic master/slave replication: the log by RocketMQ's HA protocol, the tables by requests."""

from reference_impl.replication.config import ReplicationConfig
from reference_impl.replication.metadata import SlaveTables
from reference_impl.replication.replication import Replication

__all__ = ["Replication", "ReplicationConfig", "SlaveTables"]
