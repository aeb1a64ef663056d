# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``lanesum top``: show jobs, workers, switches and servers live."""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from lanesum._internal.closing import Closing
from lanesum.rpc import controller as rpc
from lanesum.rpc import tls
from lanesum.rpc.json_grpc import OPTIONS, decode, encode
from lanesum_control.cli.console import console
from lanesum_control.cli.keys import Keys
from lanesum_control.cli.screen import Screen, Section
from lanesum_control.observe.live_view import Poll, view
from lanesum_fabric.cli.options import DEFAULT_CONTROLLER, Controller
from lanesum_fabric.cli.typer_main import typer_main

_ONCE_S = 1.0  # between the two reports of --once
_ANSWER_S, _POLL_S = 2.0, 0.1  # time for the workers' reports, and between two questions for them

Interval = Annotated[float, typer.Option(min=0.5, help="Seconds between two updates.")]
Once = Annotated[bool, typer.Option("--once", help="Print one snapshot of about a second, and end.")]
Json = Annotated[bool, typer.Option("--json", help="With --once: machine-readable output.")]


def top(
    controller: Controller = DEFAULT_CONTROLLER, interval: Interval = 2.0, once: Once = False, as_json: Json = False
) -> None:
    """Show jobs, workers, switches and servers live, in a terminal; elsewhere one snapshot."""
    show(controller, None, interval, once=once, as_json=as_json)


def show(controller: str, job: str | None, interval_s: float, *, once: bool, as_json: bool) -> None:
    """Show all jobs of the caller, or one, until SIGINT; once with ``once`` or ``as_json``, and without a terminal.

    Raises ControllerError if the controller refuses a call, as after the end of the job.
    """
    with _Connection(controller) as connection:
        screen = Screen("jobs" if job is None else "workers")
        poll = functools.partial(connection.poll, {} if job is None else {"job": job})
        _show(poll, interval_s, screen, once=once, as_json=as_json)


