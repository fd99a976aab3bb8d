"""The pages of the server, each one file without anything from elsewhere.

A policy lets the browser run the scripts and styles that stand in the page, known by their hashes, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from lookalike.server.openapi import openapi_document
from lookalike.server.request_error import CODES
from lookalike.server.serve_settings import RequestLimits

__all__ = ["describing_page", "trying_page"]

_FOLDER = Path(__file__).parent


def trying_page() -> tuple[str, dict[str, str]]:
    """The page to paste a text and see its matches, and its headers."""
    return _page("try_it.html")


@cache
def describing_page(limits: RequestLimits) -> tuple[str, dict[str, str]]:
    """The page that tells what the server can do, and its headers."""
    page, _ = _page("describe.html")
    document = openapi_document(limits)
    calls = "".join(
        _call(method.upper(), path, told, document)
        for path, methods in document["paths"].items()
        for method, told in methods.items()
    )
    codes = "".join(f"<tr><td><code>{code}</code><td>{html.escape(why)}" for code, why in CODES.items())
    page = page.replace("<!-- calls -->", calls).replace("<!-- codes -->", codes)
    return page, _policy(page)


@cache
def _page(name: str) -> tuple[str, dict[str, str]]:
    page = _FOLDER.joinpath(name).read_text(encoding="utf-8")
    style = _FOLDER.joinpath("pages.css").read_text(encoding="utf-8")
    page = page.replace("/* style */", style)
    return page, _policy(page)


def _policy(page: str) -> dict[str, str]:
    allowed = {"connect-src": ["'self'"], "img-src": ["data:"], "base-uri": ["'none'"], "form-action": ["'none'"]}
    for kind in ("script", "style"):
        found = re.findall(rf"<{kind}>(.*?)</{kind}>", page, re.DOTALL)
        hashes = [base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in found]
        allowed[f"{kind}-src"] = [f"'sha256-{each}'" for each in hashes] or ["'none'"]
    rules = "; ".join(["default-src 'none'", *(f"{name} {' '.join(each)}" for name, each in allowed.items())])
    return {
        "content-security-policy": f"{rules}; frame-ancestors 'none'",
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
    }


def _call(method: str, path: str, told: dict[str, Any], document: dict[str, Any]) -> str:
    """One address with all that it takes and gives."""
    parts = [f"<p>{html.escape(told['summary'])}."]
    if "security" in told:
        parts.append(" Needs a token, where the server has any.")
    parts.append("</p>")
    for parameter in told.get("parameters", []):
        name, meaning = html.escape(parameter["name"]), html.escape(parameter["description"])
        parts.append(f"<p><code>{name}</code> ({parameter['in']}): {meaning}</p>")
    if "requestBody" in told:
        parts.append(f"<h3>Takes</h3>{_bodies(told['requestBody']['content'], document)}")
    parts.append("<h3>Answers</h3>")
    for status, answer in told["responses"].items():
        shown = _bodies(answer["content"], document) if status == "200" else ""
        parts.append(f"<p><b>{status}</b> {html.escape(answer['description'])}</p>{shown}")
    head = f'<summary><span class="method">{method}</span> <code>{html.escape(path)}</code></summary>'
    return f"<details>{head}{''.join(parts)}</details>"


def _bodies(content: dict[str, Any], document: dict[str, Any]) -> str:
    return "".join(
        f"<p><code>{kind}</code></p><pre>{html.escape(json.dumps(_resolved(body['schema'], document), indent=2))}</pre>"
        for kind, body in content.items()
    )


def _resolved(schema: Any, document: dict[str, Any]) -> Any:
    """A schema with what it refers to in its place."""
    if isinstance(schema, list):
        return [_resolved(each, document) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _resolved(document["components"]["schemas"][schema["$ref"].rpartition("/")[2]], document)
    return {name: _resolved(each, document) for name, each in schema.items()}
