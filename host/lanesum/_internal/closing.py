# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Mixins for context managers: ``with`` starts and closes an object."""

from __future__ import annotations

from typing import Self


class Closing:
    """Context-manager mixin that calls ``close`` on exit. Subclasses define ``close``, which is idempotent."""

    def close(self) -> None:
        """Release all resources."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.close()


class Serving(Closing):
    """Context-manager mixin that also calls ``start`` on entry. Subclasses define ``start``."""

    def start(self) -> None:
        """Start to serve."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        self.start()
        return self
