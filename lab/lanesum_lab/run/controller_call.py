# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Process that makes one call to the controller, for runners whose hosts are network namespaces.

``python -m lanesum_lab.run.controller_call ADDRESS METHOD JSON TIMEOUT_S`` prints the answer.
"""

from __future__ import annotations

import sys

from lanesum.rpc.controller import ControllerError, UnreachableError, call
from lanesum.rpc.json_grpc import decode, encode

EXIT_UNREACHABLE = 75  # EX_TEMPFAIL: the call may be tried again


def main(arguments: list[str]) -> int:
    """Make the call; return the exit status."""
    address, method, message, timeout_s = arguments
    try:
        print(encode(call(address, method, decode(message.encode()), float(timeout_s))).decode())
    except ControllerError as error:
        print(error, file=sys.stderr)
        return EXIT_UNREACHABLE if isinstance(error, UnreachableError) else error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
