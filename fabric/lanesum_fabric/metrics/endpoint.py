# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""HTTP endpoint that Prometheus scrapes, with bounds, and with TLS where certificates are given."""

from __future__ import annotations

import contextlib
import http.server
import logging
import socket
import ssl
import threading
import time
from collections import Counter
from http import HTTPStatus
from pathlib import Path
from typing import Any

from lanesum._internal.closing import Serving
from lanesum.errors import ConfigurationError
from lanesum.rpc import tls
from lanesum_fabric.metrics.families import Source

#: Connections at once. One more ends the oldest one of the host that has most.
MAX_CONNECTIONS = 16
_PAUSE_S = 0.1  # after a connection that could not be accepted
#: Time in which a peer completes its request and takes the answer.
CONNECTION_S = 10.0
#: Time for which all peers get the same samples.
CACHE_S = 0.5
PATH = "/metrics"
logger = logging.getLogger(__name__)


def address_of(text: str) -> tuple[str, int]:
    """Return host and port of ``HOST:PORT``. Raises ConfigurationError."""
    host, _, port = text.rpartition(":")
    if not host or not (port.isdecimal() and port.isascii()) or int(port) > 65535:
        raise ConfigurationError(f"Invalid address of metrics {text!r}: expected HOST:PORT.", "As 127.0.0.1:9464.")
    return host, int(port)


class MetricsEndpoint(Serving):
    """Serves the samples of ``source`` at ``http://address/metrics``; port 0 selects a port.

    Args:
        source: returns the present samples; in any thread, one at a time.
        address: ``host:port``.
        folder: certificates for TLS, with which only operators may read; None for plain text.
        insecure: accept an address that others reach, without TLS.

    Attributes:
        address: address with the port that is in use.

    Raises ConfigurationError if the address is in use, or would not be secure.
    """

    def __init__(self, source: Source, address: str, folder: Path | None = None, *, insecure: bool = False) -> None:
        host, port = address_of(address)
        tls.credentials_for("metrics endpoint", address, folder, insecure=insecure)
        try:
            self._server = _Server((host.strip("[]"), port), _Page(source), folder)
        except OSError as error:
            raise ConfigurationError(
                f"Metrics cannot be served at {address}: {error.strerror or error}.",
                "Choose another address for the metrics.",
            ) from error
        self.address = f"{host}:{self._server.server_address[1]}"
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="lanesum-metrics", daemon=True)

    def _serve(self) -> None:
        while not self._ending.is_set():  # ``serve_forever`` would wake up twice per second
            self._server.handle_request()

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Stop serving; idempotent."""
        if self._thread.is_alive():
            self._ending.set()
            _end(self._server.socket)  # wakes up the thread
            self._thread.join()
        self._server.server_close()


class _Page:
    """The samples as text, made at most every ``CACHE_S`` seconds."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._lock = threading.Lock()
        self._made_at, self._text = float("-inf"), b""

    def collect(self) -> Any:
        return self._source().collect()

    def text(self) -> bytes:
        from prometheus_client.exposition import generate_latest

        with self._lock:
            if time.monotonic() >= self._made_at + CACHE_S:
                self._text = generate_latest(self)  # any object with ``collect``
                self._made_at = time.monotonic()
            return self._text


class _Server(http.server.ThreadingHTTPServer):
    """One thread for each connection, within the bounds above; each connection has one request."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, address: tuple[str, int], page: _Page, folder: Path | None) -> None:
        self.page = page
        self._folder = folder
        self._open: dict[socket.socket, str] = {}  # hosts of the open connections, the oldest first
        self._states: object = None  # of the certificates in ``_context``
        self._context: ssl.SSLContext | None = None
        self._bounds = threading.Lock()
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        super().__init__(address, _Request)

    def get_request(self) -> tuple[socket.socket, Any]:
        """Accept a connection. Raises OSError, after a pause: without it, a process without files would only spin."""
        try:
            return super().get_request()
        except OSError:
            time.sleep(_PAUSE_S)
            raise

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Make room: a scrape takes milliseconds, so an old connection is of a peer that holds it."""
        with self._bounds:
            if len(self._open) >= MAX_CONNECTIONS:
                hosts = Counter(self._open.values())
                oldest = max(self._open, key=lambda one: hosts[self._open[one]])  # the first of equal ones
                del self._open[oldest]
                _end(oldest)
            self._open[request] = client_address[0]
        return True

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._release(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log the error of a connection, such as a handshake that failed, or that there is no thread for it."""
        self._release(request)
        logger.info("The connection of %s to the metrics failed.", client_address[0], exc_info=True)

    def _release(self, request: socket.socket) -> None:
        with self._bounds:
            self._open.pop(request, None)

    def _tls(self, folder: Path) -> ssl.SSLContext:
        """Return the context of new connections; renewed certificates are used."""
        with self._bounds:
            if (states := tls.file_states(folder)) != self._states or self._context is None:
                self._context, self._states = _context(folder), states
            return self._context

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection; a timer ends it, because each single operation of a slow peer may be in time."""
        if self._folder is not None:
            request = self._tls(self._folder).wrap_socket(
                request.dup(), server_side=True, do_handshake_on_connect=False
            )
        timer = threading.Timer(CONNECTION_S, _end, [request])
        timer.daemon = True
        timer.start()
        with request:
            try:
                if self._folder is not None:
                    request.do_handshake()
                    tls.operators_only(None, _identity(request))
                super().finish_request(request, client_address)
            finally:
                timer.cancel()


def _identity(session: ssl.SSLSocket) -> dict[str, list[bytes]]:
    """Return what gRPC would say of the peer's certificate."""
    fields: dict[str, Any] = session.getpeercert() or {}
    certificate = session.getpeercert(binary_form=True) or b""
    return {
        "peer_uri": [name.encode() for kind, name in fields.get("subjectAltName", ()) if kind == "URI"],
        "x509_pem_cert": [ssl.DER_cert_to_PEM_cert(certificate).encode()],
    }


class _Request(http.server.BaseHTTPRequestHandler):
    timeout = CONNECTION_S
    server: _Server

    def do_GET(self) -> None:
        if self.path.partition("?")[0] != PATH:
            self.send_error(HTTPStatus.NOT_FOUND, f"Metrics are at {PATH}")
            return
        text = self.server.page.text()
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_arguments: object) -> None:
        """Log no requests."""


def _context(folder: Path) -> ssl.SSLContext:
    """Return the context for the certificates of a folder."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=folder / tls.AUTHORITY)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(folder / tls.CERTIFICATE, folder / tls.KEY, password="")
    return context


def _end(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        socket.socket.shutdown(connection, socket.SHUT_RDWR)  # that of an SSLSocket is not thread-safe
