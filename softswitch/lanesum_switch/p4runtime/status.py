# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Canonical status codes, as an exception inside the server and as gRPC status outside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import grpc
from google.protobuf import any_pb2
from google.rpc import code_pb2, status_pb2
from p4.v1 import p4runtime_pb2 as p4rt

from lanesum_switch.api import SwitchError

OK: int = code_pb2.OK
UNKNOWN: int = code_pb2.UNKNOWN
INVALID_ARGUMENT: int = code_pb2.INVALID_ARGUMENT
NOT_FOUND: int = code_pb2.NOT_FOUND
ALREADY_EXISTS: int = code_pb2.ALREADY_EXISTS
PERMISSION_DENIED: int = code_pb2.PERMISSION_DENIED
RESOURCE_EXHAUSTED: int = code_pb2.RESOURCE_EXHAUSTED
FAILED_PRECONDITION: int = code_pb2.FAILED_PRECONDITION
OUT_OF_RANGE: int = code_pb2.OUT_OF_RANGE
UNAVAILABLE: int = code_pb2.UNAVAILABLE
UNIMPLEMENTED: int = code_pb2.UNIMPLEMENTED
INTERNAL: int = code_pb2.INTERNAL

# error space of simple_switch_grpc; clients may select on it
ERROR_SPACE = "ALL-sswitch-p4org"

DETAILS_KEY = "grpc-status-details-bin"

_GRPC_CODES: dict[int, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}


class StatusError(Exception):
    """A request, or one update of it, that ends in a canonical code other than OK.

    ``details`` is the binary ``google.rpc.Status`` for the trailing metadata; None to derive it from code and message.
    """

    def __init__(self, code: int, message: str, details: bytes | None = None) -> None:
        super().__init__(f"{code_pb2.Code.Name(code)}: {message}")
        self.code = code
        self.message = message
        self.details = details

    @property
    def grpc_code(self) -> grpc.StatusCode:
        return _GRPC_CODES[self.code]

    def packed(self) -> bytes:
        """Return the binary ``google.rpc.Status`` of this error."""
        if self.details is not None:
            return self.details
        serialized: bytes = status_pb2.Status(code=self.code, message=self.message).SerializeToString()
        return serialized


def invalid(message: str) -> StatusError:
    return StatusError(INVALID_ARGUMENT, message)


def invalid_id(p4_id: int, what: str) -> StatusError:
    return StatusError(INVALID_ARGUMENT, f"{p4_id:#x} is not the id of {what} of this program")


def invalid_type(kind: int) -> StatusError:
    return StatusError(INVALID_ARGUMENT, f"Update type {kind} is not INSERT, MODIFY or DELETE")


@contextmanager
def on_target(action: str) -> Iterator[None]:
    """Convert refusals of the data plane to UNKNOWN.

    PI has no mapping from target errors to canonical codes, so in simple_switch_grpc a full table, a const table and a
    duplicate found by the target all read UNKNOWN. The message has the reason.
    """
    try:
        yield
    except SwitchError as error:
        raise StatusError(UNKNOWN, f"The switch refused {action}: {error}") from error


def pack_write_errors(errors: Sequence[StatusError | None]) -> StatusError:
    """Return the status of a Write with failed updates (P4Runtime specification, section 12.3).

    One ``p4.v1.Error`` per update in the order of the request, the successful ones with canonical code OK.
    """
    status = status_pb2.Status(code=UNKNOWN)
    for error in errors:
        if error is None:
            packed = p4rt.Error()
        else:
            packed = p4rt.Error(canonical_code=error.code, message=error.message, space=ERROR_SPACE)
        wrapped = any_pb2.Any()
        wrapped.Pack(packed)
        status.details.append(wrapped)
    return StatusError(UNKNOWN, "", status.SerializeToString())
