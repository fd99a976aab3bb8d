"""A headless Chromium at the other end of two pipes: what a page shows, asks for and complains about.

`--remote-debugging-pipe` speaks the DevTools protocol over file descriptors 3 and 4, JSON ended by NUL, so no port and
no further package is needed.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["Browser", "chromium", "open_browser"]


def chromium() -> str | None:
    """The program, where one is installed."""
    found = (shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome"))
    return next((path for path in found if path), None)


class Browser:
    """One page. `events` has everything that the browser reported, in order."""

    def __init__(self, to: int, back: int) -> None:
        self._to, self._back, self._rest = to, back, b""
        # Unlike `select`, this takes any number of a file.
        self._answers = select.poll()
        self._answers.register(back, select.POLLIN | select.POLLHUP)
        self._number, self._session = 0, ""
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Ask the browser, and wait for its answer."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self._number:
            self.events.append(answer)
        assert "error" not in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def visit(
        self, place: Path | str, *, dark: bool = False, width: int = 1280, height: int = 900, media: str = ""
    ) -> None:
        """Load a file or an address, and wait until it is there."""
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)
        phone = width < 500
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        self.events.clear()
        # By its loader: the load of a page before may be told late.
        loader = self.call("Page.navigate", url=place if isinstance(place, str) else place.as_uri())["loaderId"]
        while not any(_loaded(event, loader) for event in self.events):
            self.events.append(self._next())

    def evaluate(self, expression: str) -> Any:
        """The value of an expression in the page."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def until(self, condition: str, seconds: int = 30) -> bool:
        """Wait until an expression holds in the page; False if it never does."""
        waiting = f"""new Promise(done => {{
            const end = performance.now() + {1000 * seconds};
            const look = () => ({condition}) ? done(true) : performance.now() > end ? done(false) : setTimeout(look, 5);
            look();
        }})"""
        return bool(self.evaluate(waiting))

    def screenshot(self, *, whole: bool = False) -> bytes:
        """A PNG of the window, or of the whole page."""
        found = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        return base64.b64decode(found["data"])

    def requests(self) -> list[str]:
        """Every address that was asked for since the visit began."""
        asked = [event for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in asked]

    def complaints(self) -> list[str]:
        """Console messages, log entries (blocked requests, violated policies) and exceptions."""
        methods = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [json.dumps(event["params"]) for event in self.events if event.get("method") in methods]

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready = self._answers.poll(60_000)
            assert ready, "the browser says nothing"
            more = os.read(self._back, 1 << 16)
            assert more, "the browser is gone"
            self._rest += more
        message, self._rest = self._rest.split(b"\0", 1)
        found: dict[str, Any] = json.loads(message)
        return found


def _loaded(event: dict[str, Any], loader: str) -> bool:
    told = event.get("params", {})
    return event.get("method") == "Page.lifecycleEvent" and (told["name"], told["loaderId"]) == ("load", loader)


@contextmanager
def open_browser(program: str, profile: Path) -> Iterator[Browser]:
    """Start a browser with a profile of its own, and end it afterwards."""
    theirs_in, to = os.pipe()
    back, theirs_out = os.pipe()
    # A shell puts the two ends at the numbers that the browser expects. Root, as in a container, has no sandbox.
    command = (
        f'exec "$0" --headless=new --no-sandbox --disable-gpu --no-first-run --hide-scrollbars '
        f'--disable-background-networking --user-data-dir="$1" --remote-debugging-pipe 3<&{theirs_in} 4>&{theirs_out}'
    )
    process = subprocess.Popen(
        ["bash", "-c", command, program, str(profile)],
        pass_fds=(theirs_in, theirs_out),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs_in)
    os.close(theirs_out)
    try:
        yield Browser(to, back)
    finally:
        os.close(to)
        os.close(back)
        process.terminate()
        process.wait(timeout=120)
