# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of topologies, for a terminal and as SVG.

The middle switch is a bar, or the network of hosts without one. Servers and controller are above it, racks and single
workers below it, so that no lines cross.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias
from xml.sax.saxutils import escape, quoteattr

from rich.text import Text
from rich.tree import Tree

from lanesum_fabric.topology.model import NO_SWITCH, Topology

_End: TypeAlias = tuple[int, str, int | None]  # port of a switch, node there, port of that node if it is a switch
_NO_NOTES: Mapping[str, str] = {}
# Sizes in pixels: a box of a host or switch, gaps between boxes, and the length of a link.
_WIDTH, _HEIGHT, _GAP, _LINK, _MARGIN = 190, 46, 16, 56, 20
_INDENT = 26  # of hosts of a rack, for their links
_SPINE_LINK, _PORT_GAP = 3 * _LINK, 24
_COLORS = {"switch": "#dbe7f6", "worker": "#eef5e9", "server": "#fbeed5", "controller": "#efe6f5"}
_NETWORK = "hosts without a switch"
_STYLES = {"switch": "bold cyan", "worker": "green", "server": "yellow", "controller": "magenta"}


def _below(topology: Topology, switch: str) -> Iterator[_End]:
    """Yield (port, node, its own port) of all links of a switch that lead away from the middle, by port."""
    if switch == NO_SWITCH:
        yield from ((0, host, None) for host in topology.hosts())
        return
    ends: list[_End] = [(port, host, None) for host, port in topology.ports(switch).items()]
    if switch in (topology.spines or (topology.middle,)):
        for one, port, other, other_port in topology.links_between_switches():
            if switch in (one, other):
                ends.append((port, other, other_port) if one == switch else (other_port, one, port))
    yield from sorted(ends, key=lambda end: end[0])


def terminal_tree(topology: Topology, notes: Mapping[str, str] = _NO_NOTES) -> Tree:
    """Return the topology as a tree of lines, from the middle switch; ``notes`` follow the nodes' names.

    Hosts of a rack with several spines follow the first of them.
    """

    def label(name: str, ports: str) -> Text:
        if name == NO_SWITCH:
            return Text(f"{topology.name}, {_NETWORK}")
        node = topology.nodes[name]
        text = Text.assemble((ports, "dim"), (name, _STYLES[node.kind]), f" {node.kind}")
        text.append("" if node.ip is None else f" {node.ip}")
        text.append("" if name not in topology.server_hosts() or node.kind == "server" else " and server")
        return text.append(f"  {notes[name]}" if name in notes else "", "bold")

    def add(branch: Tree, switch: str) -> Tree:
        for port, name, own_port in _below(topology, switch):
            ports = "" if port == 0 else f"{port} ── "
            child = branch.add(label(name, ports if own_port is None else f"{ports}{own_port} "))
            if own_port is not None and switch == (topology.spines or (topology.middle,))[0]:
                add(child, name)
        return branch

    if topology.spines:
        tree = Tree(Text(f"{topology.name}, {len(topology.spines)} spines"))
        for spine in topology.spines:
            add(tree.add(label(spine, "")), spine)
        return tree
    return add(Tree(label(topology.middle, "")), topology.middle)


def svg(topology: Topology, notes: Mapping[str, str] = _NO_NOTES) -> str:
    """Return the topology as an SVG picture; a note is a second line in the box of its node."""
    above: list[_End] = []
    columns: list[_End] = []
    for port, name, own_port in _below(topology, topology.middle):
        above_bar = topology.nodes[name].kind in ("server", "controller")
        (above if above_bar else columns).append((port, name, own_port))
    width = max(len(columns), len(above), 1) * (_WIDTH + _INDENT + _GAP) - _GAP
    bar = _MARGIN + (_HEIGHT + _LINK if above else 0)
    if topology.spines:
        return _svg_of_spines(topology, width, notes)
    parts = [_box(topology, topology.middle, _MARGIN, bar, width, notes)]
    for index, (port, name, _) in enumerate(above):
        left = _left(index)
        parts += [
            _line([(left + _WIDTH / 2, bar), (left + _WIDTH / 2, _MARGIN + _HEIGHT)]),
            _port(left + _WIDTH / 2 + 4, bar - 6, port),
            _box(topology, name, left, _MARGIN, _WIDTH, notes),
        ]
    top = bar + _HEIGHT + _LINK
    bottom: float = bar + _HEIGHT
    for index, (port, name, own_port) in enumerate(columns):
        left = _left(index)
        middle = left + _WIDTH / 2
        parts += [
            _line([(middle, bar + _HEIGHT), (middle, top)]),
            _port(middle + 4, bar + _HEIGHT + 14, port),
            _box(topology, name, left, top, _WIDTH, notes),
        ]
        bottom = max(bottom, top + _HEIGHT)
        if own_port is None:
            continue
        parts.append(_port(middle + 4, top - 5, own_port))
        hosts, lowest = _hosts_of(topology, name, left, top, notes)
        parts += hosts
        bottom = max(bottom, lowest)
    return _picture(topology, parts, width, bottom)


