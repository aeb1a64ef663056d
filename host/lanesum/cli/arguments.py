# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Argument parser of the commands that the package lanesum brings itself."""

from __future__ import annotations

import argparse
from typing import NoReturn

from lanesum.errors import ConfigurationError


class ArgumentParser(argparse.ArgumentParser):
    """Parser that raises ConfigurationError for wrong arguments instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        """Raise ConfigurationError."""
        raise ConfigurationError(f"{message[0].upper()}{message[1:]}.", f"See {self.prog} --help.")
