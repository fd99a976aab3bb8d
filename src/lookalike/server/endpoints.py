"""All addresses of the server: what routes, counts, describes and guards requests goes by this table."""

from __future__ import annotations

from typing import NamedTuple

from lookalike.server.access import Scope

__all__ = ["ENDPOINTS", "Endpoint"]


class Endpoint(NamedTuple):
    """An address, a method, and what a token must allow."""

    method: str
    path: str
    needs: Scope
    summary: str


ENDPOINTS = (
    Endpoint("POST", "/v1/query", "read", "The matches of an item, best first"),
    Endpoint("POST", "/v1/query/batch", "read", "The same for many items, as a list or as a stream of lines"),
    Endpoint("POST", "/v1/nearest", "read", "The most similar items, whatever their similarity"),
    Endpoint("POST", "/v1/seen", "write", "The first match of an item, or add the item, in one step"),
    Endpoint("POST", "/v1/seen/batch", "write", "The same for many items, as a list or as a stream of lines"),
    Endpoint("POST", "/v1/items/batch", "write", "Store many items, as a list or as a stream of lines"),
    Endpoint("GET", "/v1/items/{id}", "read", "The payload of an item"),
    Endpoint("PUT", "/v1/items/{id}", "write", "Store an item, or replace the one with this id"),
    Endpoint("DELETE", "/v1/items/{id}", "write", "Remove an item"),
    Endpoint("GET", "/v1/stats", "read", "Settings and size of the index"),
    Endpoint("GET", "/metrics", "read", "Counters for Prometheus"),
    Endpoint("GET", "/healthz", "none", "Whether the server runs"),
    Endpoint("GET", "/readyz", "none", "Whether it can read and write"),
    Endpoint("GET", "/openapi.json", "none", "The description of all this, for programs"),
    Endpoint("GET", "/docs", "none", "The description of all this, for people"),
    Endpoint("GET", "/", "none", "A page to paste a text and see its matches"),
)
