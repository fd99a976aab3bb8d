"""Every address, what it answers, and what it answers to what it does not take."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest

from lookalike.server.endpoints import ENDPOINTS
from lookalike.server.request_error import CODES
from tests.server.conftest import TEXTS, Server

CAT = TEXTS["cat"]


def test_a_query_gives_matches_with_similarity_and_payload(server: Server) -> None:
    told = server.ask("POST", "/v1/query", {"item": CAT.upper()})
    assert told.status == 200
    assert told.headers["content-type"] == "application/json"
    match = {"id": "cat", "similarity": 1.0, "payload": {"text": CAT}}
    assert told.json == {"matches": [match], "compared": 1, "left_out": 0}
    assert server.ask("POST", "/v1/query", {"item": CAT, "threshold": 0.9, "k": 1}).json["matches"][0]["id"] == "cat"
    assert server.ask("POST", "/v1/query", {"item": "nothing like it at all, nowhere"}).json["matches"] == []


def test_the_nearest_are_those_of_all_items(server: Server) -> None:
    told = server.ask("POST", "/v1/nearest", {"item": CAT + " and some more words", "k": 1})
    assert told.status == 200
    assert [match["id"] for match in told.json["matches"]] == ["cat"]
    assert told.json["recall"] >= 0.95
    more = server.ask("POST", "/v1/nearest", {"item": CAT, "recall": 1, "threshold": 0.99}).json
    assert [match["id"] for match in more["matches"]] == ["cat"]


def test_seen_adds_what_is_new_and_finds_what_is_not(server: Server) -> None:
    text = "a text that nobody has seen before this test was run"
    assert server.ask("POST", "/v1/seen", {"id": "new", "item": text, "payload": 1}).json == {
        "match": None,
        "added": True,
    }
    again = server.ask("POST", "/v1/seen", {"id": "newer", "item": text}).json
    assert again == {"match": {"id": "new", "similarity": 1.0, "payload": 1}, "added": False}
    assert server.ask("GET", "/v1/items/newer").status == 404


def test_an_item_is_put_got_replaced_and_removed(server: Server) -> None:
    text = "one more text of several words for this test alone"
    assert server.ask("PUT", "/v1/items/own", {"item": text, "payload": [1]}).json == {"stored": True}
    assert server.ask("GET", "/v1/items/own").json == {"id": "own", "payload": [1]}
    again = server.ask("PUT", "/v1/items/own?replace=false", {"item": text})
    assert (again.status, again.code) == (409, "exists")
    assert server.ask("PUT", "/v1/items/own?replace=true", {"item": text}).status == 200
    assert server.ask("GET", "/v1/items/own").json == {"id": "own", "payload": None}
    assert server.ask("DELETE", "/v1/items/own").json == {"removed": True}
    gone = server.ask("DELETE", "/v1/items/own")
    assert (gone.status, gone.code) == (404, "not-found")
    seen = server.ask("POST", "/v1/seen", {"id": "cat", "item": "an id that is taken by quite another text"})
    assert (seen.status, seen.code) == (409, "exists")


@pytest.mark.parametrize(
    ("path", "id"),
    [("int:-7", -7), ("str:int:7", "int:7"), ("a%2Fb%20%C3%A4", "a/b ä"), ("batch", "batch"), ("str:..", "..")],
)
def test_ids_in_addresses_are_strings_and_numbers(server: Server, path: str, id: Any) -> None:
    text = f"the text of the item with the id {id!r} and some more words"
    assert server.ask("PUT", f"/v1/items/{path}", {"item": text}).status == 200
    assert server.ask("GET", f"/v1/items/{path}").json["id"] == id
    assert server.ask("POST", "/v1/query", {"item": text, "k": 1}).json["matches"][0]["id"] == id
    assert server.ask("DELETE", f"/v1/items/{path}").status == 200


def test_a_batch_has_an_outcome_for_each_of_its_items(server: Server) -> None:
    texts = [f"text number {number} of a batch with words that are its own w{number}" for number in range(3)]
    items = [{"id": f"b{number}", "item": text} for number, text in enumerate(texts)]
    stored = server.ask("POST", "/v1/items/batch?replace=false", {"items": [*items, items[0], {"id": "x"}]}).json
    assert stored["results"][:3] == [{"stored": True}] * 3
    assert [each["error"]["code"] for each in stored["results"][3:]] == ["exists", "malformed"]
    asked = server.ask("POST", "/v1/query/batch", {"items": [{"item": texts[1], "k": 1}, {"item": [True]}, 3]}).json
    assert asked["results"][0]["matches"][0]["id"] == "b1"
    assert [each["error"]["code"] for each in asked["results"][1:]] == ["invalid-item", "malformed"]
    seen = server.ask("POST", "/v1/seen/batch", {"items": [{"id": "b9", "item": texts[2]}]}).json
    assert seen["results"][0]["added"] is False


def test_addresses_for_people_and_machines_answer(server: Server) -> None:
    assert server.ask("GET", "/healthz").json == {"status": "ok"}
    assert server.ask("GET", "/readyz").json == {"status": "ok"}
    stats = server.ask("GET", "/v1/stats").json
    assert (stats["measure"], stats["limit"]) == ("jaccard", "Jaccard >= 0.6")
    for page in ("/", "/docs"):
        told = server.ask("GET", page)
        assert told.headers["content-type"].startswith("text/html")
        assert "default-src 'none'" in told.headers["content-security-policy"]
        assert b"//cdn" not in told.body
    assert server.ask("HEAD", "/healthz").body == b""


def test_the_description_names_every_address(server: Server) -> None:
    told = server.ask("GET", "/openapi.json").json
    assert {(method.upper(), path) for path, each in told["paths"].items() for method in each} == {
        (each.method, each.path) for each in ENDPOINTS
    }
    assert told["components"]["schemas"]["Error"]["properties"]["error"]["properties"]["code"]["enum"] == list(CODES)


def test_requests_are_counted_by_address_and_status(server: Server) -> None:
    name = 'lookalike_requests_total{method="GET",route="/v1/items/{id}",status="404"}'
    server.ask("GET", "/v1/items/nowhere")
    before = server.metric(name)
    server.ask("GET", "/v1/items/nowhere-either")
    assert server.metric(name) == before + 1
    text = server.ask("GET", "/metrics").body.decode()
    assert 'lookalike_request_seconds_bucket{method="GET",route="/v1/items/{id}",le="+Inf"}' in text


BAD_REQUESTS: list[tuple[str, str, Any, int, str]] = [
    ("POST", "/v1/query", b"{", 400, "malformed"),
    ("POST", "/v1/query", b"", 400, "malformed"),
    ("POST", "/v1/query", b'{"item": "\xff"}', 400, "malformed"),
    ("POST", "/v1/query", b"[" * 50_000, 400, "malformed"),
    ("POST", "/v1/query", b'{"item":' * 5_000, 400, "malformed"),
    ("POST", "/v1/query", b'{"item": NaN}', 400, "malformed"),
    ("POST", "/v1/query", b'{"item": ' + b"9" * 10_000 + b"}", 400, "malformed"),
    ("POST", "/v1/query", '{"item": "a"}'.encode("utf-16"), 400, "malformed"),
    ("POST", "/v1/query", [], 400, "malformed"),
    ("POST", "/v1/query", {}, 400, "malformed"),
    ("POST", "/v1/query", {"item": "a", "treshold": 1}, 400, "malformed"),
    ("POST", "/v1/query", {"item": None}, 400, "invalid-item"),
    ("POST", "/v1/query", {"item": {"a": "b"}}, 400, "invalid-item"),
    ("POST", "/v1/query", {"item": [[1]]}, 400, "invalid-item"),
    ("POST", "/v1/query", {"item": [1.5, 2.5]}, 400, "invalid-item"),
    ("POST", "/v1/query", b'{"item": [1e999]}', 400, "invalid-item"),
    ("POST", "/v1/query", {"item": CAT, "threshold": "high"}, 400, "invalid-option"),
    ("POST", "/v1/query", {"item": CAT, "threshold": 0.1}, 400, "invalid-option"),
    ("POST", "/v1/query", {"item": CAT, "threshold": 1.5}, 400, "invalid-option"),
    ("POST", "/v1/query", {"item": CAT, "k": 0}, 400, "invalid-option"),
    ("POST", "/v1/query", {"item": CAT, "k": True}, 400, "invalid-option"),
    ("POST", "/v1/nearest", {"k": 3}, 400, "malformed"),
    ("POST", "/v1/nearest", {"item": [True]}, 400, "invalid-item"),
    ("POST", "/v1/nearest", {"item": CAT, "k": 10_001}, 400, "invalid-option"),
    ("POST", "/v1/nearest", {"item": CAT, "recall": 0}, 400, "invalid-option"),
    ("POST", "/v1/nearest", {"item": CAT, "recall": 1.1}, 400, "invalid-option"),
    ("POST", "/v1/nearest", {"item": CAT, "threshold": -0.5}, 400, "invalid-option"),
    ("POST", "/v1/query", {"item": "x" * 60_000}, 413, "too-large"),
    ("POST", "/v1/query", {"item": "x" * 200_000}, 413, "too-large"),
    ("POST", "/v1/query", {"item": "x" * 5_000_000}, 413, "too-large"),
    ("POST", "/v1/query/batch", {"items": [{"item": "a"}] * 51}, 413, "too-large"),
    ("POST", "/v1/query/batch", [], 400, "malformed"),
    ("POST", "/v1/seen", {"item": CAT}, 400, "malformed"),
    ("POST", "/v1/seen", {"id": "", "item": CAT}, 400, "invalid-id"),
    ("POST", "/v1/seen", {"id": "a\0b", "item": CAT}, 400, "invalid-id"),
    ("POST", "/v1/seen", {"id": "x" * 1001, "item": CAT}, 400, "invalid-id"),
    ("POST", "/v1/seen", {"id": 2**63, "item": CAT}, 400, "invalid-id"),
    ("POST", "/v1/seen", {"id": True, "item": CAT}, 400, "invalid-id"),
    ("POST", "/v1/seen", b'{"id": "a", "item": "b", "payload": [1e999]}', 400, "malformed"),
    ("PUT", "/v1/items/a?replace=maybe", {"item": CAT}, 400, "invalid-option"),
    ("PUT", "/v1/items/a?overwrite=true", {"item": CAT}, 400, "invalid-option"),
    ("GET", "/v1/items/%FF", None, 400, "invalid-id"),
    ("GET", "/v1/items/%00", None, 400, "invalid-id"),
    ("GET", "/v1/items/", None, 400, "invalid-id"),
    ("GET", "/v1/items/int:x", None, 400, "invalid-id"),
    ("GET", "/v1/items/int:99999999999999999999", None, 400, "invalid-id"),
    ("GET", "/v1/items/nobody", None, 404, "not-found"),
    ("GET", "/nowhere", None, 404, "not-found"),
    ("GET", "/v1/query", None, 405, "method"),
    ("POST", "/v1/stats", {}, 405, "method"),
    ("PATCH", "/v1/items/a", {}, 405, "method"),
]


@pytest.mark.parametrize(("method", "path", "body", "status", "code"), BAD_REQUESTS)
def test_what_is_wrong_with_a_request_is_said_with_a_code(
    server: Server, method: str, path: str, body: Any, status: int, code: str
) -> None:
    told = server.ask(method, path, body)
    assert (told.status, told.code) == (status, code)
    assert code in CODES


def test_a_body_that_is_not_said_to_be_json_is_refused(server: Server) -> None:
    """A form on a foreign page can send plain text to this machine, and no JSON."""
    body = json.dumps({"id": "evil", "item": CAT}).encode()
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        told = server.ask("POST", "/v1/seen", body, content_type=kind)
        assert (told.status, told.code) == (415, "media-type")
    assert server.ask("POST", "/v1/query", {"item": CAT}, content_type="application/json; charset=utf-8").status == 200
    assert server.ask("POST", "/v1/query", {"item": CAT}, content_type="application/x-ndjson").code == "media-type"


def test_a_server_on_this_machine_does_not_answer_to_foreign_names(server: Server) -> None:
    told = server.ask("POST", "/v1/query", {"item": CAT}, host="evil.example")
    assert (told.status, told.code) == (403, "forbidden")
    for name in ("localhost", f"localhost:{server.port}", "[::1]:80", "127.0.0.1"):
        assert server.ask("GET", "/healthz", host=name).status == 200


def raw(server: Server, data: bytes) -> bytes:
    """All that comes back for some bytes, until the server closes the connection."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(data)
        told = b""
        while more := connection.recv(1 << 16):
            told += more
        return told


def test_a_body_that_does_not_come_is_waited_for_no_longer_than_allowed(server: Server) -> None:
    head = b"POST /v1/query HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 50\r\n\r\n"
    told = raw(server, head + b'{"item": ')
    assert told.startswith(b"HTTP/1.1 408 ")
    assert b'"code":"timeout"' in told


def test_a_body_in_chunks_is_counted_as_it_comes(server: Server) -> None:
    head = b"POST /v1/query HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    chunks = b"2710\r\n" + b"x" * 10_000 + b"\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(head + b"transfer-encoding: chunked\r\n\r\n" + 20 * chunks + b"0\r\n\r\n")
        assert connection.recv(1000).startswith(b"HTTP/1.1 413 ")


def test_what_is_no_http_is_refused_and_the_server_goes_on(server: Server) -> None:
    assert raw(server, b"\x16\x03\x01 hello\r\n\r\n").startswith(b"HTTP/1.1 400 ")
    assert server.ask("GET", "/healthz").status == 200
