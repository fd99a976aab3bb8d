"""The theory stands on NumPy and the standard library, so that importing it is fast."""

import ast
import sys
from pathlib import Path

import lookalike.theory

FILES = sorted(Path(lookalike.theory.__file__).parent.glob("*.py"))


def test_the_public_names_are_sorted_and_there() -> None:
    names = lookalike.theory.__all__
    # Constants first, then classes, then functions, each in order: what ruff's RUF022 keeps.
    constants = [name for name in names if name.isupper()]
    classes = [name for name in names if name[0].isupper() and not name.isupper()]
    functions = [name for name in names if name[0].islower()]
    assert names == sorted(constants) + sorted(classes) + sorted(functions)
    assert all(hasattr(lookalike.theory, name) for name in names)


def test_only_numpy_and_the_standard_library_are_imported_at_the_top() -> None:
    assert FILES
    for path in FILES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            modules = []
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                modules = [node.module or ""]
            for module in modules:
                root = module.partition(".")[0]
                own = module in ("lookalike.errors", "lookalike.measure_table") or module.startswith("lookalike.theory")
                assert own or root == "numpy" or root in sys.stdlib_module_names, (path.name, module)
