# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""gRPC service of the controller: method names, errors, and a function to call it."""

from __future__ import annotations

import os
import random
import time
from typing import Any

from lanesum import environment
from lanesum._internal.udp_socket import own_address
from lanesum.errors import ConfigurationError, LanesumError
from lanesum.rpc import json_grpc, tls

SERVICE = "lanesum.v1.Controller"
JOIN = "Join"
ADMIT = "Admit"
REMOVE = "Remove"
JOBS = "Jobs"
COUNTERS = "Counters"
READY = "Ready"
KEEPALIVE = "KeepAlive"
WATCH = "Watch"  # answers with a stream
REPORT = "Report"
RENEW = "Renew"  # by the launch of a job, whose workers may not have joined yet
RESIZE = "Resize"
LEAVE = "Leave"
EXTEND = "Extend"
DRAIN = "Drain"
UNDRAIN = "Undrain"
DRAINS = "Drains"
TENANT = "Tenant"
TENANTS = "Tenants"
COMPARE = "Compare"
EVENTS = "Events"
EXAMINE = "Examine"
LIVE = "Live"
TRACE = "Trace"
#: Methods that a caller repeats only if the controller has not received them.
CHANGES = (ADMIT, REMOVE, RESIZE, LEAVE, EXTEND, DRAIN, UNDRAIN, TENANT)
#: TCP ports of a controller and of a server's control, below the ports that a kernel gives to clients (from 32768).
DEFAULT_PORT, DEFAULT_SERVER_PORT = 19551, 19552
DEFAULT_TIMEOUT_S = 30.0
CONNECT_S = 4.0  # for callers that should not wait for a controller that was never started

_SESSION_S = 1.0  # for the others, if no TLS session with one of several controllers begins
_PROBE_S, _RETRY_S = 0.25, 0.1  # for one of several controllers; between two looks for the one that leads
_leaders: dict[str, str] = {}  # the controller that answered last, by list of addresses

#: States of an incarnation that has ended.
OVER = ("superseded", "removed")
#: Kinds of workers that are gone: reported a failure; ended without one; closed its session.
FAILED, LOST, LEFT = GONE_KINDS = ("failed", "lost", "left")
#: Length of the texts of other processes, in characters, at most.
MAX_TEXT = 500
#: Spans that a worker keeps while a trace is recorded, and seconds of a trace, at most.
MAX_SPANS, MAX_TRACE_S = 4096, 10.0


class ControllerError(LanesumError):
    """The controller refused a call, or cannot be reached."""


class UnreachableError(ControllerError):
    """The controller did not answer in time."""


def lease() -> dict[str, float]:
    """Return the lease of LANESUM_LEASE, if it is set, as a field of an admission. Raises ConfigurationError."""
    text = os.environ.get(environment.LEASE)
    try:
        return {"lease_s": float(text)} if text else {}
    except ValueError as error:
        raise ConfigurationError(
            f"Invalid {environment.LEASE}={text!r}: expected a number of seconds from 0."
        ) from error


def one_line(text: object) -> str:
    """Return the text of another process for messages: one line of at most ``MAX_TEXT`` printable characters."""
    line = " ".join(str(text)[: 4 * MAX_TEXT].split())
    return "".join(one if one.isprintable() else "?" for one in line[:MAX_TEXT])


def call(
    address: str,
    method: str,
    message: dict[str, Any],
    timeout_s: float = DEFAULT_TIMEOUT_S,
    *,
    connect_s: float | None = None,
) -> dict[str, Any]:
    """Call the controller; wait until it is up, at most ``connect_s`` or ``timeout_s`` seconds.

    ``address`` may name several, ``HOST:PORT,HOST:PORT``, of which the one that leads answers.

    Raises:
        UnreachableError: the controller did not answer in time.
        ControllerError: the controller refused; the error has its message.
    """
    try:
        if "," in address:
            return _call_leader(address, method, message, timeout_s, connect_s)
        return _call_again(address, method, message, timeout_s, connect_s)
    except json_grpc.StandbyError as error:
        raise UnreachableError(
            f"The controller at {address}: {error}", "" if "," in address else "Name all of them: HOST:PORT,HOST:PORT."
        ) from error
    except json_grpc.NoAnswerError as error:
        if connect_s is not None and not isinstance(error, json_grpc.NoConnectionError):
            raise UnreachableError(
                f"The controller at {address} was reached, but {method} got no answer; the limit is {timeout_s:g} s.",
                "It may still carry it out: look at its jobs (lanesum job list) before another attempt.",
            ) from error
        how = "Start it (lanesum controller), correct the address, or start the script with lanesum launch."
        if address == os.environ.get(environment.CONTROLLER):
            how = (
                f"{environment.CONTROLLER} names it: unset it if it is of an earlier run, or start a controller there."
            )
        raise UnreachableError(
            f"No controller answers at {address} within {min(timeout_s, connect_s or timeout_s):g} s.", how
        ) from error
    except json_grpc.RefusedCallError as error:
        raise ControllerError(f"The controller at {address}: {error}") from error


