"""The description of the server for programs (OpenAPI 3.1), made of the table of its addresses."""

from __future__ import annotations

from typing import Any

from lookalike import __version__
from lookalike.index.index_items import LONGEST_ID
from lookalike.server.endpoints import ENDPOINTS, Endpoint
from lookalike.server.request_error import CODES
from lookalike.server.serve_settings import RequestLimits
from lookalike.server.wire import JSON_TYPE, NDJSON_TYPE

__all__ = ["openapi_document"]

_Json = dict[str, Any]

# What else than 200 an address may answer, by what it does.
_WITH_BODY = (400, 408, 413, 415)
_STATUSES = {
    400: "The request is malformed, or the item, the id or an option is not allowed",
    401: "There is no token, or a wrong one",
    403: "The token does not allow this",
    404: "There is no such item",
    408: "The body did not arrive in time",
    409: "There is an item with this id already",
    413: "The body, the item or the batch is too large",
    415: "The body is not JSON",
    503: "The index could not be written or reached, or the server is shutting down",
}


def openapi_document(limits: RequestLimits) -> _Json:
    """The whole description."""
    paths: dict[str, _Json] = {}
    for endpoint in ENDPOINTS:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "lookalike",
            "version": __version__,
            "description": "Items that are like one another: looked up, added and removed one by one.",
        },
        "paths": paths,
        "components": {
            "schemas": _schemas(limits),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(endpoint: Endpoint) -> _Json:
    told: _Json = {"summary": endpoint.summary, "operationId": _name(endpoint)}
    if endpoint.needs != "none":
        # A server on this machine alone may have no tokens.
        told["security"] = [{"token": []}, {}]
    parameters: list[_Json] = []
    if "{id}" in endpoint.path:
        parameters.append(_ID_PARAMETER)
    if (endpoint.method, endpoint.path) in _REPLACING:
        parameters.append(_REPLACE_PARAMETER)
    if parameters:
        told["parameters"] = parameters
    given, gives = _BODIES.get((endpoint.method, endpoint.path), (None, "Anything"))
    if given is not None:
        told["requestBody"] = {"required": True, "content": _content(endpoint, given)}
    told["responses"] = {"200": {"description": "Done", "content": _answer(endpoint, gives)}} | {
        str(status): {"description": _STATUSES[status], "content": {JSON_TYPE: {"schema": _ref("Error")}}}
        for status in _failures(endpoint, given is not None)
    }
    return told


def _failures(endpoint: Endpoint, has_body: bool) -> list[int]:
    found = set(_WITH_BODY) if has_body else set()
    if endpoint.needs != "none":
        found |= {401, 403}
    if endpoint.needs != "none" or endpoint.path == "/readyz":
        found |= {503}
    if "{id}" in endpoint.path:
        found |= {400, 404}
    if endpoint.method == "PUT" or endpoint.path == "/v1/seen":
        found |= {409}
    return sorted(found | {403})


def _name(endpoint: Endpoint) -> str:
    words = endpoint.path.replace("{id}", "item").replace(".", "/").strip("/").split("/")
    return "_".join([endpoint.method.lower(), *(word for word in words if word)])


def _content(endpoint: Endpoint, schema: str) -> _Json:
    found = {JSON_TYPE: {"schema": _ref(schema)}}
    if endpoint.path.endswith("/batch"):
        found[NDJSON_TYPE] = {"schema": {"type": "string", "description": "a line of JSON for each item"}}
    return found


def _answer(endpoint: Endpoint, schema: str) -> _Json:
    if endpoint.path in ("/", "/docs"):
        return {"text/html": {"schema": {"type": "string"}}}
    if endpoint.path == "/metrics":
        return {"text/plain": {"schema": {"type": "string"}}}
    return _content(endpoint, schema)


def _ref(name: str) -> _Json:
    return {"$ref": f"#/components/schemas/{name}"}


_ID_PARAMETER: _Json = {
    "name": "id",
    "in": "path",
    "required": True,
    "description": "a string, percent-encoded; int:7 is the number 7, and str: in front makes a string of anything",
    "schema": {"type": "string", "minLength": 1, "maxLength": LONGEST_ID},
}
_REPLACE_PARAMETER: _Json = {
    "name": "replace",
    "in": "query",
    "description": "false: an id that is there already is an error",
    "schema": {"type": "string", "enum": ["true", "false"], "default": "true"},
}
_REPLACING = {("PUT", "/v1/items/{id}"), ("POST", "/v1/items/batch")}
# The schemas of what an address takes and gives.
_BODIES: dict[tuple[str, str], tuple[str | None, str]] = {
    ("POST", "/v1/query"): ("Query", "Answer"),
    ("POST", "/v1/query/batch"): ("Queries", "Answers"),
    ("POST", "/v1/nearest"): ("Nearest", "Answer"),
    ("POST", "/v1/seen"): ("NewItem", "Seen"),
    ("POST", "/v1/seen/batch"): ("NewItems", "SeenMany"),
    ("POST", "/v1/items/batch"): ("NewItems", "StoredMany"),
    ("GET", "/v1/items/{id}"): (None, "Item"),
    ("PUT", "/v1/items/{id}"): ("Content", "Stored"),
    ("DELETE", "/v1/items/{id}"): (None, "Removed"),
}


def _object(needed: tuple[str, ...], **fields: Any) -> _Json:
    return {"type": "object", "required": list(needed), "properties": fields, "additionalProperties": False}


def _results(of: str) -> _Json:
    return _object(("results",), results={"type": "array", "items": {"anyOf": [_ref(of), _ref("Error")]}})


def _schemas(limits: RequestLimits) -> dict[str, _Json]:
    named = {
        "anyOf": [
            {"type": "string", "minLength": 1, "maxLength": LONGEST_ID},
            {"type": "integer", "minimum": -(2**63), "maximum": 2**63 - 1},
        ]
    }
    item = {
        "description": "what the items of the index are: a text; a list of elements, of numbers, of true and false; or "
        "an object of elements and their weights",
        "anyOf": [
            {"type": "string", "minLength": 1, "maxLength": limits.max_item},
            {"type": "array", "minItems": 1, "items": {"type": ["string", "number", "boolean"]}},
            {"type": "object", "minProperties": 1, "additionalProperties": {"type": "number"}},
        ],
    }
    content = {"item": _ref("ItemValue"), "payload": {"description": "any JSON, given back with the item"}}
    score = {"similarity": {"type": "number"}, "distance": {"type": "number"}}
    match = _object(("id", "payload"), id=named, payload={}, **score)
    query = _object(
        ("item",), item=_ref("ItemValue"), threshold={"type": ["number", "null"]},
        k={"type": ["integer", "null"], "minimum": 1},
    )  # fmt: skip
    chance = {"type": ["number", "null"], "exclusiveMinimum": 0, "maximum": 1}
    nearest = _object(
        ("item",), item=_ref("ItemValue"), threshold={"type": ["number", "null"]}, recall=chance,
        k={"type": ["integer", "null"], "minimum": 1, "maximum": 10_000},
    )  # fmt: skip
    yes = {"type": "boolean"}
    most = {"type": "array", "maxItems": limits.max_batch}
    return {
        "ItemValue": item,
        "Query": query,
        "Nearest": nearest,
        "Queries": _object(("items",), items=most | {"items": _ref("Query")}),
        "NewItem": _object(("id", "item"), id=named, **content),
        "NewItems": _object(("items",), items=most | {"items": _ref("NewItem")}),
        "Content": _object(("item",), **content),
        "Match": match,
        "Answer": _object(
            ("matches", "compared", "left_out"), matches={"type": "array", "items": _ref("Match")},
            compared={"type": "integer"}, left_out={"type": "integer"}, recall={"type": "number"},
        ),
        "Answers": _results("Answer"),
        "Seen": _object(("match", "added"), match={"anyOf": [_ref("Match"), {"type": "null"}]}, added=yes),
        "SeenMany": _results("Seen"),
        "Stored": _object(("stored",), stored=yes),
        "StoredMany": _results("Stored"),
        "Removed": _object(("removed",), removed=yes),
        "Item": _object(("id", "payload"), id=named, payload={}),
        "Anything": {"type": "object"},
        "Error": _object(
            ("error",), error=_object(("code", "message"), code={"type": "string", "enum": list(CODES)},
                                      message={"type": "string"}),
        ),
    }  # fmt: skip
