"""Registries of packages and DOIs, and web sites, on the loopback interface."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["Registries", "serving_registries"]


@dataclass
class Registries:
    """What is served, in the shapes of the real ones.

    Attributes:
        url: Their address.
        existing: The paths that exist.
        statuses: Other statuses, by path.
        redirects: Where paths lead, by path.
        get_only: Paths that exist for GET requests only.
        slow_s: How long each answer takes.
        requests: The requests so far: method, path and headers.
        most_at_once: How many were answered at the same time at most.
    """

    url: str = ""
    existing: set[str] = field(default_factory=set[str])
    statuses: dict[str, int] = field(default_factory=dict[str, int])
    redirects: dict[str, str] = field(default_factory=dict[str, str])
    get_only: set[str] = field(default_factory=set[str])
    slow_s: float = 0.0
    requests: list[tuple[str, str, Mapping[str, str], bytes]] = field(default_factory=list[Any])
    most_at_once: int = 0

    @property
    def paths(self) -> list[str]:
        return [path for _, path, _, _ in self.requests]

    @property
    def lookups(self) -> dict[str, Any]:
        """The section of a policy that names them."""
        return {
            "packages": {"pypi": f"{self.url}/simple", "npm": self.url},
            "doi": {"crossref": self.url},
        }

    def status_of(self, method: str, path: str) -> int:
        if path in self.redirects:
            return 302
        if path in self.statuses:
            return self.statuses[path]
        exists = path in self.existing or (method == "GET" and path in self.get_only)
        return 200 if exists else 404


def body_of(path: str, status: int) -> bytes:
    """Return what the real ones answer."""
    if path.startswith("/works/"):
        if status == 404:
            return b"Resource not found."
        agency = {"id": "datacite", "label": "DataCite"}
        message = {"DOI": path.split("/")[2], "agency": agency}
        return json.dumps(
            {"status": "ok", "message-type": "work-agency", "message": message}
        ).encode()
    if path.startswith("/simple/"):
        name = path.split("/")[2]
        known = {"meta": {"api-version": "1.4"}, "name": name, "versions": ["1.0"], "files": []}
        return b"404 Not Found" if status == 404 else json.dumps(known).encode()
    return json.dumps(
        {"error": "Not found"} if status == 404 else {"name": path, "dist-tags": {"latest": "1"}}
    ).encode()


@contextmanager
def serving_registries() -> Iterator[Registries]:
    """Serve registries where nothing exists yet."""
    registries = Registries()
    at_once = 0
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            nonlocal at_once
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            with lock:
                headers = {name.lower(): value for name, value in self.headers.items()}
                registries.requests.append((self.command, self.path, headers, body))
                at_once += 1
                registries.most_at_once = max(registries.most_at_once, at_once)
            time.sleep(registries.slow_s)
            with lock:
                at_once -= 1
            status = registries.status_of(self.command, self.path)
            content = body_of(self.path, status)
            self.send_response(status)
            self.send_header("content-length", str(len(content)))
            self.send_header("set-cookie", "visitor=1; path=/")
            if self.path in registries.redirects:
                self.send_header("location", registries.redirects[self.path])
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        do_GET = do_HEAD = answer  # noqa: N815 - the names that the server calls.

        def log_message(self, *_: object) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            pass

    server = Quiet(("127.0.0.1", 0), Handler)
    registries.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield registries
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
