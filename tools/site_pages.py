"""What the site shows of files outside of `docs/`: the changelog, and the examples with their scripts.

And how it shows the names of options, which must not be broken.

A hook of MkDocs (`mkdocs.yml`). `make docs` builds the site.
"""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
_OPTION = re.compile(r"--[a-z][a-z-]*")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add them, with links that lead where the pages are now."""
    changelog = re.sub(r"\]\(docs/", "](", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    files.append(File.generated(config, "changelog.md", content=changelog))
    examples = re.sub(r"\]\(\.\./docs/", "](../", (ROOT / "examples" / "README.md").read_text(encoding="utf-8"))
    files.append(File.generated(config, "examples/README.md", content=examples))
    for script in sorted((ROOT / "examples").glob("*.py")):
        files.append(File.generated(config, f"examples/{script.name}", abs_src_path=str(script)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links that leave `docs/` in the repository lead to the same pages on the site."""
    return markdown.replace("](../examples/", "](examples/").replace("](../CHANGELOG.md", "](changelog.md")


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Options in a line of text are marked, for `docs/styles/code.css` to keep each of them on one line."""
    return re.sub(r"<code>[^<]*</code>", lambda code: _OPTION.sub(r'<span class="option">\g<0></span>', code[0]), html)
