"""The message store: commit log, consume queues, index, checkpoint, flush, recovery. See ``message_store``."""

from reference_impl.store.config import StoreConfig
from reference_impl.store.config_file import ConfigFile, ConfigUnreadable
from reference_impl.store.message_store import MessageStore, StoreUnloadable
from reference_impl.store.request import GetResult, GetStatus, PutRequest, PutResult, PutStatus

__all__ = [
    "ConfigFile",
    "ConfigUnreadable",
    "GetResult",
    "GetStatus",
    "MessageStore",
    "PutRequest",
    "PutResult",
    "PutStatus",
    "StoreConfig",
    "StoreUnloadable",
]