def _call_again(
    address: str, method: str, message: dict[str, Any], timeout_s: float, connect_s: float | None
) -> dict[str, Any]:
    """Call one controller; repeat a call that it cancels because too many wait, unless the call changes a job."""
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            return json_grpc.call(address, SERVICE, method, message, timeout_s, connect_s)
        except json_grpc.CancelledCallError:
            timeout_s = deadline - time.monotonic() - _RETRY_S
            if method in CHANGES or timeout_s <= 0:
                raise
        time.sleep(_RETRY_S * random.random())


def _call_leader(
    addresses: str, method: str, message: dict[str, Any], timeout_s: float, connect_s: float | None
) -> dict[str, Any]:
    """Call the controllers in turn until one answers that leads. Each has its share of the time.

    Raises RefusedCallError, NoAnswerError; ConfigurationError if one of the addresses is malformed.
    """
    known = [one.strip() for one in addresses.split(",")]
    for one in known:
        tls.check_address(one)
    begin = time.monotonic()
    deadline = begin + (timeout_s if connect_s is None else connect_s)
    share_s = timeout_s / len(known)
    problems: dict[str, json_grpc.NoAnswerError | json_grpc.NoSessionError] = {}
    while True:
        for one in sorted(known, key=lambda one: one != leader(addresses)):
            try:
                answer = json_grpc.call(one, SERVICE, method, message, share_s, _PROBE_S)
                _leaders[addresses] = one
                return answer
            except (json_grpc.NoAnswerError, json_grpc.NoSessionError) as error:
                problems[one] = error
                is_received = not isinstance(error, (json_grpc.NoConnectionError, json_grpc.NoSessionError))
                if method in CHANGES and is_received:
                    raise
        kinds = {type(one) for one in problems.values()}
        if json_grpc.NoSessionError in kinds and json_grpc.StandbyError not in kinds:
            deadline = min(deadline, begin + _SESSION_S)  # a longer wait does not help
        if time.monotonic() > deadline:
            raise max(problems.values(), key=_says_much)
        time.sleep(_RETRY_S)


def _says_much(error: LanesumError) -> int:
    """Return the rank of an error among those of several controllers, of which one is raised."""
    kinds = (json_grpc.NoAnswerError, json_grpc.StandbyError, json_grpc.NoSessionError)
    return max(number for number, kind in enumerate(kinds) if isinstance(error, kind))


def leader(addresses: str) -> str:
    """Return the controller that leads as far as is known, of one or several addresses."""
    return _leaders.get(addresses, addresses.partition(",")[0].strip())


def jobs_by_name(address: str) -> dict[str, dict[str, Any]]:
    """Return the jobs of a controller, see ``call``; one that was never started fails soon. An answer has a part."""
    found: dict[str, dict[str, Any]] = {}
    more, after = True, 0
    while more:
        answer = call(address, JOBS, {"after": after}, connect_s=CONNECT_S)
        found |= {one["name"]: one for one in answer["jobs"]}
        more, after = bool(answer.get("more")), max((one["job"] for one in answer["jobs"]), default=0)
    return found


def address_towards(controller: str) -> str:
    """Return the address of this host on its path to the controller; empty if there is no path.

    The controller of a unix socket is on loopback.
    """
    controller = leader(controller)
    host, _, port = controller.removeprefix(tls.PLAINTEXT).rpartition(":")
    if controller.startswith(tls.UNIX):
        return "127.0.0.1"
    try:
        return own_address((host, int(port)))
    except (OSError, ValueError):
        return ""
