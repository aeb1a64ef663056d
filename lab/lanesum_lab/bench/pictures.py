# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures (PNG) of the benchmarks."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from lanesum._internal.output_file import write_file
from lanesum.codecs.registry import DEFAULT_CODEC
from lanesum.errors import ConfigurationError, MissingToolError

# Palette of Okabe and Ito: distinguishable in grey and for colour-blind readers.
_COLORS = ("#999999", "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#000000")
_DEFAULT_COLOR = "#B00000"  # of the default codec
_MARKERS = "osD^v<>P"
# Smaller errors are not distinguished in a picture.
_EXACT = 1e-6
# Keyword of a text chunk, from the list of the PNG specification.
_COMMENT = "Comment"


def fingerprint(result: dict[str, Any]) -> str:
    """Return a digest of a result; every picture carries it."""
    return hashlib.sha256(json.dumps(result, sort_keys=True).encode()).hexdigest()


def shown(path: Path) -> str | None:
    """Return the digest of the result that a picture shows; None if the picture or the digest is missing."""
    if not path.exists():
        return None
    from PIL import Image  # comes with matplotlib

    with Image.open(path) as picture:
        return picture.info.get(_COMMENT)


@contextlib.contextmanager
def _figure(
    path: Path,
    panels: int,
    title: str,
    result: dict[str, Any],
    *,
    width: float,
    columns: int | None = None,
    below: str | None = None,
) -> Iterator[list[Any]]:
    """Return a figure with ``panels`` of ``width`` inches in rows of ``columns``; in one row for None.

    ``below``: text below all panels; by default the machine of the result.
    """
    columns = min(panels, columns or panels)
    rows = -(-panels // columns)
    try:
        import matplotlib
    except ImportError as error:
        raise MissingToolError("Pictures need matplotlib.", "Run: pip install matplotlib") from error
    matplotlib.use("Agg")  # needs no display
    import matplotlib.pyplot as plt

    with plt.rc_context({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "axes.titlesize": 11}):
        figure, axes = plt.subplots(rows, columns, figsize=(width * columns, 4.8 * rows), squeeze=False)
        figure.suptitle(title, fontsize=13)
        for unused in axes.flat[panels:]:
            unused.set_axis_off()
        yield list(axes.flat[:panels])
        below = _on(result["machine"]) if below is None else below
        figure.text(0.01, 0.005, below, fontsize=8, color="#555555")
        figure.tight_layout(rect=(0, 0.03 / rows, 1, 0.98))
        drawn = io.BytesIO()
        figure.savefig(drawn, dpi=110, format="png", metadata={_COMMENT: fingerprint(result)})
        write_file(path, drawn.getvalue())
        plt.close(figure)


def _on(machine: dict[str, Any]) -> str:
    return f"{machine['processor']}, {machine['cores']} cores for all processes, commit {machine['commit']}"


def _style(number: int) -> dict[str, str]:
    """Return colour and marker number ``number``; the first 64 pairs differ."""
    turns, color = divmod(number, len(_COLORS))
    return {"color": _COLORS[color], "marker": _MARKERS[(color + turns) % len(_MARKERS)]}


def _beside(axes: Any) -> None:
    """Put the legend to the right of a panel."""
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))


def codec(result: dict[str, Any], path: Path) -> None:
    """Draw the error of all compared codecs, against bits and against time. Raises MissingToolError."""
    compared = result["comparison"]
    if not compared:
        raise ConfigurationError("The picture shows the comparison of codecs, which was not measured.")
    names = list(dict.fromkeys(figure["vectors"] for figure in compared))
    devices = list(dict.fromkeys(figure.get("device") for figure in compared))
    on = "one thread" if devices in ([None], [result["machine"]["processor"]]) else ", ".join(map(str, devices))
    panels = [(axis, name) for name in names for axis in ("bits_up", "ns_per_value")]
    with _figure(path, len(panels), f"Codecs, on {on}", result, width=6.5, columns=2) as all_axes:
        for axes, (axis, name) in zip(all_axes, panels, strict=True):
            _errors(axes, compared, name, axis, several=len(devices) > 1)
            axes.set_title(f"{name}: error of one all-reduce of {result['workers']} workers")


def _errors(axes: Any, compared: Sequence[dict[str, Any]], vectors: str, axis: str, *, several: bool) -> None:
    """Draw a marker per codec and device, of ``several``; practically exact codecs are on the lower edge."""
    labels = [f"{one['codec']}, {one['device']}" if several else one["codec"] for one in compared]
    order = list(dict.fromkeys(labels))
    for label, figure in zip(labels, compared, strict=True):
        if figure["vectors"] == vectors:
            across = figure[axis]["median"] if axis == "ns_per_value" else figure[axis]
            error = max(figure["nmse"], _EXACT)
            style = _style(order.index(label))
            axes.plot(across, error, **style, markersize=7, alpha=0.8, label=label, linestyle="none")
    axes.set_xscale("log", base=2 if axis == "bits_up" else 10)
    axes.set_yscale("log")
    axes.set_ylim(_EXACT / 2, 3)
    axes.set_xlabel("bits up per value" if axis == "bits_up" else "ns per value, of processor time or on a GPU")
    axes.set_ylabel(f"NMSE ({_EXACT:g} and less: on the edge)")
    axes.grid(alpha=0.25)
    if axis == "ns_per_value":
        _beside(axes)


