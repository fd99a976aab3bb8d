"""Spark as a carrier of packed rows: DataFrames, `mapInArrow`, and Parquet for what is kept.

Only DataFrame operations are used, which classic and Connect sessions both have. What a stage made is written to the
work folder and read from there: an executor that is lost takes nothing with it that another could not read.
"""

from __future__ import annotations

import atexit
import hashlib
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import lookalike.errors
from lookalike.engines.packed.blobs import PLACE, Arrays1D, pack, table_schema, unpack
from lookalike.engines.packed.carrier import StageWork
from lookalike.errors import LookalikeError, OptionError, UnavailableError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SharedFile", "SparkCarrier", "SparkTable", "plain_errors", "settings", "spark_functions"]

# What is set while stages run: batches of a few MB, whatever the size of a row. The smaller table of a meeting goes to
# every executor where its file is no larger than this: it passes through the driver, which has 1 GB by default.
_SETTINGS = {
    "spark.sql.autoBroadcastJoinThreshold": str(64 << 20),
    "spark.sql.execution.arrow.maxBytesPerBatch": str(8 << 20),
    "spark.sql.parquet.columnarReaderBatchSize": "64",
}
_OURS = re.compile(r"lookalike\.errors\.(\w+): (.+)")


def spark_functions() -> Any:
    """`pyspark.sql.functions`; an error that names the extra where it is not installed."""
    try:
        from pyspark.sql import functions
    except ImportError as error:
        raise UnavailableError("pyspark is not installed: pip install 'lookalike[spark]'") from error
    return functions


@contextmanager
def plain_errors() -> Iterator[None]:
    """Give the user an error of ours that was raised in a task as it was raised there, and not in a stack of Java."""
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        told = _OURS.search(str(error))
        kind = getattr(lookalike.errors, told[1], None) if told else None
        if told is None or not (isinstance(kind, type) and issubclass(kind, LookalikeError)):
            raise
        raise kind(told[2].strip()) from None


@contextmanager
def settings(session: SparkSession) -> Iterator[None]:
    """Set what stages need, and put back what was there."""
    before = {name: session.conf.get(name, None) for name in _SETTINGS}
    for name, value in _SETTINGS.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, known in before.items():
            if known is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, known)


@dataclass(frozen=True)
class SparkTable:
    """A table of packed rows; with `parts` it is to be parted by p, as soon as a stage asks for its parts."""

    frame: DataFrame
    kinds: tuple[str, ...]
    parts: int | None = None


@dataclass(frozen=True)
class SharedFile:
    """Arrays in a file that Spark brings to every machine once."""

    name: str

    def read(self) -> Arrays1D:
        from pyspark import SparkFiles

        return unpack(Path(SparkFiles.get(self.name)).read_bytes())


