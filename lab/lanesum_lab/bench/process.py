# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A module of this package as a process: ``python -m lanesum_lab.bench.process MODULE ARGUMENTS``.

Processes exchange pickles that name the module, so it must not be ``__main__``.
"""

from __future__ import annotations

import importlib
import sys

from lanesum.errors import LanesumError


def command(module: str, *arguments: str) -> list[str]:
    """Return the command line that calls the module's ``main`` with ``arguments``."""
    return [sys.executable, "-m", "lanesum_lab.bench.process", module, *arguments]


def main(arguments: list[str]) -> int:
    """Call the module; errors end the process with their text on standard error."""
    name, *rest = arguments
    try:
        importlib.import_module(f"lanesum_lab.bench.{name}").main(rest)
    except LanesumError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
