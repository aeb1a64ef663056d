# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``python -m lanesum_lab.bench.process MODULE ARGUMENTS``: a module of this package as a process of its own.

What such processes tell each other is pickled under the name of its module, which therefore must not be ``__main__``.
"""

from __future__ import annotations

import importlib
import sys

from lanesum.errors import LanesumError


def command(module: str, *arguments: str) -> list[str]:
    """Command line that calls the module's ``main`` with ``arguments``."""
    return [sys.executable, "-m", "lanesum_lab.bench.process", module, *arguments]


def main(arguments: list[str]) -> int:
    """Call it; errors end the process with their text on standard error."""
    name, *rest = arguments
    try:
        importlib.import_module(f"lanesum_lab.bench.{name}").main(rest)
    except LanesumError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