class SparkCarrier:
    """Carries tables as DataFrames; what is saved goes to a folder that all machines reach."""

    def __init__(self, session: SparkSession, folder: str, *, named: bool = False, resume: bool = False) -> None:
        """In a folder that the user named, stages are marked when they are done; with `resume` these are taken over."""
        self._session, self._folder = session, folder.rstrip("/")
        self._named, self._resume = named, resume
        # Which tables were taken over from an earlier run.
        self.taken_over: list[str] = []
        # What it took to make each table that was saved.
        self.seconds: dict[str, float] = {}
        self._functions = spark_functions()

    def map(self, table: SparkTable, work: StageWork, kinds: Sequence[str]) -> SparkTable:
        return SparkTable(self.mapped(table, work, table_schema(kinds)), tuple(kinds))

    def mapped(self, table: SparkTable, work: StageWork, columns: pa.Schema) -> DataFrame:
        """What a stage makes of each part, as a DataFrame with these columns."""
        frame, parts, schema = table.frame, table.parts, spark_schema(columns)
        if parts is None:
            return frame.mapInArrow(partial(_called, work), schema)
        if hasattr(frame, "repartitionById"):
            place = self._functions.col(PLACE).cast("int")
            return frame.repartitionById(parts, place).mapInArrow(partial(_called, work), schema)
        # Before 4.1 rows can be brought to a task by what they have in common, not by its number.
        return frame.groupBy(PLACE).applyInArrow(_on_tables(work, columns), schema)

    def exchange(self, table: SparkTable, parts: int) -> SparkTable:
        return replace(table, parts=parts)

    def gather(self, table: SparkTable) -> SparkTable:
        # No exchange: what is saved is read by the task that needs it.
        return replace(table, frame=table.frame.coalesce(1), parts=None)

    def meet(self, many: SparkTable, few: SparkTable, *, every: bool) -> SparkTable:
        joined = many.frame.join(few.frame, PLACE, "left" if every else "inner")
        return SparkTable(joined, (*many.kinds, *few.kinds))

    def together(self, *tables: SparkTable) -> SparkTable:
        kinds = tuple(dict.fromkeys(kind for table in tables for kind in table.kinds))
        frame = tables[0].frame
        for table in tables[1:]:
            frame = frame.unionByName(table.frame, allowMissingColumns=True)
        return SparkTable(frame.select(PLACE, *kinds), kinds)

    def only(self, table: SparkTable, *kinds: str) -> SparkTable:
        there = self._functions.lit(False)
        for kind in kinds:
            there = there | self._functions.col(kind).isNotNull()
        return SparkTable(table.frame.select(PLACE, *kinds).where(there), kinds)

    def save(self, name: str, table: SparkTable) -> SparkTable:
        # Hashes do not compress, and dictionaries of blobs would be copies of them.
        plain = {
            "compression": "uncompressed",
            "parquet.enable.dictionary": "false",
            "parquet.block.size": str(16 << 20),
        }
        return SparkTable(self.save_frame(name, table.frame, plain), table.kinds)

    def save_frame(self, name: str, frame: DataFrame, options: Mapping[str, str] = MappingProxyType({})) -> DataFrame:
        """A DataFrame as Parquet, read from there."""
        path = self.path(name)
        began, schema = time.perf_counter(), frame.schema
        if self._resume and self._is_done(path):
            self.taken_over.append(name)
            return self._session.read.schema(schema).parquet(path)
        with plain_errors(), self._told_if_there():
            # Only a run that is taken up writes over what a killed one left unfinished.
            frame.write.mode("overwrite" if self._resume else "error").options(**options).parquet(path)
            if self._named:
                done = self._session.createDataFrame([(name,)], "stage string").coalesce(1)
                done.write.mode("overwrite" if self._resume else "error").parquet(f"{path}.done")
        self.seconds[name] = time.perf_counter() - began
        return self._session.read.schema(schema).parquet(path)

    def path(self, name: str) -> str:
        """Where a table is kept."""
        return f"{self._folder}/{name.replace(' ', '-')}"

    def _is_done(self, path: str) -> bool:
        """Whether an earlier run wrote all of a table: a folder alone may be one that was not finished."""
        from pyspark.errors import AnalysisException

        try:
            return self._session.read.schema("stage string").parquet(f"{path}.done").count() == 1
        except AnalysisException:
            return False

    @contextmanager
    def _told_if_there(self) -> Iterator[None]:
        """Say what to do where an earlier run left its stages."""
        from pyspark.errors import AnalysisException

        try:
            yield
        except AnalysisException as error:
            if error.getCondition() != "PATH_ALREADY_EXISTS":
                raise
            raise OptionError(
                f"there are stages of an earlier run with these options in {self._folder}: continue them with "
                "resume=True, or give another folder with work"
            ) from None

    def collect(self, table: SparkTable, *kinds: str) -> tuple[list[Arrays1D], ...]:
        with plain_errors():
            found = self.only(table, *kinds).frame.select(*kinds).toArrow()
        values = (found.column(kind).drop_null() for kind in kinds)
        return tuple([unpack(memoryview(value.as_buffer())) for value in column] for column in values)

    def made(self, rows: Sequence[pa.RecordBatch], kinds: Sequence[str]) -> SparkTable:
        table = pa.Table.from_batches(rows, schema=table_schema(kinds))
        schema = spark_schema(table.schema)
        frame = (
            self._session.createDataFrame(table, schema) if len(table) else self._session.createDataFrame([], schema)
        )
        # Spark does not know how small it is.
        return SparkTable(self._functions.broadcast(frame), tuple(kinds))

    def share(self, name: str, arrays: Arrays1D) -> SharedFile:
        # By its contents, since a session knows a file by its name, and tells tasks of all runs the same ones.
        blob = pack(arrays)
        shared = SharedFile(f"lookalike-{name}-{hashlib.blake2b(blob, digest_size=12).hexdigest()}")
        # Executors fetch it when they first have a task, and new ones may come as long as the session lasts.
        folder = tempfile.mkdtemp(prefix="lookalike-spark-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        path = Path(folder) / shared.name
        path.write_bytes(blob)
        self._session.addArtifacts(str(path), file=True)
        return shared


_TYPES = {
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "binary",
}


def spark_schema(columns: pa.Schema) -> str:
    """Columns as Spark writes them."""
    return ", ".join(f"`{field.name}` {_TYPES[field.type]}" for field in columns)


def _called(work: StageWork, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A stage on the batches of a task; Spark wants an iterator, whatever a stage gives."""
    return iter(work(batches))


def _on_tables(work: StageWork, columns: pa.Schema) -> Callable[[pa.Table], pa.Table]:
    """A stage on all rows of a number at once; Spark reads from the types of a plain function what it takes."""

    def called(table: pa.Table) -> pa.Table:
        return pa.Table.from_batches(list(work(iter(table.to_batches()))), schema=columns)

    return called
