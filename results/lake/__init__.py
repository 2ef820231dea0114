"""A store of many runs as partitioned Parquet that any engine reads: what is in it, how runs come in, how it is kept.

| module | question |
|---|---|
| ``schemas`` | which tables and columns are there? |
| ``places`` | how is a path, a URI or an object store read and written? |
| ``folders`` | what does one run folder hold, and is it whole? |
| ``commits`` | which runs and files are in the lake, and since when? |
| ``ingest`` | how do runs come in: once, whole, judged again, or quarantined? |
| ``upkeep`` | how does it stay small: compaction, retention, verification? |
"""

from results.lake.commits import Lake
from results.lake.folders import DamagedRun
from results.lake.schemas import SCHEMAS

__all__ = ["SCHEMAS", "DamagedRun", "Lake"]
