# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Errors: one line, an exit code, and equal after pickling."""

from __future__ import annotations

import pickle

from lanesum.errors import ConfigurationError, LanesumError, MissingToolError
from lanesum.transport.errors import AggregationTimeoutError, MismatchError, RoundSize
from lanesum_control.errors import QuotaError


def test_error_message_has_next_step() -> None:
    error = ConfigurationError("There is no codec 'x'.", "Known codecs: a, b.")
    assert str(error) == "There is no codec 'x'. Known codecs: a, b."
    assert str(LanesumError("Short.")) == "Short."
    assert LanesumError.exit_code != 0
    assert len({LanesumError.exit_code, ConfigurationError.exit_code, MissingToolError.exit_code}) == 3


def test_pickled_error_keeps_its_message() -> None:
    for error in (LanesumError("a", "b"), AggregationTimeoutError("what", "next", (1, 3))):
        copy = pickle.loads(pickle.dumps(error))
        assert type(copy) is type(error)
        assert (copy.what, copy.next_step, str(copy)) == (error.what, error.next_step, str(error))
        assert getattr(copy, "missing", ()) == getattr(error, "missing", ())


def test_pickled_error_keeps_its_attributes() -> None:
    mismatch = MismatchError("what", "next", 2, RoundSize(1, 3), RoundSize(1, 4))
    for error in (AggregationTimeoutError("what", "next", (1, 3)), mismatch, QuotaError("what", job=3, switch="s1")):
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            copy = pickle.loads(pickle.dumps(error, protocol))
            assert (type(copy), str(copy), vars(copy)) == (type(error), str(error), vars(error))
