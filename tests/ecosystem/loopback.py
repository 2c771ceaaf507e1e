"""A server that takes what the clients of observability tools send, and answers as the tools do."""

from __future__ import annotations

import email.parser
import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID


class Request(NamedTuple):
    """What was sent."""

    path: str
    content_type: str
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def parts(self) -> dict[str, Any]:
        """The parts of a form, by their names."""
        head = f"Content-Type: {self.content_type}\r\n\r\n".encode()
        message = email.parser.BytesParser().parsebytes(head + self.body)
        parts = message.get_payload()
        assert isinstance(parts, list)
        return {
            str(part.get_param("name", header="content-disposition")): json.loads(
                part.get_payload(decode=True)
            )
            for part in parts
        }


class Pushed(NamedTuple):
    """A score as a tool has received it."""

    place: str
    name: str
    score: float | None
    decision: str | None


class Loopback:
    """What was received, and the answers."""

    def __init__(self, folder: Path) -> None:
        self.received: list[Request] = []
        self._folder = folder

    def answer(self, request: Request) -> tuple[int, Any]:
        self.received.append(request)
        path = request.path.partition("?")[0]
        if path == "/api/public/scores":  # Langfuse 5
            count = len(request.json)
            return 202, {"accepted": count, "rejected": 0, "errors": []}
        if path == "/api/public/ingestion":  # Langfuse 4
            done = [{"id": event["id"], "status": 201} for event in request.json["batch"]]
            return 207, {"successes": done, "errors": []}
        if path == "/info":  # LangSmith
            batches = {
                "use_multipart_endpoint": True,
                "scale_up_qsize_trigger": 1000,
                "scale_up_nthreads_limit": 16,
                "scale_down_nempty_trigger": 4,
                "size_limit": 100,
                "size_limit_bytes": 20_971_520,
            }
            return 200, {"version": "0.13.0", "batch_ingest_config": batches}
        if path == "/sessions":
            ids = {"id": str(UUID(int=1)), "tenant_id": str(UUID(int=2))}
            others = {"start_time": "2026-01-01T00:00:00Z", "reference_dataset_id": None}
            return 200, [{**ids, **others, "name": "default"}]
        if path == "/v1/span_annotations":  # Phoenix
            return 200, {"data": []}
        if path.endswith("/mlflow/traces"):  # MLflow
            made = request.json
            tags = made["trace"]["trace_info"].setdefault("tags", {})
            tags["mlflow.artifactLocation"] = (self._folder / "artifacts").as_uri()
            return 200, made
        if path.endswith("/assessments"):
            return 200, request.json
        return 200, self._weave(path)

    def _weave(self, path: str) -> Any:
        if path == "/graphql":
            viewer = {"username": "team", "defaultEntity": {"name": "team"}}
            return {"data": {"viewer": viewer, "project": {"name": "project"}}}
        if path in ("/obj/create", "/file/create"):
            return {"digest": "dVbS8ZOzeABZRHadkknQWd84taD0vXbIMfbUk5TI3Yk"}
        return {"res": [], "min_required_weave_python_version": "0.0.1"}

    def to(self, *ends: str) -> list[Request]:
        return [request for request in self.received if request.path.endswith(ends)]


@contextmanager
def listening(folder: Path) -> Iterator[tuple[str, Loopback]]:
    """Listen on a free port until the end."""
    loopback = Loopback(folder)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: object) -> None:
            pass

        def serve(self) -> None:
            body = self._chunks() if "chunked" in str(self.headers["transfer-encoding"]) else None
            if body is None:
                body = self.rfile.read(int(self.headers["content-length"] or 0))
            if self.headers["content-encoding"] == "gzip":
                body = gzip.decompress(body)
            request = Request(self.path, self.headers["content-type"] or "", body)
            status, answer = loopback.answer(request)
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def _chunks(self) -> bytes:
            chunks: list[bytes] = []
            while size := int(self.rfile.readline(), 16):
                chunks.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(chunks)

    for method in ("GET", "POST", "PATCH", "PUT"):
        setattr(Handler, f"do_{method}", Handler.serve)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", loopback
        finally:
            server.shutdown()
            thread.join()


def pushed_to(tool: str, loopback: Loopback) -> list[Pushed]:
    """Return the scores that a tool has received, in order."""
    return list(_PUSHED[tool](loopback))


def _langfuse(loopback: Loopback) -> Iterator[Pushed]:
    bodies = [body for request in loopback.to("/scores") for body in request.json]
    for request in loopback.to("/ingestion"):
        bodies += [one["body"] for one in request.json["batch"] if one["type"] == "score-create"]
    for body in bodies:
        place = f"{body['traceId']} {body['observationId']}"
        number = body["value"] if body["dataType"] == "NUMERIC" else None
        yield Pushed(place, body["name"], number, body["metadata"]["decision"])


def _langsmith(loopback: Loopback) -> Iterator[Pushed]:
    for request in loopback.to("/runs/multipart"):
        for name, body in request.parts.items():
            if name.startswith("feedback."):
                place = f"{body['trace_id']} {body['run_id']}"
                yield Pushed(place, body["key"], body["score"], body["value"])


def _phoenix(loopback: Loopback) -> Iterator[Pushed]:
    for request in loopback.to("/v1/span_annotations"):
        for body in request.json["data"]:
            result = body["result"]
            yield Pushed(body["span_id"], body["name"], result["score"], result["label"])


def _mlflow(loopback: Loopback) -> Iterator[Pushed]:
    bodies: list[Any] = []
    for request in loopback.to("/mlflow/traces", "/assessments"):
        if request.path.endswith("/assessments"):
            bodies.append(request.json["assessment"])
        else:
            bodies += request.json["trace"]["trace_info"]["assessments"]
    for body in bodies:
        value = body["feedback"]["value"]
        number = value if isinstance(value, float) else None
        place = f"{body['trace_id']} {body['span_id']}"
        yield Pushed(place, body["assessment_name"], number, body["metadata"]["decision"])


def _weave(loopback: Loopback) -> Iterator[Pushed]:
    for request in loopback.to("/feedback/batch/create", "/feedback/create"):
        for body in request.json.get("batch", [request.json]):
            payload = body["payload"]
            place = body["weave_ref"].rpartition("/")[2]
            yield Pushed(place, body["feedback_type"], payload["score"], payload["decision"])


_PUSHED = {
    "langfuse": _langfuse,
    "langsmith": _langsmith,
    "phoenix": _phoenix,
    "mlflow": _mlflow,
    "weave": _weave,
}
