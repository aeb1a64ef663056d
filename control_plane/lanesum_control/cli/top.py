# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``lanesum top``: show jobs, workers, switches and servers live."""

from __future__ import annotations

import functools
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypeAlias

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
from lanesum_control.cli.screen import Keys, Screen, Section
from lanesum_control.observe.live_view import Poll, view
from lanesum_fabric.cli.options import DEFAULT_CONTROLLER, Controller, typer_main

_ONCE_S = 1.0  # between the two reports of --once
_ANSWER_S, _POLL_S = 2.0, 0.1  # time for the workers' reports, and between two questions for them

Interval = Annotated[float, typer.Option(min=0.5, help="Seconds between two updates.")]
Once = Annotated[bool, typer.Option("--once", help="Print one snapshot of about a second, and end.")]
Json = Annotated[bool, typer.Option("--json", help="With --once: machine-readable output.")]

# Text of a cell by the title of its column.
_Columns: TypeAlias = dict[str, Callable[[Mapping[str, Any]], str]]
_JOBS: _Columns = {
    "job": lambda job: job["name"],
    "alive": lambda job: f"{job['alive']}/{len(job['workers'])}",
    "goodput": lambda job: _bytes(job["goodput_bytes_per_s"]),
    "retransmits/s": lambda job: _rate(job["retransmissions_per_s"]),
    "lost": lambda job: _percent(job["lost_share"]),
    "by server": lambda job: _percent(job["server_share"]),
    "stragglers": lambda job: " ".join(job["stragglers"]) or "-",
    "slots": lambda job: " ".join(f"{switch}:{slots}" for switch, slots in job["slots"].items()) or "-",
    "left out": lambda job: "; ".join(f"{switch}: {why}" for switch, why in job["left_out"].items()) or "-",
}
_WORKERS: _Columns = {
    "job": lambda worker: worker["job"],
    "worker": lambda worker: worker["host"],
    "state": lambda worker: f"{worker['state']}, straggler" if worker["straggler"] else worker["state"],
    "goodput": lambda worker: _bytes(worker["goodput_bytes_per_s"]),
    "packets/s": lambda worker: _rate(worker["packets_per_s"]),
    "retransmits/s": lambda worker: _rate(worker["retransmissions_per_s"]),
    "lost": lambda worker: _percent(worker["lost_share"]),
    "peer late": lambda worker: _percent(worker["peer_share"]),
    "needless": lambda worker: _percent(worker["needless_share"]),
    "reordered": lambda worker: _percent(worker["reordered_share"]),
    "by server": lambda worker: _percent(worker["server_share"]),
    "marks/s": lambda worker: _rate(worker["marks_per_s"]),
    "latency": lambda worker: "-" if worker["latency_s"] is None else f"{worker['latency_s'] * 1e3:.2f} ms",
    "waits": lambda worker: _percent(worker["wait_share"]),
}
_SWITCHES: _Columns = {
    "switch": lambda switch: switch["name"],
    "slots": lambda switch: f"{switch['used_slots']}/{switch['slots']}",
    "fullest table": lambda switch: _fullest(switch["tables"]),
    "contributions/s": lambda switch: _sum(switch["decisions_per_s"], "aggregate"),
    "sums/s": lambda switch: _sum(switch["decisions_per_s"], "(contribute|claim)_and_complete"),
    "collisions/s": lambda switch: _sum(switch["decisions_per_s"], "collide"),
    "refused/s": lambda switch: _sum(switch["decisions_per_s"], "(refuse|drop).*"),
    "state": lambda switch: _state(switch["up"], switch["lost"], switch["drained"]),
}
_TABLES: _Columns = {
    "switch": lambda table: table["switch"],
    "table": lambda table: table["name"],
    "entries": lambda table: f"{table['used']:,}",
    "of": lambda table: f"{table['size']:,}",
    "use": lambda table: _percent(_use(table)),
}
_LINKS: _Columns = {
    "link": lambda link: link["name"],
    "state": lambda link: _state(True, None, link["drained"]),
}
_SERVERS: _Columns = {
    "server": lambda server: server["name"],
    "contributions/s": lambda server: _sum(server["decisions_per_s"]),
    "refused/s": lambda server: _sum(server["refused_per_s"]),
    "state": lambda server: "up" if server["up"] else "lost",
}


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
    tables = sections(found)  # once for each poll: it takes .2 s with 10,000 workers, too long for a key
    with Keys() as keys, Live(screen=True, console=out, auto_refresh=False) as live:
        try:
            while not screen.is_closed:
                live.update(screen.render(tables, out.size, _not_shown(found)), refresh=True)
                due = time.monotonic() + interval_s
                while (left_s := due - time.monotonic()) > 0 and (key := keys.read(left_s)):
                    screen.press(key)
                    live.update(screen.render(tables, out.size, _not_shown(found)), refresh=True)
                    if screen.is_closed:
                        return
                try:
                    after = poll()
                except rpc.UnreachableError as error:  # it may be restarting
                    screen.message = str(error)
                    continue
                screen.message, found, before = "", view(before, after), after
                tables = sections(found)
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
    """Return the tables by title. Workers that are lost or that others wait for come first, and full tables."""
    workers = [
        {**one, "job": job["name"]}
        for job in found["jobs"]
        for one in sorted(job["workers"], key=lambda one: one["state"] == "alive" and not one["straggler"])
    ]
    parts = {"jobs": _section(_JOBS, found["jobs"])}
    if "switches" in found:  # not for a tenant
        parts["switches"] = _section(_SWITCHES, found["switches"])
        parts |= {"links": _section(_LINKS, found["links"])} if found["links"] else {}
        parts["servers"] = _section(_SERVERS, found["servers"])
        tables = [
            {"switch": switch["name"], "name": name, **one}
            for switch in found["switches"]
            for name, one in switch["tables"].items()
        ]
        parts["tables"] = _section(_TABLES, sorted(tables, key=_use, reverse=True))
    return {**parts, "workers": _section(_WORKERS, workers)}


def _section(columns: _Columns, found: Sequence[Mapping[str, Any]]) -> Section:
    return Section(tuple(columns), [tuple(cell(one) for cell in columns.values()) for one in found])


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


def _state(is_up: bool, lost: str | None, drained: str | None) -> str:
    if not is_up:
        return f"lost: {lost}"
    return f"drained: {drained}" if drained else "up"


def _sum(rates: Mapping[str, float] | None, names: str = ".*") -> str:
    """Return the sum of the rates whose names match a regular expression."""
    return _rate(None if rates is None else sum(rate for name, rate in rates.items() if re.fullmatch(names, name)))


def _rate(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _fullest(tables: Mapping[str, Mapping[str, int]]) -> str:
    """Return the table with the least room in proportion to its size, with its entries in use and its size."""
    if not tables:
        return "-"
    name, entries = max(tables.items(), key=lambda one: _use(one[1]))
    return f"{name} {entries['used']}/{entries['size']}"


def _use(table: Mapping[str, int]) -> float:
    return table["used"] / max(1, table["size"])


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.2%}"


def _bytes(rate: float | None) -> str:
    return "-" if rate is None else f"{rate / 1e6:,.1f} MB/s"


main = typer_main("top", top)
