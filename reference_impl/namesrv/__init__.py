"""The NameServer: routes from registrations, liveness from connections and the wall clock."""

from reference_impl.namesrv.config import NamesrvConfig
from reference_impl.namesrv.name_server import NameServer

__all__ = ["NameServer", "NamesrvConfig"]
