"""Every verb there is, one file a family."""

from faults.catalogue.disk import CUT_POWER
from faults.catalogue.loss import ADOPT_SLAVE, WIPE
from faults.catalogue.network import ISOLATE, PARTITION
from faults.catalogue.process import KILL, PAUSE, RESTART, STOP
from faults.verb import Verb

VERBS: dict[str, Verb] = {
    verb.name: verb for verb in (KILL, STOP, PAUSE, RESTART, CUT_POWER, WIPE, ADOPT_SLAVE, PARTITION, ISOLATE)
}

__all__ = ["VERBS"]
