"""Files that Spark reads, as rows that are numbered by where they stand: file by file, and by their place in it.

So items have the numbers that the local engine gives them, however Spark cuts the files, and no order of rows is relied
on. Files come in the order of their names.

    Parquet           tells the place of each row (`_metadata.row_index`): rows are numbered as they are read
    JSONL, CSV, lines tell the block of the file that a task reads. A copy of the rows is written to the work folder,
                      with the block and a count that rises within it. The rows of each block are counted there, and
                      the blocks of a file follow one another.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lookalike.engines.packed.numbering import NUMBER, POSITION_BITS
from lookalike.engines.spark.spark_carrier import SparkCarrier, plain_errors, spark_functions
from lookalike.errors import InputError, OptionError, UnavailableError
from lookalike.io.reading.formats import DATA_ENDINGS, DELIMITED, endings
from lookalike.io.reading.formats.delimited import delimiter_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["FORMATS", "LOCAL_JAVA", "NumberedRows", "SparkFiles", "check_addresses", "one_line_errors", "open_session"]

# What Spark reads here, with the options that make it read as the local engine does: nothing is guessed or left out.
_CSV = {"header": "true", "multiLine": "true", "escape": '"', "mode": "FAILFAST", "enforceSchema": "false"}
_READ: dict[str, tuple[str, Mapping[str, str]]] = {
    "parquet": ("parquet", {"mergeSchema": "true"}),
    "jsonl": ("json", {"mode": "FAILFAST"}),
    "csv": ("csv", _CSV),
    "tsv": ("csv", _CSV | {"sep": "\t"}),
    "lines": ("text", {}),
}
FORMATS = tuple(_READ)
# On one machine a run is over before its virtual machine has compiled itself as well as it could; it moves bytes, and
# what computes is in Python. Together these were worth 20 of 47 seconds of CPU for 100,000 documents.
LOCAL_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_RAISED = re.compile(r"[A-Z]\w*(Error|Exception): ")
_FILE, _BLOCK, _COUNT, _PART, _BASE = (f"_lookalike_{name}" for name in ("file", "block", "count", "part", "base"))


@contextmanager
def open_session(master: str | None) -> Iterator[SparkSession]:
    """The session that is there or that `spark-submit` describes; `master` says where it runs if that is given.

    One that was begun here is ended here.
    """
    spark_functions()
    from pyspark.sql import SparkSession

    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    there = SparkSession.getActiveSession()
    builder = SparkSession.builder.appName("lookalike")
    if master is not None and master.startswith("local"):
        # The Python that runs this, and not the first one on the path: that need not have what this one has.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        # Those that the user set come after these, and so hold.
        builder = builder.config("spark.driver.defaultJavaOptions", LOCAL_JAVA)
    with one_line_errors():
        session = there or (builder if master is None else builder.master(master)).getOrCreate()
    try:
        yield session
    finally:
        if there is None:
            session.stop()


@contextmanager
def one_line_errors() -> Iterator[None]:
    """What Spark refuses, in one of its lines; errors of ours as they were raised."""
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        with plain_errors():
            yield
    except (PySparkException, Py4JJavaError) as error:
        lines = [line.strip() for line in str(getattr(error, "java_exception", None) or error).splitlines()]
        # The last word of a traceback, or else the first line.
        raised = [line for line in lines if _RAISED.match(line)]
        line = (raised or [line for line in lines if line] or [type(error).__name__])[-1 if raised else 0]
        raise UnavailableError(f"Spark: {line}") from error


@dataclass(frozen=True)
class NumberedRows:
    """All rows with a number each, how many each part of the numbering has, and where each file begins."""

    frame: DataFrame
    parts: dict[int, int]
    first_rows: list[int]


class SparkFiles:
    """Files at addresses that Spark reads: files, folders with all that is below them, and patterns."""

    def __init__(
        self, session: SparkSession, addresses: Sequence[str], format: str | None = None, delimiter: str | None = None
    ) -> None:
        """List the files; their endings tell which format they have, and headers how CSV is parted, if nobody does."""
        check_addresses(addresses, format)
        self.session, self.addresses = session, list(addresses)
        self._addresses = [_in_full(each) for each in addresses]
        listed = self._listed()
        names = [each["path"] for each in listed]
        self.format = format or _format_of(names)
        if delimiter is not None and self.format not in DELIMITED:
            raise OptionError(f"delimiter (--delimiter) is for CSV files, and these are {self.format}")
        self._said = delimiter
        meant = [_ending_format(name) == self.format for name in names]
        # Files of a folder that are something else are left alone, unless all are.
        self._by_ending = any(meant) and not all(meant)
        self._files = [each for each, of in zip(listed, meant, strict=True) if of or not self._by_ending]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the files, as the local engine tells them."""
        relative = all(not each.startswith("/") and "://" not in each for each in self.addresses)
        return tuple(_told(each["path"], relative=relative) for each in self._files)

    @property
    def fingerprints(self) -> list[dict[str, Any]]:
        """What tells whether a file has changed."""
        return [
            {"name": name, "format": self.format, "size": each["length"], "time": _nanoseconds(each["time"])}
            | ({} if self._said is None else {"delimiter": self._said})
            for name, each in zip(self.names, self._files, strict=True)
        ]

    @property
    def places(self) -> tuple[str, ...]:
        """Where the files are, in full."""
        return tuple(each["path"] for each in self._files)

    @cached_property
    def frame(self) -> DataFrame:
        """The rows as Spark reads them, in no order."""
        kind, options = _READ[self.format]
        with one_line_errors():
            if self._said is not None or self.format == "csv":
                options = {**options, "sep": self._said or self._delimiter()}
            frame: DataFrame = self._reader().options(**options).format(kind).load(self._addresses)
        return frame.withColumnRenamed("value", "text") if self.format == "lines" else frame

    def _delimiter(self) -> str:
        """What parts the cells, by the header of the first file; one with another header has other columns, which Spark
        refuses."""
        first = self._reader().format("text").load(self._files[0]["path"])
        lines = first.filter("trim(value) != ''").limit(1).collect()
        return delimiter_of([row["value"] for row in lines])

    def numbered(self, carrier: SparkCarrier, name: str = "input") -> NumberedRows:
        """The rows with a number each, by file and by place in it; `name` is that of a copy, if there must be one."""
        functions = spark_functions()
        hidden = self.frame.metadataColumn("_metadata")
        keys = [_FILE] if self.format == "parquet" else [_FILE, _BLOCK]
        rows = self.frame.withColumn(_FILE, hidden["file_path"])
        if self.format == "parquet":
            rows = rows.withColumn(_COUNT, hidden["row_index"])
        else:
            rows = rows.withColumn(_BLOCK, hidden["file_block_start"])
            rows = rows.withColumn(_COUNT, functions.monotonically_increasing_id())
            rows = carrier.save_frame(name, rows)
        with one_line_errors():
            counted = rows.groupBy(*keys).agg(functions.min(_COUNT).alias(_BASE), functions.count("*").alias("rows"))
            found = counted.toArrow().to_pylist()
        place = {each["key"]: number for number, each in enumerate(self._files)}
        _check_listed({each[_FILE] for each in found} - set(place))
        found.sort(key=lambda each: (place[each[_FILE]], each.get(_BLOCK, 0)))
        for number, each in enumerate(found):
            each[_PART] = number
        schema = pa.schema([(name, pa.string() if name == _FILE else pa.int64()) for name in (*keys, _PART, _BASE)])
        table = pa.Table.from_pylist([{name: each[name] for name in schema.names} for each in found], schema)
        known = functions.broadcast(self.session.createDataFrame(table)) if found else None
        if known is not None:
            number = functions.shiftleft(functions.col(_PART), POSITION_BITS) + functions.col(_COUNT)
            rows = rows.join(known, keys, "left").withColumn(NUMBER, number - functions.col(_BASE))
        else:
            rows = rows.withColumn(NUMBER, functions.lit(0).cast("bigint"))
        frame = rows.select(*(f"`{name}`" for name in self.frame.columns), NUMBER)
        of_file = Counter[str]()
        for each in found:
            of_file[each[_FILE]] += each["rows"]
        firsts, total = [], 0
        for each in self._files:
            firsts.append(total)
            total += of_file[each["key"]]
        return NumberedRows(frame, {each[_PART]: each["rows"] for each in found}, firsts)

    def _reader(self) -> Any:
        reader = self.session.read.option("recursiveFileLookup", "true")
        if not self._by_ending:
            return reader
        meant = sorted(ending[1:] for ending, of in _endings().items() if of == self.format)
        return reader.option("pathGlobFilter", f"*.{{{','.join(meant)}}}{{,.gz,.bz2,.zst,.xz}}")

    def _listed(self) -> list[dict[str, Any]]:
        """All files at the addresses, by name; only their names, sizes and times are looked at."""
        with one_line_errors():
            found = self.session.read.option("recursiveFileLookup", "true").format("binaryFile").load(self._addresses)
            key = found.metadataColumn("_metadata")["file_path"].alias("key")
            time = found["modificationTime"].alias("time")
            listed: list[dict[str, Any]] = found.select("path", "length", time, key).toArrow().to_pylist()
        if not listed:
            raise InputError(f"{', '.join(self.addresses)}: there are no files")
        return sorted(listed, key=lambda each: str(each["path"]))


