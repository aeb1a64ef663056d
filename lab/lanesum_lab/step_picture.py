# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Picture of one training step, drawn from a trace of ``lanesum job trace``.

``python -m lanesum_lab.step_picture TRACE STEP HOW FILE`` writes the events of a step into a file, of which
``lanesum_lab.generate`` draws the picture. HOW says in words how the trace was recorded.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from lanesum._internal.output_file import write_file
from lanesum.errors import ConfigurationError
from lanesum_control.observe import timeline
from lanesum_lab.svg import DARK, GREY, head, line, text

#: Name, begin and end of a span, in microseconds.
Span: TypeAlias = tuple[str, int, int]

_WIDTH, _LEFT, _RIGHT, _TOP = 1060, 170, 1040, 70
_BAR, _ROUND, _BLOCK_GAP = 20, 5, 16  # heights of a bar and of a round, and the gap between two workers
_COMPUTE = "forward, backward, optimizer"
_COLORS = {
    _COMPUTE: "#e4e8ec",
    "lanesum::wait": "#ffffff",
    "lanesum::encode": "#0072b2",
    "lanesum::send": "#d55e00",
    "lanesum::network": "#d6eaf7",
    "lanesum::decode": "#00805f",
    "lanesum::round": "#8a96a3",
}
_TICKS = 8  # at most


@dataclass(frozen=True, slots=True)
class WorkerStep:
    """A step of one worker: from its last wait in the step before until its last wait in this one.

    Attributes:
        training: spans of the thread that trains.
        reducing: spans of the thread that advances the all-reduces.
        rounds: rounds in flight.
    """

    begin: int
    end: int
    training: Sequence[Span]
    reducing: Sequence[Span]
    rounds: Sequence[Span]


def excerpt(trace: Mapping[str, Any], step: int, how: str) -> dict[str, Any]:
    """Return the part of a timeline with the events of ``step``, and the waits of the step before it."""

    def kept(event: Mapping[str, Any]) -> bool:
        of = event.get("args", {}).get("step")
        return event["ph"] == "M" or of == step or (of == step - 1 and event["name"] == timeline.WAIT)

    events = [event for event in trace["traceEvents"] if kept(event)]
    return {**trace, "otherData": {**trace["otherData"], "how": how, "step": step}, "traceEvents": events}


def steps(trace: Mapping[str, Any]) -> dict[int, WorkerStep]:
    """Return the step of an ``excerpt`` by worker. Raises ConfigurationError if it is not complete at all of them."""
    step: int = trace["otherData"]["step"]
    spans: dict[int, list[tuple[int, Span]]] = {int(worker): [] for worker in trace["otherData"]["clocks"]}
    begun: dict[int, Mapping[str, Any]] = {}
    for event in trace["traceEvents"]:
        if event["ph"] == "b":
            begun[event["id"]] = event
        elif event["ph"] in ("X", "e"):
            begin = begun[event["id"]]["ts"] if event["ph"] == "e" else event["ts"]
            end = event["ts"] + event.get("dur", 0)
            spans[event["pid"]].append((event["args"]["step"], (event["name"], begin, end)))
    found = {}
    for worker, own in sorted(spans.items()):
        before = [span for of, span in own if of == step - 1]
        now = sorted((span for of, span in own if of == step), key=lambda span: span[1])
        waits = [span for span in now if span[0] == timeline.WAIT]
        if not before or not waits:
            raise ConfigurationError(
                f"Worker {worker} has no complete step {step} in the trace.", "Choose a step in the middle of it."
            )
        begin, end = max(span[2] for span in before), waits[-1][2]
        found[worker] = WorkerStep(
            begin,
            end,
            ((_COMPUTE, begin, waits[0][1]), *waits),
            [span for span in now if span[0] not in (timeline.WAIT, timeline.ROUND)],
            [span for span in now if span[0] == timeline.ROUND],
        )
    return found


def last_to_begin(found: Mapping[int, WorkerStep]) -> tuple[int, int]:
    """Return the worker that begins the first round last, and when."""
    begins = {worker: min(begin for _, begin, _ in one.rounds) for worker, one in found.items()}
    worker = max(begins, key=lambda one: begins[one])
    return worker, begins[worker]


