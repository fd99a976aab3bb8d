"""The options of the verbs: one table, from which Python, the command line and the documentation are made.

An option is an entry of a class below: its name, its type, and in `Option` everything else there is to say of it. A
verb takes the options of the classes that its own is made of. What is made of the table:

    type checkers and editors   read the classes: `**options: Unpack[DedupOptions]`
    `help(lookalike.dedup)`     has the signature and the text that `takes` makes
    `lookalike dedup --help`    has the parameters that `cli/command_options.py` makes
    `make_config`               takes defaults and checks from here (`checked`)

Beside a default stands what it buys. Annotations are evaluated here, since they are the table.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, Literal, TypeAlias, TypedDict

from lookalike.measure_table import MEASURES
from lookalike.options import allowed
from lookalike.options.allowed import Number, Whole
from lookalike.options.option_table import EXPERT, LARGE, MATCHING, READING, Option
from lookalike.shingle import NORMALIZATIONS, Shingle
from lookalike.wording.progress import Progress

__all__ = [
    "ClustersOptions",
    "CollectionOptions",
    "ConfigOptions",
    "DedupOptions",
    "Delimited",
    "IndexBuildOptions",
    "IndexOptions",
    "NeighborsOptions",
    "PairsOptions",
    "PlanOptions",
    "ReadOptions",
    "TextOptions",
    "TuneOptions",
]


# What shells complete.
_MEASURES = tuple(name.removesuffix("R") for name in MEASURES)
_SHINGLES = ("word:5", "word:3", "word:1", "char:9", "char:5", "word:3:bag")

# Options that several tables have, in orders of their own.
Seed: TypeAlias = Annotated[
    int,
    Option(
        "The seed of all hashes. If strangers send you items, use a random 128-bit seed and keep it secret.",
        default=0,
        check=Whole(0, 2**128 - 1, "a whole number from 0 to 2^128 - 1"),
        panel=EXPERT,
        envvar="LOOKALIKE_SEED",
    ),
]
Normalize: TypeAlias = Annotated[
    str | Iterable[str] | None,
    Option(
        "Differences to ignore, separated by commas: lower, accents, digits, punctuation, whitespace; or none.",
        in_python="A list of these names works, too.",
        panel=MATCHING,
        suggested=(*NORMALIZATIONS, "none"),
        listed=True,
        typed=str | None,
    ),
]
Html: TypeAlias = Annotated[
    bool,
    Option(
        "The items are web pages: compare their main text, without menus and footers.", default=False, panel=MATCHING
    ),
]
Weights: TypeAlias = Annotated[
    Literal["tf-idf", "bm25", "count"] | None,
    Option("How to weight shingles for weighted-jaccard and cosine.", stands_for="tf-idf", panel=MATCHING),
]
IndexWeights: TypeAlias = Annotated[
    Literal["tf-idf", "bm25", "count"] | None,
    Option(
        "How to weight shingles for weighted-jaccard and cosine. An index supports count only.",
        stands_for="count",
        panel=MATCHING,
    ),
]
Exact: TypeAlias = Annotated[bool, Option("Match identical items only.", default=False, panel=MATCHING)]
TokensOption: TypeAlias = Annotated[
    Callable[[str], Iterable[str]] | None,
    Option(
        "Your own tokenizer: a function that takes a text and returns its tokens.",
        panel=EXPERT,
        typed=str | None,
        metavar="MODULE:FUNCTION",
    ),
]


class LimitOptions(TypedDict, total=False):
    """What counts as alike, and how much of it must be found."""

    measure: Annotated[
        str | None,
        Option(
            "jaccard, weighted-jaccard, containment, cosine, dot, hamming, euclidean, manhattan or lr:R. "
            "By default it follows from the type of the items.",
            check=allowed.text,
            suggested=_MEASURES,
            panel=MATCHING,
        ),
    ]
    # At 0.8 of five-word shingles two texts differ in about one word of fifty.
    threshold: Annotated[
        float | None,
        Option(
            "Minimum similarity of a match.",
            stands_for="0.8",
            check=allowed.similarity,
            panel=MATCHING,
            short="-t",
        ),
    ]
    max_distance: Annotated[
        float | None,
        Option(
            "Maximum distance of a match: for hamming the number of bits that differ, for jaccard and cosine "
            "1 - similarity.",
            check=allowed.distance,
            panel=MATCHING,
        ),
    ]
    # Of the pairs right at the threshold, 99 in 100 are found; of more similar ones, nearly all.
    recall: Annotated[
        float,
        Option(
            "Share of the pairs at the threshold that the search must find; 1 compares all pairs.",
            default=0.99,
            check=Number(above=0, up_to=1),
            panel=MATCHING,
        ),
    ]


class Bands(TypedDict, total=False):
    """The plan, for those who want to make it themselves."""

    bands: Annotated[
        int | None, Option("Number of bands; by default the planner chooses it.", check=Whole(1, 10_000), panel=EXPERT)
    ]
    rows: Annotated[
        int | None,
        Option("Number of rows per band; by default the planner chooses it.", check=Whole(1, 10_000), panel=EXPERT),
    ]


class Shingles(TypedDict, total=False):
    """What of a text is compared."""

    shingle: Annotated[
        str | Shingle | None,
        Option(
            "What to compare in a text: runs of K words (word:K) or characters (char:K); word:K:bag counts repeats.",
            stands_for="word:5",
            suggested=_SHINGLES,
            panel=MATCHING,
            typed=str | None,
        ),
    ]


class TextOptions(Shingles, total=False):
    """How a text becomes a set."""

    normalize: Normalize


class Columns(TypedDict, total=False):
    """Where the items stand in a row."""

    column: Annotated[
        str | Sequence[str] | None,
        Option(
            "The column that holds the items; several columns are joined.",
            check=allowed.names,
            panel=READING,
            typed=list[str] | None,
            short="-c",
        ),
    ]


class VectorColumn(TypedDict, total=False):
    """The column with the items, if these are vectors."""

    vectors: Annotated[
        str | None, Option("The column that holds vectors to compare.", check=allowed.name, panel=READING)
    ]


class SetColumn(TypedDict, total=False):
    """The column with the items, if these are sets."""

    sets: Annotated[str | None, Option("The column that holds sets to compare.", check=allowed.name, panel=READING)]


class ComparedColumns(TypedDict, total=False):
    """The columns that rows are compared by, one by one."""

    compare: Annotated[
        str | Sequence[str] | None,
        Option(
            "Compare rows column by column: COLUMN:char:K, COLUMN:word:K, COLUMN:equal or COLUMN:set, and a weight, "
            "such as title:char:4:2.",
            on_command="May be given several times.",
            check=allowed.names,
            panel=MATCHING,
            typed=list[str] | None,
            metavar="COLUMN:HOW[:WEIGHT]",
        ),
    ]


class ItemOptions(TypedDict, total=False):
    """What items are called, and what becomes of those that cannot be compared."""

    id: Annotated[
        str | None,
        Option("The column that holds the ids; the default is the row number.", check=allowed.name, panel=READING),
    ]
    skip_bad: Annotated[
        bool, Option("Skip items that cannot be read or compared, and count them.", default=False, panel=READING)
    ]


class Running(TypedDict, total=False):
    """How a run is computed."""

    # 0 is public; a secret one keeps strangers from preparing texts that collide (`key.py`).
    seed: Seed
    threads: Annotated[int | None, Option("Number of threads; all cores by default.", check=Whole(1), panel=EXPERT)]


class Common(
    LimitOptions, TextOptions, Columns, VectorColumn, SetColumn, ComparedColumns, ItemOptions, Bands, Running,
    total=False,
):  # fmt: skip
    """What `pairs`, `clusters` and `dedup` take alike."""

    html: Html
    max_share: Annotated[
        float | None,
        Option(
            "Ignore shingles that occur in more than this share of the documents.",
            check=Number(above=0, below=1),
            panel=MATCHING,
        ),
    ]
    weights: Weights
    # Identical items only; no sketches at all.
    exact: Exact
    # Precision is 1: each candidate is compared on the items themselves.
    verify: Annotated[
        Literal["exact", "text", "sketch", "none"],
        Option(
            "How to check candidates. exact: compute the similarity; text: compare the texts themselves, not their "
            "hashes; sketch: estimate the similarity; none: return all candidates.",
            default="exact",
            panel=MATCHING,
        ),
    ]
    group_by: Annotated[
        str | None,
        Option("Compare only items that have the same value in this column.", check=allowed.name, panel=MATCHING),
    ]
    tokens: TokensOption
    with_text: Annotated[
        bool, Option("Add the texts of the items to the tables of results.", default=False, panel=READING)
    ]
    audit: Annotated[
        int,
        Option(
            "Size N of the random sample that is compared with all items to measure the recall: about N to 2N items by "
            "Jaccard similarity, a quarter of that by any other measure; 0 turns it off.",
            default=1000,
            check=Whole(0, words="a number of items, 0 for none"),
            panel=EXPERT,
        ),
    ]
    strict: Annotated[
        bool, Option("Fail and write nothing if the certificate raises an alarm.", default=False, panel=EXPERT)
    ]
    memory: Annotated[
        int | str | None,
        Option(
            "Memory for the collection, such as 4GB; the rest goes to disk. By default a quarter of the machine.",
            panel=LARGE,
            typed=str | None,
        ),
    ]


class ListedPairs(TypedDict, total=False):
    """For verbs that list pairs."""

    max_pairs: Annotated[
        int, Option("Stop if there would be more pairs than this.", default=10**9, check=Whole(1), panel=EXPERT)
    ]


class ClusterOptions(TypedDict, total=False):
    """For verbs that make clusters."""

    keep: Annotated[
        str | Callable[[dict[str, Any]], Any],
        Option(
            "Which item of a cluster to keep: first, last, longest, shortest, max:COLUMN, min:COLUMN or "
            "prefer:COLUMN=a,b.",
            default="first",
            in_python="Or a function that takes a row (a dict) and returns a sort key; the smallest is kept.",
            suggested=("first", "last", "longest", "shortest", "max:", "min:", "prefer:"),
            panel=MATCHING,
            typed=str,
        ),
    ]
    # Every removed item matches the item that is kept in its place.
    cluster: Annotated[
        Literal["representative", "components"],
        Option(
            "representative: every item matches its keeper; components: items linked by a chain of matches form one "
            "cluster.",
            default="representative",
            panel=MATCHING,
        ),
    ]


class Removing(TypedDict, total=False):
    """For `dedup`."""

    only_against: Annotated[
        bool,
        Option(
            "With `against`: remove only items that match the other collection, such as a test set.",
            default=False,
            panel=MATCHING,
        ),
    ]
    unit: Annotated[
        str,
        Option(
            "What to remove: whole documents, repeated paragraphs or lines within and across them, or with span:50 "
            "every run of at least 50 words that occurs earlier (words as `normalize` makes them).",
            default="document",
            check=allowed.unit,
            metavar="UNIT",
            suggested=(*allowed.UNITS, "span:50"),
        ),
    ]
    min_words: Annotated[
        int,
        Option(
            "With `unit`: keep paragraphs or lines with fewer words than this, such as headings.",
            default=0,
            check=Whole(0),
        ),
    ]
    min_count: Annotated[
        int,
        Option(
            "Remove only items that occur at least this often, near-duplicates included.", default=2, check=Whole(2)
        ),
    ]
    with_rows: Annotated[
        bool,
        Option("Put all columns of the removed rows into the table of what was removed.", default=False, panel=READING),
    ]
    report_by: Annotated[
        str | None,
        Option("Group the removals in the report by this column instead of by file.", check=allowed.name, panel=EXPERT),
    ]


class Delimited(TypedDict, total=False):
    """How CSV is read."""

    delimiter: Annotated[
        str | None,
        Option(
            "What parts the cells of CSV: one character, or tab; by default what the header tells.",
            check=allowed.delimiter,
            suggested=("tab", ";", "|", ","),
            panel=READING,
        ),
    ]


class ReadOptions(Delimited, total=False):
    """How inputs are read; the configuration of a run does not hold these."""

    format: Annotated[
        str | None,
        Option(
            "Input format, if the file name does not show it: parquet, jsonl, csv, tsv, arrow, npy, npz, "
            "xlsx, ris, bibtex, text (one item per file) or lines (one item per line).",
            suggested=(
                "parquet",
                "jsonl",
                "csv",
                "tsv",
                "arrow",
                "npy",
                "npz",
                "xlsx",
                "ris",
                "bibtex",
                "text",
                "lines",
            ),
            panel=READING,
        ),
    ]
    limit: Annotated[int | None, Option("Read only the first N rows.", check=Whole(1), panel=READING)]


class Watching(TypedDict, total=False):
    """For Python; the command line draws bars by itself."""

    progress: Annotated[
        Progress | None, Option("Receives the progress of the run: a lookalike.wording.progress.Progress.", typed=None)
    ]


class OtherColumns(TypedDict, total=False):
    """Where the items of another collection stand, if it has other columns."""

    against_column: Annotated[
        str | Sequence[str] | None,
        Option(
            "The column that holds the items of the other collection, if its name differs.",
            check=allowed.names,
            panel=READING,
            typed=list[str] | None,
        ),
    ]
    against_id: Annotated[
        str | None,
        Option(
            "The column that holds the ids of the other collection, if its name differs.",
            check=allowed.name,
            panel=READING,
        ),
    ]


class Across(TypedDict, total=False):
    """For pairs of two collections."""

    within: Annotated[
        bool,
        Option("With `against`: also list pairs within the input.", default=False, panel=MATCHING),
    ]


class ConfigOptions(Common, ListedPairs, ClusterOptions, Removing, OtherColumns, Across, total=False):
    """Everything that `make_config` makes a configuration of."""


class PairsOptions(Common, ListedPairs, OtherColumns, Across, ReadOptions, Watching, total=False):
    """The options of `lookalike.pairs`."""

    against: Annotated[
        Any,
        Option(
            "Compare the input with this other collection: list pairs of one item from each.",
            on_command="Repeatable.",
            panel=MATCHING,
            typed=list[str] | None,
            metavar="FILE",
        ),
    ]


class ClustersOptions(Common, ClusterOptions, ReadOptions, Watching, total=False):
    """The options of `lookalike.clusters`."""


class DedupOptions(Common, ListedPairs, ClusterOptions, Removing, OtherColumns, ReadOptions, Watching, total=False):
    """The options of `lookalike.dedup`."""

    against: Annotated[
        Any,
        Option(
            "Also remove items that match this other collection or index.",
            on_command="Repeatable.",
            panel=MATCHING,
            typed=list[str] | None,
            metavar="FILE",
        ),
    ]
    add: Annotated[
        bool, Option("Add the items that are kept to the index given by `against`.", default=False, panel=MATCHING)
    ]
    replace: Annotated[
        bool,
        Option(
            "With `add`: replace items of the index that have the same id.",
            default=False,
            panel=MATCHING,
        ),
    ]
    payload: Annotated[
        Sequence[str] | None,
        Option(
            "Columns to store in the index with each item.",
            on_command="Repeatable.",
            check=allowed.names,
            panel=READING,
            typed=list[str] | None,
            metavar="COLUMN",
        ),
    ]


class NeighborsOptions(
    TextOptions, Columns, VectorColumn, SetColumn, ComparedColumns, ItemOptions, ReadOptions, Running, Watching,
    total=False,
):  # fmt: skip
    """The options of `lookalike.neighbors`."""

    k: Annotated[int, Option("Number of neighbours per query.", default=10, check=Whole(1), short="-k")]
    recall: Annotated[
        float,
        Option(
            "Average share of the true neighbours to find; 1 compares everything. It matters for many vectors; other "
            "searches are always exact.",
            default=0.9,
        ),
    ]
    measure: Annotated[
        str | None,
        Option(
            "jaccard, weighted-jaccard, containment, cosine, dot, hamming, euclidean, manhattan or lr:R. "
            "By default it follows from the type of the items.",
            check=allowed.text,
            suggested=_MEASURES,
        ),
    ]
    distance: Annotated[
        bool,
        Option(
            "Tell distances instead of similarities: of hamming how many bits differ, else 1 - similarity.",
            default=False,
        ),
    ]
    html: Html
    weights: Weights
    tokens: TokensOption


class TuneOptions(
    Columns, VectorColumn, SetColumn, ComparedColumns, ItemOptions, ReadOptions, Running, Watching, total=False
):
    """The options of `lookalike.tune`."""

    truth: Annotated[
        Any,
        Option(
            "A file of known matches: two ids per line, separated by a tab, a comma or a space.",
            in_python="Or a list of pairs.",
            typed=str | None,
            metavar="FILE",
        ),
    ]
    labels: Annotated[
        str | None,
        Option("A column that marks known matches: items with the same value are the same.", check=allowed.name),
    ]
    against: Annotated[
        Any,
        Option(
            "Compare the items with this other collection instead of with each other.",
            on_command="Repeatable.",
            typed=list[str] | None,
            metavar="FILE",
        ),
    ]
    shingle: Annotated[
        str | Sequence[str] | None,
        Option(
            "Shingles to try, word:K or char:K. By default they follow from the length of the texts.",
            check=allowed.names,
            suggested=_SHINGLES,
            typed=list[str] | None,
        ),
    ]
    measure: Annotated[
        str | None,
        Option(
            "jaccard, weighted-jaccard, containment, cosine or hamming. By default it follows from the type of the "
            "items.",
            check=allowed.text,
            suggested=("jaccard", "weighted-jaccard", "containment", "cosine", "hamming"),
        ),
    ]
    normalize: Normalize
    sample: Annotated[
        int,
        Option(
            "Number of items to compare with all others. With known matches it is all items.",
            default=1000,
            check=Whole(1),
        ),
    ]


class IndexOptions(LimitOptions, TextOptions, Bands, total=False):
    """The options that an index is made with; it keeps them."""

    html: Html
    weights: IndexWeights
    exact: Exact
    # Scores are exact, because the index keeps what they are counted from.
    verify: Annotated[
        Literal["exact", "sketch"],
        Option(
            "exact: compute similarities from the items; sketch: estimate them, in a quarter of the space.",
            default="exact",
            panel=MATCHING,
        ),
    ]
    tokens: TokensOption
    seed: Seed


class CollectionOptions(Columns, VectorColumn, SetColumn, ItemOptions, ReadOptions, Watching, total=False):
    """How the items of a collection are read that are added to an index."""


class IndexBuildOptions(IndexOptions, CollectionOptions, total=False):
    """The options of `Index.build`."""


class PlanOptions(LimitOptions, Bands, Columns, Shingles, total=False):
    """What `lookalike.plan` shares with the verbs that run a plan."""