def check_addresses(addresses: Sequence[str], format: str | None) -> None:
    if format is not None and format not in _READ:
        raise OptionError(f"format is {format!r}: Spark reads {', '.join(FORMATS)}")
    for each in addresses:
        if each == "-":
            raise OptionError("standard input is on one machine: give Spark files, folders or patterns")
        if "**" in each:
            raise OptionError(f"{each}: Spark does not support **; give the folder to read all files below it")


def _in_full(address: str) -> str:
    """A path from the working folder on is one of this machine, whatever file system Spark takes for granted."""
    path = address if "://" in address else os.path.expanduser(address)  # noqa: PTH111 (an address is no path)
    return path if "://" in path or path.startswith("/") else f"file://{Path.cwd() / path}"


def _endings() -> dict[str, str]:
    return DATA_ENDINGS | {".json": "jsonl"}


def _ending_format(name: str) -> str | None:
    return _endings().get(endings(name)[0])


def _format_of(names: Sequence[str]) -> str:
    """The one format that the files have by their endings; files without a known ending are left alone."""
    found = sorted({each for each in map(_ending_format, names) if each is not None})
    if not found:
        raise InputError(f"{names[0]}: its ending does not show the format; give it with --format")
    if len(found) > 1:
        raise InputError(f"there are {' and '.join(found)} files: choose one with --format")
    if found[0] not in _READ:
        raise InputError(f"{names[0]}: Spark reads {', '.join(FORMATS)} here, not {found[0]}: run it on one machine")
    return found[0]


def _check_listed(others: set[str]) -> None:
    if others:
        raise InputError(f"{min(others)} appeared during the run: run again when all files are written")


def _told(path: str, *, relative: bool) -> str:
    """A file of this machine by its path, another one by its address."""
    local = re.fullmatch(r"file:/*(/.*)", path, re.DOTALL)
    if local is None:
        return path
    return os.path.relpath(local[1]) if relative else local[1]


def _nanoseconds(time: datetime) -> int:
    past = time - datetime(1970, 1, 1, tzinfo=UTC)
    return (past.days * 86_400 + past.seconds) * 10**9 + past.microseconds * 1_000
