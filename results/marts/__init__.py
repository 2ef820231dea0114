"""The tables that dashboards read, one module a table, each a Spark SQL query over the lake's raw tables.

A mart is at most some thousand rows, so it is written as one Parquet file by the driver: any reader opens it without
Spark. Every module has ``QUERY`` and says in its docstring what one row means.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from results.lake import SCHEMAS, LakeError
from results.marts import losses, recoveries, verdicts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MARTS = {"verdicts": verdicts.QUERY, "losses": losses.QUERY, "recoveries": recoveries.QUERY}

_SPARK_TYPES = {pa.int64(): "bigint", pa.string(): "string"}


def build(lake: Path, out: Path) -> dict[str, int]:
    """Build every mart from *lake* into *out*; name → number of rows. Starts Spark, and stops it."""
    from results.session import spark_session

    if not (lake / "runs").is_dir():
        raise LakeError(f"{lake}: no runs have landed here (mqchaos lake RUN… brings them in)")
    with spark_session("mqchaos marts") as spark:
        register(spark, lake)
        out.mkdir(parents=True, exist_ok=True)
        return {name: _write(spark, query, out / f"{name}.parquet") for name, query in MARTS.items()}


def register(spark: SparkSession, lake: Path) -> None:
    """The lake's tables as temporary views, with their schemas given: inferring them costs a look at every file."""
    for table, schema in SCHEMAS.items():
        columns = ", ".join(f"`{field.name}` {_SPARK_TYPES[field.type]}" for field in schema)
        frame = spark.read.schema(f"{columns}, mode string, day string").parquet(str(lake / table))
        frame.createOrReplaceTempView(table)


def _write(spark: SparkSession, query: str, path: Path) -> int:
    table = spark.sql(query).toArrow()
    pq.write_table(table, path, compression="zstd")
    return len(table)