def svg(trace: Mapping[str, Any]) -> str:
    """Return the picture of an ``excerpt``."""
    found = steps(trace)
    begin, end = min(one.begin for one in found.values()), max(one.end for one in found.values())
    lanes = {worker: _lanes(one.rounds) for worker, one in found.items()}
    blocks = {worker: 2 * _BAR + _ROUND * (1 + max(lanes[worker])) + _BLOCK_GAP for worker in found}
    bottom = _TOP + sum(blocks.values())
    title = f"Step {trace['otherData']['step']} of a training with {len(found)} workers"
    lines = [*head(_WIDTH, bottom + 62, title), *_legend()]

    def at(time: int) -> float:
        return round(_LEFT + (_RIGHT - _LEFT) * (time - begin) / (end - begin), 2)

    for milliseconds in _ticks((end - begin) / 1000):
        x = at(begin + round(1000 * milliseconds))
        lines.append(line(x, _TOP - 6, x, bottom - _BLOCK_GAP + 4))
        lines.append(text(x + 3, _TOP - 8, f"{milliseconds:g} ms", size=11, color=GREY))
    top = _TOP
    for worker, one in found.items():
        lines.append(text(16, top + 15, f"worker {worker}", weight="bold"))
        lines.append(text(100, top + 15, "training", size=11))
        lines.append(text(100, top + _BAR + 15, "all-reduce", size=11))
        lines.append(text(100, top + 2 * _BAR + 9, "rounds", size=11))
        for y, spans in ((top, one.training), (top + _BAR, one.reducing)):
            lines += [_bar(at(first), y, at(last), _BAR - 3, name) for name, first, last in spans]
        for lane, (name, first, last) in zip(lanes[worker], one.rounds, strict=True):
            lines.append(_bar(at(first), top + 2 * _BAR + _ROUND * lane, at(last), _ROUND - 2, name))
        top += blocks[worker]
    slowest, when = last_to_begin(found)
    x = at(when)
    lines.append(line(x, _TOP, x, bottom, color=DARK, more=' stroke-dasharray="4 3"'))
    words = f"Worker {slowest} begins the first round last: no sum of it can be complete before."
    lines.append(text(x + 4, bottom + 4, words, size=12))
    error_us = max(clock["error_us"] for clock in trace["otherData"]["clocks"].values())
    lines.append(text(16, bottom + 28, f"Recorded by {trace['otherData']['how']}.", size=11, color=GREY))
    lines.append(text(16, bottom + 46, f"Clocks agree within {error_us / 1000:.1f} ms.", size=11, color=GREY))
    return "\n".join([*lines, "</svg>", ""])


def _legend() -> Iterator[str]:
    x = 16
    for name, color in _COLORS.items():
        words = name.removeprefix("lanesum::")
        yield f'  <rect x="{x}" y="16" width="16" height="12" rx="2" fill="{color}" stroke="{GREY}"/>'
        yield text(x + 22, 27, words)
        x += 46 + 8 * len(words)


def _bar(left: float, y: float, right: float, height: int, name: str) -> str:
    # A span of less than half a pixel is still visible.
    place = f'x="{left:g}" y="{y:g}" width="{max(right - left, 0.5):.4g}" height="{height}"'
    edge = f' stroke="{GREY}" stroke-width="0.6"' if name in (_COMPUTE, timeline.WAIT) else ""
    return f'  <rect {place} fill="{_COLORS[name]}"{edge}/>'


def _lanes(rounds: Sequence[Span]) -> list[int]:
    """Return a lane for each round, in order of their begins, in which no two of them overlap."""
    ends: list[int] = []
    found = []
    for _, begin, end in rounds:
        lane = next((lane for lane, last in enumerate(ends) if last <= begin), len(ends))
        ends[lane : lane + 1] = [end]
        found.append(lane)
    return found


def _ticks(total_ms: float) -> Iterator[float]:
    step = 1.0
    while total_ms / step > _TICKS:
        step *= 2 if str(step)[0] in "15" else 2.5
    for number in range(int(total_ms / step) + 1):
        yield number * step


def main(arguments: Sequence[str]) -> int:
    """Write the events of a step; return the exit status."""
    trace, step, how, out = arguments
    found = excerpt(timeline.read_timeline(Path(trace)), int(step), how)
    steps(found)
    events = ",\n".join(json.dumps(event) for event in found.pop("traceEvents"))
    write_file(Path(out), f'{json.dumps(found)[:-1]}, "traceEvents": [\n{events}\n]}}\n')
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
