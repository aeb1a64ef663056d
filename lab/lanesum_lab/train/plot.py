# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Plot of the report: loss, accuracy and bytes, with and without lanesum."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

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
        figure.suptitle(
            f"Digits, {report.workers} workers, codec {report.codec}, {report.topology} on {report.target}: {checked}",
            fontsize=13,
        )
        _loss(loss, report)
        _accuracy(accuracy, report)
        _bytes(sent, report)
        figure.tight_layout(rect=(0, 0, 1, 0.97))
        figure.savefig(path, dpi=110)
        plt.close(figure)


def _loss(axes: Any, report: Report) -> None:
    detail = report.detail
    axes.set_title("Training loss")
    for values, color, width, label in (
        (detail["loss_uncompressed"], _PLAIN, _BROAD, "uncompressed"),
        (detail["loss"], _LANESUM, _THIN, f"lanesum, {report.codec}"),
    ):
        steps = np.arange(1, len(values) + 1)
        axes.plot(steps, values, color=color, alpha=0.3, linewidth=0.5 * width)
        axes.plot(steps, _smooth(values), color=color, label=label, linewidth=width)
    axes.set_yscale("log")
    axes.set_xlabel("step")
    axes.set_ylabel("cross entropy")
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)


def _accuracy(axes: Any, report: Report) -> None:
    detail = report.detail
    axes.set_title("Test accuracy")
    for values, color, width, label in (
        (detail["accuracy_uncompressed"], _PLAIN, _BROAD, f"uncompressed: {report.accuracy_uncompressed:.1%}"),
        (detail["accuracy"], _LANESUM, _THIN, f"lanesum, {report.codec}: {report.accuracy:.1%}"),
    ):
        epochs = range(1, len(values) + 1)
        share = [100 * value for value in values]
        axes.plot(epochs, share, color=color, linewidth=width, marker="o", markersize=3 + width, label=label)
    axes.set_xlabel("epoch")
    axes.set_ylabel("per cent right")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_ylim(top=101)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, loc="lower right")


def _bytes(axes: Any, report: Report) -> None:
    axes.set_title("UDP payload, all workers")
    fp32 = report.bytes_fp32 / 1e6
    for place, count in enumerate((report.bytes_up, report.bytes_down)):
        sent = count / 1e6
        bars = axes.bar([place - 0.2, place + 0.2], [fp32, sent], width=0.38, color=[_FP32, _LANESUM])
        ratio = f"\n{fp32 / sent:.1f} x less" if 0 < sent <= fp32 else ""
        axes.bar_label(bars, labels=[f"{fp32:.1f} MB", f"{sent:.1f} MB{ratio}"], padding=3, fontsize=9)
        if place == 0:
            axes.legend(bars, ["bare float32", f"lanesum, {report.codec}"], frameon=False, loc="upper center", ncols=2)
    axes.set_xticks([0, 1], ["workers to switch", "switch to workers"])
    axes.set_ylabel("MB")
    # Room for the labels and the legend above the bars.
    axes.set_ylim(0, 1.3 * max(fp32, report.bytes_up / 1e6, report.bytes_down / 1e6))


def _smooth(values: Sequence[float], window: int = 9) -> np.ndarray:
    """Return the centred moving average, with shorter windows at both ends."""
    half = min(window, len(values)) // 2
    return np.array([np.mean(values[max(0, i - half) : i + half + 1]) for i in range(len(values))])
