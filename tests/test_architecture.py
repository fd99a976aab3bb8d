"""The shape of the package: dependencies point one way, and every kernel has its slow twin."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import BuiltinFunctionType

import networkx
import pytest

import lookalike
from lookalike.kernels.jit import Kernel

ROOT = Path(lookalike.__file__).parent

# A unit is a module or a folder with all that is in it; a folder with an order of its own has its parts for units, too.
# A unit may import units of the layers before its own; the lists say which of its own layer.
LAYERS: list[dict[str, set[str]]] = [
    {"twin": set(), "types": set(), "wording": set()},
    {"errors": set(), "key": set()},
    {
        "budget": set(),
        "kernels": set(),
        "measure_table": set(),
        "shingle": set(),
        "compared_fields": {"shingle"},
        "threads": set(),
    },
    {"options": set(), "scale": set(), "spec": set()},
    {"config": set()},
    # The four steps, the mathematics, and what all reading and writing stands on.
    {
        "represent": set(),
        "sketch": set(),
        "collide": set(),
        "verify": set(),
        "cluster": set(),
        "theory": set(),
        "io.checksums": set(),
        "io.json_text": set(),
        "io.limits": set(),
        "io.source": set(),
    },
    {"certify": set(), "io.array_columns": set(), "io.column_types": set(), "recipe": set(), "report.page": set()},
    {"io.reading": set(), "measures": set()},
    {"io.writing": set()},
    {"io.copying": set(), "io.making": set()},
    {"io.inputs": set(), "io.input_options": {"io"}, "io": {"io.inputs"}},
    {"items": set(), "engines.local.store": set()},
    # What engines share. Then they stand side by side: what is below knows none of them, and none knows another.
    {"engines": set()},
    {"engines.local": set(), "engines.packed": set(), "search": set()},
    {"engines.spark": set()},
    {"index": set(), "tuning": set()},
    {"report": set()},
    {"runs": set()},
    {"api": set(), "server": set(), "spark": set()},
    {"cli": set()},
]

# Modules that have their layer before they are there.
COMING: set[str] = set()

# What a unit may know of the layers before it, where that is less than everything.
_IO = {"io.array_columns", "io.checksums", "io.column_types", "io.json_text", "io.limits", "io.source"}
_STEP = {"errors", "kernels", "key", "spec", "types"}
ONLY = {
    "kernels": {"key", "types"},
    "threads": {"errors"},
    "theory": {"errors", "measure_table"},
    "represent": {*_STEP, "compared_fields", "shingle"},
    "sketch": {*_STEP, "compared_fields"},
    "collide": {*_STEP, "compared_fields", "threads"},
    "verify": {*_STEP, "compared_fields", "threads"},
    "cluster": {*_STEP, "wording"},
    "certify": {*_STEP, "shingle", "theory", "twin"},
    "report.page": {"theory", "wording"},
    "io.reading": {*_STEP, *_IO, "threads", "wording"},
    "io.writing": {*_IO, "errors", "io.reading", "threads", "wording"},
    "io.making": {*_STEP, *_IO, "io.reading", "io.writing", "wording"},
    "io.copying": {*_IO, "errors", "io.reading", "io.writing", "threads"},
    "engines.local.store": {*_STEP, *_IO, "budget", "collide", "io.writing"},
}

# `python -m lookalike` is the command line under another name.
FILES = sorted(path for path in ROOT.rglob("*.py") if path.name != "__main__.py")


def module_of(path: Path) -> str:
    """`lookalike.io.reading.formats` for the file of a module or of a package."""
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path) for path in FILES}


def nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node that runs: what stands under TYPE_CHECKING does not."""
    for child in ast.iter_child_nodes(tree):
        if not (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)):
            yield child
            yield from nodes(child)


