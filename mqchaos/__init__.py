"""mqchaos: break a RocketMQ cluster and judge what its clients saw. The one name that is installed.

    from mqchaos.checkers import LogInput, check_log          checkers as a library
    python -m mqchaos.reference_impl broker -c broker.conf     the reference broker by itself
    python -m mqchaos run single-master-kill                   the command line

Installed, the rooms (``checkers``, ``faults``, ``harness``, ``reference_impl``, ``results``) are packages below this
one. In a checkout they lie beside it, and :mod:`mqchaos.checkout` gives them these names as well.
"""

from os.path import dirname, isdir, join

__version__ = "0.1.0"

if not isdir(join(dirname(__file__), "harness")):
    from mqchaos.checkout import install

    install()
