"""All cases on a Connect session, in a process of its own: no process has two kinds. Prints what they found."""

from __future__ import annotations

import json
import sys
import warnings


def main() -> None:
    warnings.simplefilter("ignore", FutureWarning)
    from pyspark.sql import SparkSession

    from lookalike.engines.spark import spark_run
    from tests.engines.spark.same_cases import ON_CONNECT, on_spark

    options = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        # As in the cluster of the other tests: most of the time would go into compiling what runs once.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    builder = SparkSession.builder.remote("local[2]")
    for name, value in options.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    # As in the other tests, a few hundred items go to two tasks.
    spark_run._ENTRIES = 32_000
    told = {}
    for case in ON_CONNECT:
        # Plans that Spark changes as it goes: it takes long where there is little to do, so once.
        session.conf.set("spark.sql.adaptive.enabled", str(case == "text").lower())
        told[case] = on_spark(session, case)
    said = {"session": type(session).__module__, "told": told}
    sys.stdout.write(json.dumps(said))
    session.stop()


if __name__ == "__main__":
    main()
