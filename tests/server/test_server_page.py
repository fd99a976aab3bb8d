"""The lines of docs/server.md give what they say, against a live server; its tables are those of the code."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lookalike
from lookalike.server.endpoints import ENDPOINTS
from lookalike.server.request_error import CODES
from lookalike.server.serve_settings import RequestLimits
from tests.server.conftest import Server, serving

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "server.md").read_text(encoding="utf-8")
ADDRESS = "http://127.0.0.1:8080"
BLOCKS = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    path = tmp_path_factory.mktemp("page") / "seen.idx"
    lookalike.Index.create(path, threshold=0.8).close()
    with serving(path) as started:
        yield started


def examples() -> list[tuple[str, str]]:
    """Each line with curl, and what stands below it."""
    lines = [line for block in BLOCKS for line in block.splitlines()]
    found: list[tuple[str, str]] = []
    for line in lines:
        if "curl " in line:
            found.append((line, ""))
        elif line.startswith("# ") and found:
            found[-1] = (found[-1][0], found[-1][1] + line[2:] + "\n")
    return found


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl is installed")
def test_each_line_with_curl_gives_what_stands_below_it(fresh: Server) -> None:
    assert len(examples()) > 12
    for command, expected in examples():
        done = subprocess.run(
            ["bash", "-c", command.replace(ADDRESS, fresh.address).replace("curl ", "curl -s ")],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stdout, command
        if expected:
            assert done.stdout.rstrip("\n") == expected.rstrip("\n"), command


def test_each_call_has_a_line_with_curl() -> None:
    commands = "\n".join(command for command, _ in examples())
    asked = {each.path.replace("{id}", "") for each in ENDPOINTS if each.path.startswith("/v1") or "z" in each.path}
    assert [path for path in sorted(asked | {"/metrics"}) if f"{ADDRESS}{path}" not in commands] == []


def test_the_example_in_python_gives_what_stands_below_it(fresh: Server) -> None:
    (found,) = re.findall(r"```python\n(.*?)\n# (.*?)\n```", PAGE, re.DOTALL)
    *statements, last = found[0].replace(ADDRESS, fresh.address).splitlines()
    names: dict[str, Any] = {}
    exec("\n".join([*statements, f"    value = ({last.strip()})"]), names)
    assert repr(names["value"]) == found[1]


def test_every_code_and_every_limit_is_in_the_page() -> None:
    table = PAGE.partition("| status | code |")[2].partition("\n\n")[0]
    assert sorted(re.findall(r"`([a-z-]+)`", table)) == sorted(CODES)
    limits = RequestLimits()
    for name in ("max_body", "max_item", "max_batch", "request_time"):
        assert f"| `--{name.replace('_', '-')}` | {getattr(limits, name):,.0f} |" in PAGE
