"""A Qdrant server on loopback: its REST interface in front of its own in-memory mode."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

__all__ = ["QdrantServer"]


class QdrantServer:
    """Answers a retriever's requests; if `status` is not 200, it returns only that status."""

    def __init__(self) -> None:
        from qdrant_client import QdrantClient

        self.client = QdrantClient(":memory:")
        self.keys: list[str | None] = []
        self.status = 200
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))

    def __enter__(self) -> QdrantServer:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()
        self.client.close()

    def respond(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        if self.status != 200:
            return self.status, None
        try:
            return 200, self.answer(method, path, json.loads(body or b"{}"))
        except ValueError:
            return 400, None

    def answer(self, method: str, path: str, body: dict[str, Any]) -> Any:
        from qdrant_client import models

        _, _, collection, *rest = urlsplit(path).path.split("/")
        match method, rest:
            case "GET", ["exists"]:
                return {"exists": self.client.collection_exists(collection)}
            case "GET", []:
                return self.client.get_collection(collection).model_dump(mode="json")
            case "PUT", []:
                given = body["vectors"]
                named = {
                    n: models.VectorParams(**v) for n, v in given.items() if "size" not in given
                }
                params = named or models.VectorParams(**given)
                return self.client.create_collection(collection, vectors_config=params)
            case "DELETE", []:
                return self.client.delete_collection(collection)
            case "PUT", ["points"]:
                points = [models.PointStruct(**point) for point in body["points"]]
                return self.client.upsert(collection, points).model_dump(mode="json")
            case "POST", ["points", "query"]:
                wanted = body.get("filter")
                found = self.client.query_points(
                    collection,
                    query=models.NearestQuery(**body["query"]),
                    using=body.get("using"),
                    query_filter=wanted and models.Filter(**wanted),
                    limit=body["limit"],
                    with_payload=body["with_payload"],
                )
                return found.model_dump(mode="json")
            case _:
                raise AssertionError(f"{method} {path}")

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def _reply(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                with server._lock:
                    server.keys.append(self.headers.get("api-key"))
                    status, result = server.respond(self.command, self.path, body)
                # An error echoes the request, as servers do.
                said = "ok" if status == 200 else {"error": body.decode() + str(self.headers)}
                data = json.dumps({"result": result, "status": said, "time": 0.0}).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_PUT = do_POST = do_DELETE = _reply  # noqa: N815 - the names http.server looks for

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its own name
                pass

        return Handler
