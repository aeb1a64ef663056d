# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A stand-in for the harness of the model. It answers packets late, from a thread of its own."""

from __future__ import annotations

import sys
from pathlib import Path

# The thread computes for a while before each copy, as the model does.
_STAND_IN = """#!{python}
import queue, sys, threading, time

packets = queue.SimpleQueue()

def copy(log):
    while True:
        port, frame = packets.get()
        for copy in range(3):
            sum(range(300_000))
            log.write(f"{{port + copy}} {{frame.upper()}}\\n")
            log.flush()

threading.Thread(target=copy, args=(open(sys.argv[sys.argv.index("--observation-log") + 1], "a"),), daemon=True).start()
print("loading prints a warning", file=sys.stderr, flush=True)
for line in sys.stdin:
    match line.split():
        case ["packet", port, frame]:
            packets.put((int(port), frame))
            if frame == "{bad}":
                print("Bad frame", file=sys.stderr, flush=True)
        case ["load" | "wire", *_]:
            open("commands", "a").write(line)
        case ["check_counter", *_]:
            print("packets=1", flush=True)
        case ["end"]:
            sys.exit(3)
        case ["compute"]:
            while True:
                pass
        case ["sleep"]:
            time.sleep(1e6)
        case _:
            print("Unknown command", line.strip(), file=sys.stderr, flush=True)
"""

#: A frame with an error, beside its three copies.
BAD_FRAME = b"\xbb\xad"


def stand_in(folder: Path) -> str:
    """Write the program to ``folder``; return its path."""
    program = folder / "program"
    program.write_text(_STAND_IN.format(python=sys.executable, bad=BAD_FRAME.hex()))
    program.chmod(0o755)
    return str(program)
