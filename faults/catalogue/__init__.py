"""Every verb there is, one file a family."""

from faults.catalogue.clock import STEP_CLOCK
from faults.catalogue.connections import REFUSE_CONNECTS, RESET_LINKS
from faults.catalogue.dead import DEAD_DISK, READ_ONLY_DISK
from faults.catalogue.disk import CUT_POWER, FAIL_SYNC, FLIP_BITS, HANG_DISK, SLOW_DISK
from faults.catalogue.files import DAMAGE_FILES
from faults.catalogue.foreign import FOREIGN_DISK
from faults.catalogue.links import DROP_FRAMES, SLOW_LINK
from faults.catalogue.loss import ADOPT_SLAVE, RETURN_STALE, WIPE
from faults.catalogue.network import ISOLATE, PARTITION
from faults.catalogue.operator import PROMOTE, RECONFIGURE
from faults.catalogue.process import KILL, PAUSE, RESTART, STOP
from faults.catalogue.resources import EXHAUST_FILES, OUT_OF_MEMORY, STARVE_CPU
from faults.catalogue.shapes import BRIDGE, RING
from faults.catalogue.space import FILL_DISK
from faults.verb import Verb

_ALL = (
    *(KILL, STOP, PAUSE, RESTART),
    *(STARVE_CPU, EXHAUST_FILES, OUT_OF_MEMORY),
    *(CUT_POWER, FAIL_SYNC, SLOW_DISK, HANG_DISK, DEAD_DISK, READ_ONLY_DISK),
    *(FLIP_BITS, DAMAGE_FILES, FILL_DISK, WIPE, ADOPT_SLAVE, RETURN_STALE, FOREIGN_DISK),
    *(PARTITION, ISOLATE, RING, BRIDGE, REFUSE_CONNECTS, RESET_LINKS, SLOW_LINK, DROP_FRAMES),
    STEP_CLOCK,
    *(RECONFIGURE, PROMOTE),
)

VERBS: dict[str, Verb] = {verb.name: verb for verb in _ALL}

__all__ = ["VERBS"]
