"""RocketMQ's clients as roles: producer, pull and push consumer, administration."""

from reference_impl.client.admin import Admin, AdminAnswer
from reference_impl.client.client import Client, ClientSettings
from reference_impl.client.consumer import PullConsumer, PullSettings
from reference_impl.client.model import (
    Attempt,
    Message,
    MessageQueue,
    Observer,
    PulledMessage,
    PullOutcome,
    SendResult,
    TopicRoute,
)
from reference_impl.client.orderly import OrderlyConsumer
from reference_impl.client.producer import Producer, ProducerSettings
from reference_impl.client.push import PushConsumer, PushSettings
from reference_impl.client.requesting import Replier, Requester
from reference_impl.client.transactional import TransactionProducer, TransactionState

__all__ = [
    "Admin",
    "AdminAnswer",
    "Attempt",
    "Client",
    "ClientSettings",
    "Message",
    "MessageQueue",
    "Observer",
    "OrderlyConsumer",
    "Producer",
    "ProducerSettings",
    "PullConsumer",
    "PullOutcome",
    "PullSettings",
    "PulledMessage",
    "PushConsumer",
    "PushSettings",
    "Replier",
    "Requester",
    "SendResult",
    "TopicRoute",
    "TransactionProducer",
    "TransactionState",
]
