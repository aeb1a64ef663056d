# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The controller's gRPC service as both ends see it: method names, JSON messages, errors.

Messages are JSON, so that no generated code ties workers and controller to one protobuf version.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from lanesum.errors import LanesumError, MissingToolError

SERVICE = "lanesum.v1.Controller"
JOIN = "Join"
ADMIT = "Admit"
REMOVE = "Remove"
JOBS = "Jobs"
COUNTERS = "Counters"
DEFAULT_PORT = 50551
DEFAULT_TIMEOUT_S = 30.0
EXIT_UNREACHABLE = 75  # EX_TEMPFAIL: worth another try


class ControllerError(LanesumError):
    """The controller refused, or cannot be reached."""


class UnreachableError(ControllerError):
    """Nobody answered in time."""


def encode(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode()


def decode(data: bytes) -> dict[str, Any]:
    """Raises ValueError for bytes that are no JSON object."""
    message = json.loads(data)
    if not isinstance(message, dict):
        raise ValueError("not a JSON object")
    return message


def import_grpc() -> Any:
    """The grpc package. Raises MissingToolError where it is not installed."""
    try:
        import grpc
    except ImportError as error:
        raise MissingToolError("The package grpcio is not installed.", "Run: pip install 'lanesum[p4]'.") from error
    return grpc


def call(address: str, method: str, message: dict[str, Any], timeout_s: float = DEFAULT_TIMEOUT_S) -> dict[str, Any]:
    """One call to the controller at ``host:port``; waits for it to come up.

    Raises ControllerError with the controller's own words, or saying that it cannot be reached.
    """
    grpc = import_grpc()
    with grpc.insecure_channel(address) as channel:
        stub = channel.unary_unary(f"/{SERVICE}/{method}", encode, decode)
        try:
            reply: dict[str, Any] = stub(message, timeout=timeout_s, wait_for_ready=True)
            return reply
        except grpc.RpcError as error:
            if error.code() == grpc.StatusCode.DEADLINE_EXCEEDED:
                raise UnreachableError(
                    f"No controller answers at {address} within {timeout_s:g} s.",
                    "Start it (lanesum controller), or correct the address.",
                ) from error
            raise ControllerError(f"The controller at {address}: {error.details()}") from error


def main(arguments: list[str]) -> int:
    """``python -m lanesum.rpc ADDRESS METHOD JSON TIMEOUT_S``: one call, for runners whose hosts are namespaces."""
    address, method, message, timeout_s = arguments
    try:
        print(json.dumps(call(address, method, json.loads(message), float(timeout_s))))
    except ControllerError as error:
        print(error, file=sys.stderr)
        return EXIT_UNREACHABLE if isinstance(error, UnreachableError) else error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
