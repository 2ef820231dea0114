"""``python -m mqchaos``: the command line."""

import sys

from mqchaos.harness.cli import main

sys.exit(main())