def learning(result: dict[str, Any], path: Path) -> None:
    """Draw the final loss against bytes, for every task and number of steps. Raises MissingToolError."""
    tasks = list(dict.fromkeys((figure["task"], figure["steps"]) for figure in result["figures"]))
    title = f"Training with {result['workers']} workers: loss in the end, and what a worker has sent"
    with _figure(path, len(tasks), title, result, width=6.5, columns=2) as panels:
        for axes, (task, steps) in zip(panels, tasks, strict=True):
            here = [one for one in result["figures"] if (one["task"], one["steps"]) == (task, steps)]
            for number, figure in enumerate(here):
                across, style = figure["bytes_up"] / 1e6, _style(number)
                axes.plot([across] * len(figure["losses"]), figure["losses"], ".", color=style["color"], alpha=0.5)
                axes.plot(across, figure["loss"], **style, linestyle="none", label=figure["codec"])
            axes.set_title(f"{task}, {steps} steps")
            axes.set_xscale("log")
            axes.set_xlabel("MB up per worker, whole training")
            axes.set_ylabel("loss on what was not trained with")
            axes.grid(alpha=0.25)
            _beside(axes)


def tta(result: dict[str, Any], path: Path) -> None:
    """Draw loss against time, loss against bytes and the parts of a step, a row for each rate. Raises MissingToolError.

    Lines are means over the seeds, areas their extremes.
    """
    rates = list(dict.fromkeys(figure["rate_mbit"] for figure in result["figures"]))
    title = f"{result['workers']} workers, {result['what']}"
    with _figure(path, 3 * len(rates), title, result, width=6.5, columns=3) as panels:
        for row, rate in enumerate(rates):
            figures = [figure for figure in result["figures"] if figure["rate_mbit"] == rate]
            link = "loopback" if rate is None else f"links of {rate:g} Mbit/s"
            against_time, against_bytes, parts = panels[3 * row : 3 * row + 3]
            for number, figure in enumerate(figure for figure in figures if figure["by"] != "alone"):
                _losses(against_time, against_bytes, figure, number)
            targets = [run["target"] for run in figures[0]["runs"]]
            for axes, name in (
                (against_time, "seconds of training"),
                (against_bytes, "MB per worker, both directions"),
            ):
                axes.axhline(sum(targets) / len(targets), color="#333333", linewidth=0.8, linestyle=":")
                axes.set(xlabel=name, ylabel="test loss", xscale="log", title=f"{link}; dotted: mean target")
                axes.tick_params(axis="x", which="minor", labelbottom=False)
                axes.grid(alpha=0.25)
            against_time.legend(frameon=False, fontsize=8)
            _parts_of_step(parts, figures)


def plan(result: dict[str, Any], path: Path) -> None:
    """Draw the steps of a forecast: computation, and the wait for communication. Raises MissingToolError.

    Bars longer than four times the shortest one leave the picture; all have their length as a number.
    """
    forecasts, compute_s = result["forecasts"], result["compute_s"]
    phases = [
        {"by": one["by"], "phases": {"compute": compute_s, "waiting": one["step_s"] - compute_s}} for one in forecasts
    ]
    end = 4e3 * min(one["step_s"] for one in forecasts)
    with _figure(path, 1, "Forecast", result, width=9, below=f"Hosts: {result['costs']}") as (axes,):
        _parts_of_step(axes, phases)
        for number, one in enumerate(forecasts):
            label = f" {one['step_s'] * 1e3:,.0f}"
            axes.text(min(one["step_s"] * 1e3, end), number, label, va="center", fontsize=8)
        axes.set(xlabel="ms per step", xlim=(0, end))
        axes.set_title(result["advice"], fontsize=9, wrap=True, pad=22)
        axes.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)


def _losses(against_time: Any, against_bytes: Any, figure: dict[str, Any], number: int) -> None:
    """Draw the test losses of method ``number``; all seeds are tested after the same steps."""
    style = {**_style(number), "linestyle": "-" if number < len(_COLORS) else "--"}
    if figure["by"] == DEFAULT_CODEC:
        style |= {"color": _DEFAULT_COLOR, "linestyle": "-"}
    tests = list(zip(*(run["tests"] for run in figure["runs"]), strict=True))
    losses = [[test["loss"] for test in some] for some in tests]
    mean = [sum(some) / len(some) for some in losses]
    times = [sum(test["train_s"] for test in some) / len(some) for some in tests]
    sent = [some[0]["step"] * figure["mbyte_per_step"]["median"] for some in tests]
    for axes, along in ((against_time, times), (against_bytes, sent)):
        axes.plot(along, mean, label=figure["by"], markersize=3, linewidth=1.2, **style)
        axes.fill_between(along, list(map(min, losses)), list(map(max, losses)), color=style["color"], alpha=0.12)


def _parts_of_step(axes: Any, figures: Sequence[dict[str, Any]]) -> None:
    """Draw the phases of a step as stacked bars; backward includes communication that is not hidden behind it."""
    labels, begun = [figure["by"] for figure in figures], [0.0] * len(figures)
    for number, name in enumerate(figures[0]["phases"]):
        values = [1e3 * figure["phases"][name] for figure in figures]
        axes.barh(labels, values, left=begun, color=_COLORS[number], label=name, height=0.65)
        begun = [start + value for start, value in zip(begun, values, strict=True)]
    axes.invert_yaxis()
    axes.set(xlabel="ms per step, mean over the workers", title="parts of a step")
    axes.legend(frameon=False, fontsize=8)
