# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What has an end: ``with`` closes it, and starts it first where it has a beginning."""

from __future__ import annotations

from types import TracebackType
from typing import Self


class Closing:
    """Closed on the way out of ``with``. Subclasses define ``close``, which is idempotent."""

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Serving(Closing):
    """Started on the way in, too. Subclasses define ``start``."""

    def start(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        self.start()
        return self
