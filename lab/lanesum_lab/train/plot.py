# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Plot of the report: loss, accuracy and bytes, with and without lanesum, over time where links were limited."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lanesum._internal.output_file import OutputFile
from lanesum_lab.train.report import Report

# Palette of Okabe and Ito: distinguishable in grey and for colour-blind readers.
_LANESUM, _PLAIN, _FP32 = "#0072B2", "#E69F00", "#999999"
# The curves coincide in a correct run: a broad line for the uncompressed one keeps both visible.
_BROAD, _THIN = 5.0, 1.6


def plot(report: Report, path: Path) -> None:
    """Write ``report`` as a PNG; its ``detail`` must hold the curves."""
    import matplotlib

    matplotlib.use("Agg")  # needs no display
    import matplotlib.pyplot as plt

    with plt.rc_context({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "axes.titlesize": 12}):
        figure, (loss, accuracy, sent) = plt.subplots(1, 3, figsize=(15, 4.8), width_ratios=(1.3, 1.2, 1))
        checked = f"{report.sums_checked:,} sums checked, {report.sums_wrong:,} wrong"
        links = "" if report.link_mbit is None else f", links of {report.link_mbit:g} Mbit/s"
        where = f"{report.topology} on {report.target}{links}"
        figure.suptitle(f"Digits, {report.workers} workers, {where}: {checked}", fontsize=13)
        _loss(loss, report)
        _accuracy(accuracy, report)
        _bytes(sent, report)
        figure.tight_layout(rect=(0, 0, 1, 0.97))
        with OutputFile(path) as output:
            figure.savefig(output.file, dpi=110, format="png")
            output.commit()
        plt.close(figure)


def _loss(axes: Any, report: Report) -> None:
    detail = report.detail
    axes.set_title("Training loss" if report.gain is None else f"Training loss: {report.gain:.1f} x as fast")
    for which, color, width, label in (
        ("_uncompressed", _PLAIN, _BROAD, "plain DDP"),
        ("", _LANESUM, _THIN, f"lanesum, {report.codec}"),
    ):
        values = detail[f"loss{which}"]
        places = _places(report, which)
        axes.plot(places, values, color=color, alpha=0.3, linewidth=0.5 * width)
        axes.plot(places, _smooth(values), color=color, label=label, linewidth=width)
    axes.set_yscale("log")
    axes.set_xlabel(_place_name(report))
    axes.set_ylabel("cross entropy")
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)


def _accuracy(axes: Any, report: Report) -> None:
    detail = report.detail
    axes.set_title("Test accuracy")
    for which, color, width, label in (
        ("_uncompressed", _PLAIN, _BROAD, f"plain DDP: {report.accuracy_uncompressed:.1%}"),
        ("", _LANESUM, _THIN, f"lanesum, {report.codec}: {report.accuracy:.1%}"),
    ):
        share = [100 * value for value in detail[f"accuracy{which}"]]
        epochs = _places(report, which)[:: -(report.steps // len(share))][::-1]  # the last step of each
        axes.plot(epochs, share, color=color, linewidth=width, marker="o", markersize=3 + width, label=label)
    axes.set_xlabel(_place_name(report))
    axes.set_ylabel("per cent right")
    axes.set_ylim(top=101)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, loc="lower right")


def _bytes(axes: Any, report: Report) -> None:
    if report.link_mbit is None:
        axes.set_title("UDP payload, all workers")
        pairs = [(report.bytes_fp32, report.bytes_up), (report.bytes_fp32, report.bytes_down)]
        other, color = "bare float32", _FP32
    else:
        axes.set_title("Bytes on the links, all workers")
        plain, through = report.detail["wire_bytes_uncompressed"], report.detail["wire_bytes"]
        pairs = [(plain[key], through[key]) for key in ("sent", "received")]
        other, color = "plain DDP", _PLAIN
    for place, (before, after) in enumerate((before / 1e6, after / 1e6) for before, after in pairs):
        bars = axes.bar([place - 0.2, place + 0.2], [before, after], width=0.38, color=[color, _LANESUM])
        ratio = f"\n{before / after:.1f} x less" if 0 < after <= before else ""
        axes.bar_label(bars, labels=[f"{before:.1f} MB", f"{after:.1f} MB{ratio}"], padding=3, fontsize=9)
        if place == 0:
            axes.legend(bars, [other, f"lanesum, {report.codec}"], frameon=False, loc="upper center", ncols=2)
    axes.set_xticks([0, 1], ["from workers", "to workers"])
    axes.set_ylabel("MB")
    # Room for the labels and the legend above the bars.
    axes.set_ylim(0, 1.3e-6 * max(max(pair) for pair in pairs))


def _places(report: Report, which: str) -> Sequence[float]:
    """Return the place of every step on the axis: its time where links were limited, else its number."""
    if report.link_mbit is None:
        return range(1, report.steps + 1)
    seconds: list[float] = report.detail[f"seconds{which}"]
    return seconds


def _place_name(report: Report) -> str:
    return "step" if report.link_mbit is None else "seconds"


def _smooth(values: Sequence[float], window: int = 9) -> np.ndarray:
    """Return the centred moving average, with shorter windows at both ends."""
    half = min(window, len(values)) // 2
    return np.array([np.mean(values[max(0, i - half) : i + half + 1]) for i in range(len(values))])
