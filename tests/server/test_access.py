"""Tokens: who may read, who may write, and where they are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lookalike.errors import InputError, LookalikeError, OptionError
from lookalike.server.access import read_tokens
from lookalike.server.serve_settings import RequestLimits, ServeSettings, is_loopback
from tests.cli.conftest import Run, run
from tests.server.conftest import READ, TEXTS, WRITE, Server, token_file

__all__ = ["run"]

NEW = {"id": "guarded", "item": "a text that only those may add who have a token"}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/query", {"item": TEXTS["cat"]}),
        ("POST", "/v1/seen", NEW),
        ("POST", "/v1/items/batch", {"items": [NEW]}),
        ("PUT", "/v1/items/a", {"item": "text"}),
        ("DELETE", "/v1/items/cat", None),
        ("GET", "/v1/items/cat", None),
        ("GET", "/v1/stats", None),
        ("GET", "/metrics", None),
    ],
)
@pytest.mark.parametrize("token", [None, "", "wrong", READ + "x", READ[:-1], "ä"])
def test_without_the_right_token_nothing_is_told(
    guarded: Server, method: str, path: str, body: Any, token: str | None
) -> None:
    told = guarded.ask(method, path, body, token=token)
    assert (told.status, told.code) == (401, "unauthorized")
    assert told.headers["www-authenticate"].startswith("Bearer")


def test_who_may_read_may_not_write(guarded: Server) -> None:
    assert guarded.ask("POST", "/v1/query", {"item": TEXTS["cat"]}, token=READ).status == 200
    assert guarded.ask("GET", "/v1/items/cat", token=READ).status == 200
    for method, path, body in [("POST", "/v1/seen", NEW), ("DELETE", "/v1/items/cat", None)]:
        told = guarded.ask(method, path, body, token=READ)
        assert (told.status, told.code) == (403, "forbidden")


def test_who_may_write_may_read_too(guarded: Server) -> None:
    assert guarded.ask("POST", "/v1/seen", NEW, token=WRITE).json["added"] is True
    assert guarded.ask("GET", "/v1/items/guarded", token=WRITE).status == 200
    assert guarded.ask("GET", "/v1/stats", authorization=f"bearer {WRITE}").status == 200


def test_pages_and_health_need_no_token_and_with_tokens_any_name_will_do(guarded: Server) -> None:
    for path in ("/", "/docs", "/openapi.json", "/healthz", "/readyz"):
        assert guarded.ask("GET", path, host="seen.example").status == 200


def test_a_file_of_tokens_is_read_line_by_line(tmp_path: Path) -> None:
    assert read_tokens(str(token_file(tmp_path))) == [("read", READ), ("write", WRITE)]


@pytest.mark.parametrize("line", ["admin token-of-mine", "read", "read short", "read has a space", "read tökens-here"])
def test_a_line_that_is_no_token_is_named_by_its_number_and_not_shown(tmp_path: Path, line: str) -> None:
    path = tmp_path / "tokens"
    path.touch(mode=0o600)
    path.write_text(f"# tokens\n{line}\n")
    with pytest.raises(InputError, match=r"line 2: it must be `read TOKEN`") as error:
        read_tokens(str(path))
    assert line == "read" or line not in str(error.value)


def test_a_file_of_tokens_that_others_may_read_is_refused(tmp_path: Path, run: Run) -> None:
    path = token_file(tmp_path)
    path.chmod(0o640)
    assert "others may read: chmod 600" in run("serve", tmp_path / "no.idx", "--token-file", path).error
    path.chmod(0o600)
    path.write_text("\n")
    with pytest.raises(InputError, match="has no token"):
        read_tokens(str(path))
    with pytest.raises(InputError, match="No such file"):
        read_tokens(str(tmp_path / "nothing"))
    path.write_bytes(b"\xff")
    with pytest.raises(InputError, match="is not text"):
        read_tokens(str(path))


def test_another_host_needs_a_token_or_the_word_for_without(run: Run, tmp_path: Path) -> None:
    told = run("serve", tmp_path / "no.idx", "--host", "0.0.0.0")
    assert told.code == 2
    assert "give --token-file, or --insecure" in told.error
    assert (
        "there is no index" in run("serve", tmp_path / "no.idx", "--host", "0.0.0.0", "--insecure", "--port", 0).error
    )
    assert [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "127.9.9.9", "0.0.0.0", "example.org")] == [
        True, True, True, True, False, False,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("option", "value"),
    [("--port", "70000"), ("--workers", "0"), ("--max-body", "0"), ("--max-batch", "0"), ("--request-time", "0")],
)
def test_an_option_with_a_wrong_value_is_named(run: Run, tmp_path: Path, option: str, value: str) -> None:
    told = run("serve", tmp_path / "no.idx", option, value)
    assert told.code == 2
    assert told.error.startswith(option.removeprefix("--").replace("-", "_") + " is ")


def test_settings_come_through_to_other_processes_unchanged() -> None:
    settings = ServeSettings("a.idx", port=1, workers=3, seed=2**100, limits=RequestLimits(max_batch=7))
    assert ServeSettings.from_json(settings.to_json()) == settings
    assert settings.open_options == {"seed": 2**100}
    with pytest.raises(OptionError):
        ServeSettings("a.idx", host="example.org")


def test_a_host_that_is_not_of_this_machine_or_a_port_that_is_taken_is_one_line(
    run: Run, tmp_path: Path, server: Server
) -> None:
    assert issubclass(OptionError, LookalikeError)
    assert "host is 'no.such.host.invalid'" in run(
        "serve", server.path, "--host", "no.such.host.invalid", "--insecure"
    ).error  # fmt: skip
    for workers in (1, 2):
        taken = run("serve", server.path, "--port", server.port, "--workers", workers)
        assert "Address already in use" in taken.error
    assert "is being written by another process" in run("serve", server.path, "--port", 0).error
    assert "is being written by another process" in run("serve", server.path, "--port", 0, "--workers", 2).error