def imports(path: Path) -> set[str]:
    """The modules of this package that a file imports, at its head or inside a function."""
    found = set()
    for node in nodes(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            below = {f"{node.module}.{alias.name}" for alias in node.names} & MODULES
            found |= below or {str(node.module)}
    return {name for name in found if name.split(".")[0] == "lookalike"} - {"lookalike"}


NAMED = {name for each in LAYERS for name in each}


def unit(module: str) -> str:
    """The unit that a module belongs to, or, of one that belongs to none, what stands right below the package."""
    parts = module.split(".")[1:]
    ways = [".".join(parts[:end]) for end in range(len(parts), 0, -1)]
    return next((way for way in ways if way in NAMED), parts[0])


def layer(name: str) -> int:
    return next(number for number, each in enumerate(LAYERS) if name in each)


def test_every_module_has_a_layer() -> None:
    assert {unit(module) for module in MODULES if module != "lookalike"} | COMING == NAMED


@pytest.mark.parametrize("path", [path for path in FILES if module_of(path) != "lookalike"], ids=module_of)
def test_imports_point_one_way(path: Path) -> None:
    own = unit(module_of(path))
    others = {unit(name) for name in imports(path)} - {own}
    for other in others:
        assert layer(other) < layer(own) or other in LAYERS[layer(own)][own], f"{own} imports {other}"
    if own in ONLY:
        assert others <= ONLY[own], f"{own} knows more than it should: {others - ONLY[own]}"


def test_no_module_has_the_name_of_something_public() -> None:
    """An imported module becomes an attribute of the package, and would hide the function of that name."""
    assert {module.split(".")[1] for module in MODULES if module != "lookalike"} & set(lookalike.__all__) == set()


def test_nothing_imports_the_command_line() -> None:
    outside = [path for path in FILES if "cli" not in path.relative_to(ROOT).parts]
    assert not [path for path in outside if any(unit(name) == "cli" for name in imports(path))]


def test_a_file_name_stands_for_one_module() -> None:
    names = Counter(path.name for path in FILES if path.name != "__init__.py")
    assert [name for name, count in names.items() if count > 1] == []


def test_a_class_name_stands_for_one_class() -> None:
    """Private or not: `_Room` beside `Room` is no easier to tell apart."""
    classes = Counter(
        node.name.lstrip("_")
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, count in classes.items() if count > 1] == []


def test_the_map_names_every_folder_and_every_module_at_the_root() -> None:
    contributing = Path(__file__).parents[1].joinpath("CONTRIBUTING.md").read_text(encoding="utf-8")
    table = contributing.partition("## Where things are")[2].partition("Beside it:")[0]
    drawn = re.findall(r"^\| `([\w/.]+)` \|", table, re.MULTILINE)
    folders = {f"{path.parent.relative_to(ROOT).as_posix()}/" for path in FILES if path.name == "__init__.py"} - {"./"}
    modules = {path.name for path in FILES if path.parent == ROOT} - {"__init__.py"}
    assert sorted(drawn) == sorted(folders | modules)


REPOSITORY = Path(__file__).parents[1]
PROSE = [*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/*.md"), *REPOSITORY.glob("examples/*.md"), *FILES]


@pytest.mark.parametrize("path", PROSE, ids=lambda path: path.relative_to(REPOSITORY).as_posix())
def test_a_file_that_is_named_is_there(path: Path) -> None:
    """In the repository, in the package, or beside the one that names it."""
    named = re.findall(r"`([\w/]+\.py)`", path.read_text(encoding="utf-8"))
    roots = (REPOSITORY, ROOT.parent, ROOT, path.parent)
    assert [name for name in named if not any((root / name).is_file() for root in roots)] == []


def test_no_two_modules_import_each_other() -> None:
    graph = networkx.DiGraph()
    for path in FILES:
        graph.add_edges_from((module_of(path), name) for name in imports(path))
    # A package's own names are its face: what stands inside may import the package for the modules beside it.
    faces = [(a, b) for a, b in graph.edges if a.startswith(f"{b}.") or b.startswith(f"{a}.")]
    graph.remove_edges_from(faces)
    assert list(networkx.simple_cycles(graph)) == []


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_what_a_module_offers_is_listed_once_and_there(path: Path) -> None:
    module = importlib.import_module(module_of(path))
    offered = getattr(module, "__all__", [])
    assert len(set(offered)) == len(offered)
    assert all(hasattr(module, name) for name in offered)
    assert [name for name in offered if name.startswith("_")] == []


# Where the slow, obvious form of each kernel stands: in tests/reference, in Python itself, or in the kernel's own test.
TWINS = {
    "copy_stretch": "tests.reference.buckets:copy_stretch",
    "join_tokens": "tests.reference.windows:joined",
    "scan_windows": "tests.reference.windows:scanned",
    "shingle_rows": "lookalike.twin.text:shingles",
    "shingle_words": "lookalike.twin.text:shingles",
    "shingle_tokens": "lookalike.twin.text:shingle_hashes",
    "_hash_ints": "lookalike.twin.hashing:hash_int",
    "hash_spans": "lookalike.twin.hashing:hash_bytes",
    "collect_bags": "tests.reference.bags:collected",
    "fingerprint_vectors": "tests.reference.vectors:vector_fingerprint",
    "count_repeats": "collections:Counter",
    "number_repeats": "lookalike.twin.text:bag_elements",
    "add_counts": "tests.reference.weighted:document_counts",
    "read_counts": "tests.reference.weighted:document_counts",
    "count_exactly": "tests.reference.weighted:document_counts",
    "read_exactly": "tests.reference.weighted:document_counts",
    "_weigh_tf_idf": "tests.reference.weighted:tf_idf",
    "_weigh_bm25": "tests.reference.weighted:bm25",
    "_fingerprint_bags": "tests.reference.weighted:weighted_fingerprint",
    "_fill_constants": "lookalike.twin.hashing:minhash_constants",
    "minhash_rows": "lookalike.twin.hashing:signature",
    "fill_rotation": "tests.reference.vectors:shuffled_places",
    "plane_rows": "tests.reference.vectors:plane_bits",
    "project_signs": "tests.reference.vectors:rotated_signs",
    "key_rows": "tests.reference.vectors:sign_key",
    "fill_stable": "tests.reference.vectors:stable_draw",
    "project_rows": "tests.reference.vectors:stable_slot",
    "fill_positions": "tests.reference.bits:positions",
    "sample_rows": "tests.reference.bits:sampled_key",
    "whole_weights": "tests.reference.vectors:whole_weights",
    "scatter_rows": "tests.reference.vectors:scattered",
    "dart_rows": "tests.reference.weighted:dart_signature",
    "band_rows": "lookalike.twin.hashing:band_keys",
    "select_keys": "tests.reference.buckets:select",
    "group_entries": "tests.reference.buckets:group",
    "lead_buckets": "tests.reference.buckets:leaders",
    "_fill_entries": "tests.reference.buckets:places",
    "_count_places": "tests.reference.buckets:places",
    "_place_members": "tests.reference.buckets:places",
    "_emit": "tests.reference.buckets:sharing",
    "_shared_bands": "tests.reference.buckets:shared_bands",
    "count_elements": "tests.reference.buckets:count_elements",
    "prefix_entries": "tests.reference.buckets:prefix_entries",
    "rank_items": "tests.reference.audit:rank",
    "sampled_ranks": "tests.reference.audit:rank",
    "draw_rows": "tests.reference.audit:drawn",
    "measure_rows": "tests.reference.audit:extent",
    "enter_rows": "tests.reference.audit:sampled",
    "probe_rows": "tests.reference.audit:audited",
    "leave_items": "tests.reference.audit:audited",
    "index_items": "tests.reference.audit:audited",
    "add_overlaps": "tests.reference.buckets:overlaps",
    "sort_rows": "builtins:sorted",
    "jaccard_pairs": "tests.reference.sets:jaccard",
    "cosine_pairs": "tests.reference.vectors:cosine",
    "dot_pairs": "tests.reference.vectors:inner_product",
    "hamming_pairs": "tests.reference.bits:similarity",
    "distance_pairs": "tests.reference.bits:distance",
    "odd_signatures": "tests.reference.bits:odd_signature",
    "minkowski_pairs": "tests.reference.vectors:minkowski",
    "row_norms": "tests.reference.vectors:norm",
    "keep_best": "tests.reference.vectors:best_items",
    "sort_best": "tests.reference.vectors:best_items",
    "score_lists": "tests.reference.vectors:best_items",
    "collect_pairs": "tests.reference.vectors:pairs_reaching",
    "manhattan_block": "tests.reference.vectors:score",
    "float_products": "tests.reference.vectors:score",
    "byte_products": "tests.reference.vectors:score",
    "pack_floats": "tests.reference.vectors:side_by_side",
    "pack_bytes": "tests.reference.vectors:rounded",
    "round_rows": "tests.reference.vectors:rounded",
    "rows_reaching": "tests.reference.vectors:most_score",
    "nearest_bits": "tests.reference.vectors:nearest_by_bits",
    "pack_bags": "tests.reference.weighted:row_words",
    "weighted_jaccard_pairs": "tests.reference.weighted:weighted_jaccard",
    "sparse_cosine_pairs": "tests.reference.weighted:cosine",
    "containment_pairs": "tests.reference.sets:containment",
    "union_groups": "tests.reference.sets:components",
    "unite": "tests.reference.sets:components",
    "roots": "tests.reference.sets:components",
    "code_spans": "tests.reference.edges:coded",
    "count_items": "tests.reference.edges:counted",
    "place_edges": "tests.reference.edges:placed",
    "merge_rows": "tests.reference.edges:merged",
    "choose_keepers": "tests.reference.sets:representative",
    "place_field": "tests.reference.columns:elements",
    "join_fingerprints": "tests.reference.columns:fingerprint",
    "_fill_winners": "tests.reference.columns:winner",
    "_sketch_rows": "tests.reference.columns:signature",
    "_prefix_lengths": "tests.reference.columns:prefix_length",
    "_score_pairs": "tests.reference.columns:similarity",
    "_nearest_rows": "tests.reference.columns:nearest",
    "cut_rows": "tests.reference.cells:cut_rows",
    "mark_deep": "tests.reference.nesting:levels",
    "count_fields": "tests.reference.fields:fields_of",
    "read_chunks": "tests.reference.footer:chunks",
    "page_header": "tests.reference.footer:page_header",
    "walk_pages": "tests.reference.footer:walked",
    "packed_rows": "tests.reference.indexing:packed_length",
    "pack_rows": "tests.reference.indexing:packed",
    "unpack_rows": "tests.reference.indexing:packed",
    "build_band": "tests.reference.indexing:bucketed",
    "merge_band": "tests.reference.indexing:bucketed",
    "hang_items": "tests.reference.indexing:chains",
    "find_places": "tests.reference.indexing:sharing",
    "score_sets": "tests.reference.indexing:scored",
    "find_rows": "tests.reference.indexing:place",
    "append_records": "tests.reference.indexing:record",
    "check_records": "tests.reference.indexing:record",
    "gather_rows": "tests.reference.indexing:gathered",
    "sketch_text": "lookalike.twin.hashing:band_keys",
    "finish_text": "tests.reference.indexing:finished",
    "store_text": "lookalike.index.log_store:LogStore",
    "code_rows": "tests.reference.bits:code",
    "numbers_within": "tests.reference.bits:numbers_within",
    "scan_codes": "tests.reference.bits:slots_differing",
    "take_in_records": "tests.reference.indexing:record",
    "add_up": "tests.reference.verifying:total",
    "search_lists": "tests.reference.verifying:nearest",
}


def kernels() -> dict[str, Kernel]:
    found = {}
    for info in pkgutil.walk_packages([str(ROOT)], "lookalike."):
        for value in vars(importlib.import_module(info.name)).values():
            if isinstance(value, Kernel):
                found[value.__name__] = value
    return found


def test_every_kernel_has_a_twin() -> None:
    assert set(kernels()) == set(TWINS)
    for name, twin in TWINS.items():
        module, function = twin.split(":")
        assert callable(getattr(importlib.import_module(module), function)), name


def test_every_public_kernel_says_what_it_computes() -> None:
    assert [name for name, kernel in kernels().items() if not name.startswith("_") and not kernel.__doc__] == []


def test_no_kernel_is_left_to_numba() -> None:
    """Which would take longer to load than all the rest."""
    assert [name for name, kernel in kernels().items() if not isinstance(kernel.loaded(), BuiltinFunctionType)] == []


def test_every_module_with_kernels_has_a_test_file_of_its_own() -> None:
    tests = Path(__file__).parent
    for name, kernel in kernels().items():
        _, *folders, module = kernel.python.__module__.split(".")
        path = tests.joinpath(*folders, f"test_{module}.py")
        assert path.exists(), f"{name} of {kernel.python.__module__} has no {path.relative_to(tests)}"


def test_the_tests_mirror_the_package() -> None:
    """A test file in a folder stands in the folder of what it tests."""
    tests = Path(__file__).parent
    others = {"benchmarks", "examples", "pages", "reference"}
    folders = {path.parent.relative_to(tests) for path in tests.rglob("test_*.py")}
    assert [
        str(each) for each in folders if each.parts[:1] not in {(o,) for o in others} and not (ROOT / each).is_dir()
    ] == []
