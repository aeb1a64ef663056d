# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Commands that serve until they are stopped, with a standard output that takes nothing."""

from __future__ import annotations

import contextlib
import ctypes
import io
import os
import subprocess
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


TERMINATED_ELSEWHERE = """
import signal, sys, threading, time
from lanesum.cli.signals import serve_until_signal

def terminate(*_):
    raise SystemExit(7)

def send():
    with open(f"/proc/self/task/{threading.main_thread().native_id}/stat") as state:
        while state.read().rsplit(")", 1)[1].split()[0] != "S":  # until the main thread waits
            state.seek(0)
            time.sleep(0.01)
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

signal.signal(signal.SIGTERM, terminate)
threading.Thread(target=send, daemon=True).start()
serve_until_signal("a test")
"""


def test_signal_that_another_thread_receives_ends_service() -> None:
    done = subprocess.run([sys.executable, "-c", TERMINATED_ELSEWHERE], timeout=60, capture_output=True, check=False)
    assert done.returncode == 7


ALLOCATE = """
import ctypes, sys, threading
from lanesum.cli.signals import limit_heaps
if sys.argv[1:]:
    limit_heaps()
libc = ctypes.CDLL(None)
libc.fopen.restype = libc.malloc.restype = ctypes.c_void_p
together = threading.Barrier(9)

def allocate():
    libc.malloc(1000)
    together.wait()
    together.wait()

for _ in range(8):
    threading.Thread(target=allocate).start()
together.wait()
out = ctypes.c_void_p(libc.fopen(b"/dev/stdout", b"w"))
libc.malloc_info(0, out)
libc.fclose(out)
together.wait()
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_info"), reason="the C library is not glibc")
def test_limited_heaps_serve_all_threads() -> None:
    counts = []
    for arguments in ((), ("limited",)):
        command = [sys.executable, "-c", ALLOCATE, *arguments]
        counts.append(subprocess.run(command, capture_output=True, text=True, check=True).stdout.count("<heap"))
    before, limited = counts
    assert before > limited == 2
