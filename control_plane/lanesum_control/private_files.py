# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Files with secrets, which only their owner may read."""

from __future__ import annotations

import os
from pathlib import Path

from lanesum.errors import ConfigurationError


def make_private_folder(path: Path) -> None:
    """Create a folder that only its owner may enter, unless it exists. Raises ConfigurationError."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(f"Cannot create the folder {path}: {error.strerror}.") from error


def write_private(path: Path, data: bytes) -> None:
    """Replace the file ``path`` by one that only its owner may read, in one step. Raises ConfigurationError."""
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        new.unlink(missing_ok=True)
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
        new.replace(path)
    except OSError as error:
        raise ConfigurationError(f"Cannot write {path}: {error.strerror}.") from error