def _svg_of_spines(topology: Topology, width: float, notes: Mapping[str, str]) -> str:
    """Return a picture with the spines above the racks, and a line for each link between them."""
    racks = [name for name in topology.switches() if name not in topology.spines]
    width = max(width, len(racks) * (_WIDTH + _INDENT + _GAP) - _GAP)
    column = {name: number for names in (topology.spines, racks) for number, name in enumerate(names)}
    top = _MARGIN + _HEIGHT + _SPINE_LINK
    parts: list[str] = []
    bottom: float = top + _HEIGHT
    for spine in topology.spines:
        for number, (port, rack, own_port) in enumerate(_below(topology, spine)):
            upper = _left(column[spine]) + _PORT_GAP * (number + 1)
            lower = _left(column[rack]) + _PORT_GAP * (column[spine] + 1)
            parts += [
                _line([(upper, _MARGIN + _HEIGHT), (lower, top)]),
                _port(upper + 4, _MARGIN + _HEIGHT + 14, port),
                _port(lower + 4, top - 5, own_port or 0),
            ]
        parts.append(_box(topology, spine, _left(column[spine]), _MARGIN, _WIDTH, notes))
    for rack in racks:
        hosts, lowest = _hosts_of(topology, rack, _left(column[rack]), top, notes)
        parts += [_box(topology, rack, _left(column[rack]), top, _WIDTH, notes), *hosts]
        bottom = max(bottom, lowest)
    return _picture(topology, parts, width, bottom)


def _hosts_of(
    topology: Topology, rack: str, left: float, top: float, notes: Mapping[str, str]
) -> tuple[list[str], float]:
    """Return the hosts below a rack's switch at ``left`` and ``top``, and their lower end."""
    parts: list[str] = []
    trunk, bottom = left + _INDENT / 2, top + _HEIGHT
    for row, (host_port, host, _) in enumerate(_below(topology, rack)):
        at = top + (row + 1) * (_HEIGHT + _GAP) + _GAP
        parts += [
            _line([(trunk, top + _HEIGHT), (trunk, at + _HEIGHT / 2), (left + _INDENT + 12, at + _HEIGHT / 2)]),
            _port(trunk + 4, at + _HEIGHT / 2 - 4, host_port),
            _box(topology, host, left + _INDENT + 12, at, _WIDTH - 12, notes),
        ]
        bottom = at + _HEIGHT
    return parts, bottom


def _picture(topology: Topology, parts: list[str], width: float, bottom: float) -> str:
    size = f'width="{width + 2 * _MARGIN:g}" height="{bottom + _MARGIN:g}"'
    view = f'viewBox="0 0 {width + 2 * _MARGIN:g} {bottom + _MARGIN:g}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} {view} font-family="sans-serif" font-size="13">',
            f"<title>{escape(topology.name)}</title>",
            '<rect width="100%" height="100%" fill="white"/>',
            *parts,
            "</svg>",
            "",
        ]
    )


def _left(column: int) -> float:
    return _MARGIN + column * (_WIDTH + _INDENT + _GAP)


def _box(topology: Topology, name: str, left: float, top: float, width: float, notes: Mapping[str, str]) -> str:
    if name == NO_SWITCH:
        return _filled_box(topology.name, _NETWORK, "#eee", left, top, width)
    node = topology.nodes[name]
    kind = f"{node.kind}, server" if node.kind == "worker" and name in topology.server_hosts() else node.kind
    second = notes.get(name, f"{kind} {node.ip}" if node.ip is not None else kind)
    return _filled_box(name, second, _COLORS[node.kind], left, top, width)


def _filled_box(name: str, second: str, color: str, left: float, top: float, width: float) -> str:
    place = f'x="{left:g}" y="{top:g}" width="{width:g}" height="{_HEIGHT}"'
    middle = left + width / 2
    return (
        f'<rect {place} rx="6" fill={quoteattr(color)} stroke="#567"/>'
        f'<text x="{middle:g}" y="{top + 19:g}" text-anchor="middle" font-weight="bold">{escape(name)}</text>'
        f'<text x="{middle:g}" y="{top + 36:g}" text-anchor="middle" font-size="11">{escape(second)}</text>'
    )


def _line(points: list[tuple[float, float]]) -> str:
    path = " ".join(f"{x:g},{y:g}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="#567"/>'


def _port(left: float, baseline: float, number: int) -> str:
    """Return the number of a port; a host without a switch has none."""
    return f'<text x="{left:g}" y="{baseline:g}" font-size="11" fill="#567">{number}</text>' if number else ""
