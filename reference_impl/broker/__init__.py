"""The reference broker: single master and multi-master."""

from reference_impl.broker.broker import Broker
from reference_impl.broker.config import BrokerConfig

__all__ = ["Broker", "BrokerConfig"]
