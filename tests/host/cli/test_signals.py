# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Commands that serve until they are stopped, with a standard output that takes nothing."""

from __future__ import annotations

import contextlib
import io
import os
import sys

import pytest

from lanesum.cli.signals import READY, serve_until_signal


class Stopped(Exception):
    """Raised in place of a signal's exception."""


def stop() -> None:
    raise Stopped


@pytest.mark.parametrize("broken", ["full disk", "ended reader"])
def test_service_whose_output_fails_serves_on(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if broken == "full disk":
        number = os.open("/dev/full", os.O_WRONLY)
    else:
        reading, number = os.pipe()
        os.close(reading)
    output = io.TextIOWrapper(io.FileIO(number, "w"), write_through=True)
    with contextlib.closing(output), monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", output)
        with pytest.raises(Stopped):
            serve_until_signal("a test", stop)


def test_service_names_itself_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Stopped):
        serve_until_signal("a test", stop)
    assert capsys.readouterr().out == f"{READY} a test\n"
