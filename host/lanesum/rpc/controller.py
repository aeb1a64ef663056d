# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The controller's gRPC service as both ends see it: method names, errors, and how to call it."""

from __future__ import annotations

import sys
from typing import Any

from lanesum.errors import LanesumError
from lanesum.rpc import json_grpc
from lanesum.rpc.json_grpc import decode, encode

SERVICE = "lanesum.v1.Controller"
JOIN = "Join"
ADMIT = "Admit"
REMOVE = "Remove"
JOBS = "Jobs"
COUNTERS = "Counters"
READY = "Ready"
KEEPALIVE = "KeepAlive"
RESIZE = "Resize"
LEAVE = "Leave"
EXTEND = "Extend"
EVENTS = "Events"
DEFAULT_PORT = 50551
DEFAULT_TIMEOUT_S = 30.0
EXIT_UNREACHABLE = 75  # EX_TEMPFAIL: worth another try


class ControllerError(LanesumError):
    """The controller refused, or cannot be reached."""


class UnreachableError(ControllerError):
    """The controller did not answer in time."""


def call(address: str, method: str, message: dict[str, Any], timeout_s: float = DEFAULT_TIMEOUT_S) -> dict[str, Any]:
    """One call to the controller at ``host:port``; waits for it to come up.

    Raises ControllerError with the controller's own words, or saying that it cannot be reached.
    """
    try:
        return json_grpc.call(address, SERVICE, method, message, timeout_s)
    except json_grpc.NoAnswerError as error:
        raise UnreachableError(
            f"No controller answers at {address} within {timeout_s:g} s.",
            "Start it (lanesum controller), or correct the address.",
        ) from error
    except json_grpc.RefusedCallError as error:
        raise ControllerError(f"The controller at {address}: {error}") from error


def main(arguments: list[str]) -> int:
    """Make one call: ``python -m lanesum.rpc.controller ADDRESS METHOD JSON TIMEOUT_S``.

    For runners whose hosts are network namespaces.
    """
    address, method, message, timeout_s = arguments
    try:
        print(encode(call(address, method, decode(message.encode()), float(timeout_s))).decode())
    except ControllerError as error:
        print(error, file=sys.stderr)
        return EXIT_UNREACHABLE if isinstance(error, UnreachableError) else error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
