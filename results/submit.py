"""What ``spark-submit`` is given: the command line of mqchaos, in the session that it starts.

    spark-submit --master spark://host:7077 …/results/submit.py lake marts --lake LAKE

Spark takes a Python file by its ending, which the command ``mqchaos`` does not have.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    # Run as a file, the folder that it is in is on the path; of a checkout it is the one above that is wanted.
    above = Path(__file__).resolve().parent.parent
    sys.path[0] = str(above.parent if above.name == "mqchaos" else above)
    from mqchaos.harness.cli import main

    sys.exit(main())