class _Connection(Closing):
    """Connection that stays open between two polls: a new one costs the controller as much as a poll."""

    def __init__(self, controller: str) -> None:
        self._controller, self._address = controller, ""
        self._channel: Any = None

    def poll(self, message: dict[str, Any]) -> Poll:
        """Return the answer of ``Live``. Raises ControllerError."""
        if self._channel is not None:
            live = self._channel.unary_unary(f"/{rpc.SERVICE}/{rpc.LIVE}", encode, decode)
            try:
                answer = live(message, timeout=rpc.DEFAULT_TIMEOUT_S, metadata=tls.metadata(self._address))
                return Poll(time.monotonic(), answer)
            except tls.import_grpc().RpcError:  # the call below finds the reason, or another controller that leads
                self.close()
        answer = rpc.call(self._controller, rpc.LIVE, message, connect_s=rpc.CONNECT_S)
        self._address = rpc.leader(self._controller)
        self._channel = tls.channel(self._address, OPTIONS)
        return Poll(time.monotonic(), answer)

    def close(self) -> None:
        """Close the connection; idempotent."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None


def _show(poll: Callable[[], Poll], interval_s: float, screen: Screen, *, once: bool, as_json: bool) -> None:
    out = console()
    if once or as_json or not out.is_terminal:
        found = snapshot(poll)
        if as_json:
            typer.echo(json.dumps(found, indent=2))
        else:
            out.print(_tables(found))
        return
    before = poll()
    found = view(None, before)
    with Keys() as keys, Live(screen=True, console=out, auto_refresh=False) as live:
        try:
            while not screen.is_closed:
                live.update(screen.render(sections(found), out.size, _not_shown(found)), refresh=True)
                due = time.monotonic() + interval_s
                while (left_s := due - time.monotonic()) > 0 and (key := keys.read(left_s)):
                    screen.press(key)
                    live.update(screen.render(sections(found), out.size, _not_shown(found)), refresh=True)
                    if screen.is_closed:
                        return
                try:
                    after = poll()
                except rpc.UnreachableError as error:  # it may be restarting
                    screen.message = str(error)
                    continue
                screen.message, found, before = "", view(before, after), after
        except KeyboardInterrupt:
            return


def snapshot(poll: Callable[[], Poll], sleep: Callable[[float], object] = time.sleep) -> dict[str, Any]:
    """Return the figures between two polls a second apart. Workers that do not report have none."""
    before = _poll_until(poll, sleep, lambda found: found.has_reports())
    sleep(_ONCE_S)
    return view(before, _poll_until(poll, sleep, lambda found: found.has_reports(before, _ONCE_S / 2)))


def _poll_until(poll: Callable[[], Poll], sleep: Callable[[float], object], enough: Callable[[Poll], bool]) -> Poll:
    """Return the first poll that is enough, or the last one after ``_ANSWER_S``."""
    found = poll()
    for _ in range(round(_ANSWER_S / _POLL_S)):
        if enough(found):
            break
        sleep(_POLL_S)
        found = poll()
    return found


def sections(found: dict[str, Any]) -> dict[str, Section]:
    """Return the tables by title. Workers that are lost or that others wait for come first."""
    jobs = Section(
        ("job", "alive", "goodput", "retransmits/s", "lost", "by server", "stragglers", "slots", "left out"), []
    )
    workers = Section(
        (
            "job",
            "worker",
            "state",
            "goodput",
            "packets/s",
            "retransmits/s",
            "lost",
            "peer late",
            "needless",
            "reordered",
            "by server",
            "marks/s",
            "latency",
            "waits",
        ),
        [],
    )
    for job in found["jobs"]:
        jobs.rows.append(
            (
                job["name"],
                f"{job['alive']}/{len(job['workers'])}",
                _bytes(job["goodput_bytes_per_s"]),
                _rate(job["retransmissions_per_s"]),
                _percent(job["lost_share"]),
                _percent(job["server_share"]),
                " ".join(job["stragglers"]) or "-",
                " ".join(f"{switch}:{slots}" for switch, slots in job["slots"].items()) or "-",
                "; ".join(f"{switch}: {why}" for switch, why in job["left_out"].items()) or "-",
            )
        )
        for one in sorted(job["workers"], key=lambda one: one["state"] == "alive" and not one["straggler"]):
            workers.rows.append(
                (
                    job["name"],
                    one["host"],
                    f"{one['state']}, straggler" if one["straggler"] else one["state"],
                    _bytes(one["goodput_bytes_per_s"]),
                    _rate(one["packets_per_s"]),
                    _rate(one["retransmissions_per_s"]),
                    _percent(one["lost_share"]),
                    _percent(one["peer_share"]),
                    _percent(one["needless_share"]),
                    _percent(one["reordered_share"]),
                    _percent(one["server_share"]),
                    _rate(one["marks_per_s"]),
                    "-" if one["latency_s"] is None else f"{one['latency_s'] * 1e3:.2f} ms",
                    _percent(one["wait_share"]),
                )
            )
    if "switches" not in found:  # for a tenant
        return {"jobs": jobs, "workers": workers}
    parts = {"switches": _switches(found["switches"]), "servers": _servers(found["servers"])}
    return {"jobs": jobs, **parts, "workers": workers}


def _switches(found: Sequence[Mapping[str, Any]]) -> Section:
    rows: list[tuple[str, ...]] = []
    for switch in found:
        of = switch["decisions_per_s"]
        rows.append(
            (
                switch["name"],
                f"{switch['used_slots']}/{switch['slots']}",
                _fullest(switch["tables"]),
                _decisions(of, "aggregate"),
                _decisions(of, "contribute_and_complete", "claim_and_complete"),
                _decisions(of, "collide"),
                _decisions(of, *(name for name in of or () if name.startswith(("refuse", "drop")))),
                _state(switch),
            )
        )
    titles = ("switch", "slots", "fullest table", "contributions/s", "sums/s", "collisions/s", "refused/s", "state")
    return Section(titles, rows)


def _servers(found: Sequence[Mapping[str, Any]]) -> Section:
    rows: list[tuple[str, ...]] = []
    for server in found:
        decided, refused = server["decisions_per_s"], server["refused_per_s"]
        state = "up" if server["up"] else "lost"
        rows.append((server["name"], _decisions(decided, *decided or ()), _decisions(refused, *refused or ()), state))
    return Section(("server", "contributions/s", "refused/s", "state"), rows)


def _tables(found: dict[str, Any]) -> Group:
    tables = []
    for section in sections(found).values():
        table = Table(*section.titles)
        for row in section.rows:
            table.add_row(*map(Text, row))  # names come from other processes
        tables.append(table)
    return Group(*tables, *_not_shown(found))


def _not_shown(found: dict[str, Any]) -> list[str]:
    more = found["more"]
    return [f"{more} more jobs are not shown: name one (lanesum job top JOB)."] if more else []


def _state(switch: Mapping[str, Any]) -> str:
    drained = f"drained: {switch['drained']}" if switch["drained"] else ""
    return f"lost: {switch['lost']}" if not switch["up"] else drained or "up"


def _decisions(rates: dict[str, float] | None, *names: str) -> str:
    return _rate(None if rates is None else sum(rates.get(name, 0.0) for name in names))


def _rate(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _fullest(tables: Mapping[str, Mapping[str, int]]) -> str:
    """Return the table with the least room in proportion to its size, with its entries in use and its size."""
    if not tables:
        return "-"
    name, entries = max(tables.items(), key=lambda one: one[1]["used"] / max(1, one[1]["size"]))
    return f"{name} {entries['used']}/{entries['size']}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.2%}"


def _bytes(rate: float | None) -> str:
    return "-" if rate is None else f"{rate / 1e6:,.1f} MB/s"


main = typer_main("top", top)
