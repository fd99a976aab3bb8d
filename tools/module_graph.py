"""The shape of the package in a few numbers, here and in any other checkout.

python -m tools.module_graph [SRC]

Modules at the root, the module that imports the most others, the longest files, file names and class names that stand
for more than one thing.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from pathlib import Path


def imported(tree: ast.Module) -> set[str]:
    """The modules of the package that a module imports, at its beginning or later."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("lookalike"):
            found.add(node.module or "")
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.startswith("lookalike")}
    return found


def main() -> None:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else "src") / "lookalike"
    files = sorted(root.rglob("*.py"))
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in files}
    named = [path for path in files if path.name not in ("__init__.py", "__main__.py")]
    fan_out = {path: len(imported(tree)) for path, tree in trees.items()}
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    names = Counter(path.name for path in named)
    classes = Counter(
        node.name for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
        if not node.name.startswith("_")
    )  # fmt: skip
    widest, longest = max(fan_out, key=lambda path: fan_out[path]), max(lengths, key=lambda path: lengths[path])
    print(f"modules                {len(named)}")
    print(f"at the root            {sum(path.parent == root for path in named)}")
    print(f"largest fan-out        {fan_out[widest]} ({widest.relative_to(root)})")
    print(f"longest file           {lengths[longest]} lines ({longest.relative_to(root)})")
    print(f"files over 400 lines   {sum(length > 400 for length in lengths.values())}")
    print(f"file names that repeat {sum(count > 1 for count in names.values())}")
    print(f"classes that repeat    {sum(count > 1 for count in classes.values())}")


if __name__ == "__main__":
    main()
