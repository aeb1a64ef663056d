# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A switch whose packets pass through the register-accurate model of a chip, with one assembled profile.

::

    P4Runtime server -> tables of the embedded switch -> entries by name -> harness -+-> model of the chip
    packets ------------------------------------------------------------------------+    -> packets

The control plane writes the tables of the embedded switch, as for every TNA program. Before a packet, the differences
to the chip's tables are written through the names of ``context.json``. All ports are in pipe 0. Time stands still: the
model counts nanoseconds of its own, a few for each packet.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, cast

from lanesum._internal.closing import Closing
from lanesum_lab.tofino_model.chips import Groups, ModelChip, Replica
from lanesum_lab.tofino_model.exact import ExactTable, LpmTable
from lanesum_lab.tofino_model.harness import Harness, TofinoModelError
from lanesum_switch.api import ActionCall, CounterValue, Match, PacketOut, TableEntry
from lanesum_switch.runtime.tables import MatchTable
from lanesum_switch.tna.switch import TofinoSwitch

_PARTS = ("match_key_fields", "match_attributes", "static_entries")
_NAMES = ("name", "field_name")
# Printed for keys in binary digits, although they are used.
HARMLESS = "expected a constant value: 0b"


def for_harness(context: dict[str, Any]) -> dict[str, Any]:
    """Change key fields that the harness would misread; return ``context``.

    - A key can have the name of a parameter of its table, behind a dot or alone. The harness finds both by the end of
      the name and writes the parameter into the key, so such a key gets another name.
    - A key can be a part of a field. The compiler counts bits from the lowest of the field, but writes constant entries
      with the bits of the part, which the harness shifts out. So bits are counted from the lowest of the part.
    """
    for table in context["tables"]:
        keys = table.get("match_key_fields", ())
        parameters = {param["name"] for action in table.get("actions", ()) for param in action["p4_parameters"]}
        for key in list(keys):
            name, lowest = key["name"], key["start_bit"]
            shared = name.rpartition(".")[2] in parameters
            for item in _named(table, name) if lowest or shared else ():
                for bit in ("start_bit", "field_bit"):
                    if bit in item:
                        item[bit] -= lowest
                if shared:
                    item.update({kind: f"key_{name.replace('.', '_')}" for kind in _NAMES if kind in item})
    return context


def _named(table: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the parts of a table's description that name a key field."""
    return [item for part in _PARTS for item in _objects(table[part]) if name in (item.get(kind) for kind in _NAMES)]


def _objects(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, list):
        for item in node:
            yield from _objects(item)
    elif isinstance(node, dict):
        yield node
        for value in node.values():
            yield from _objects(value)


def take_ternary_entries(context: dict[str, Any]) -> list[str]:
    """Remove the constant entries of ternary tables; return the commands that write them.

    The harness drops the highest bits of a key that are 0 if wildcards follow.
    """
    commands = []
    for table in context["tables"]:
        if table.get("match_attributes", {}).get("match_type") == "ternary":
            commands += [_entry(table, entry) for entry in table["static_entries"]]
            table["static_entries"] = []
    return commands


def _entry(table: dict[str, Any], entry: dict[str, Any]) -> str:
    """Return the command for a constant entry; the first one has the highest address."""
    size = sum(stage["size"] for stage in table["match_attributes"]["stage_tables"])
    widths = {key["name"]: key["bit_width"] for key in table["match_key_fields"]}
    matches = (
        f"{key['field_name']}:{_digits(int(key['value'], 0), int(key.get('mask', '-1'), 0), widths[key['field_name']])}"
        for key in entry["match_key_fields_values"]
    )
    action = next(action["name"] for action in table["actions"] if action["handle"] == entry["action_handle"])
    parameters = (f"{param['parameter_name']}:{param['value']}" for param in entry["action_parameters_values"])
    address = size - 1 - entry["priority"]
    return f"add {table['name']} {address} {' '.join(matches)} {action}({', '.join(parameters)})"


def _digits(value: int, mask: int, width: int) -> str:
    bits = range(width - 1, -1, -1)
    return "0b" + "".join(str(value >> bit & 1) if mask >> bit & 1 else "*" for bit in bits)


class _CountedTable:
    """A table whose direct counters are read from the chip before its entries are returned."""

    def __init__(
        self, table: MatchTable, read: Callable[[MatchTable], None], lock: AbstractContextManager[Any]
    ) -> None:
        self._table, self._read, self._lock = table, read, lock

    def entries(self) -> list[TableEntry]:
        with self._lock:
            self._read(self._table)
            return self._table.entries()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)


class ModelSwitch(TofinoSwitch, Closing):
    """A switch with the model as its data plane.

    Args:
        build: folder with the binary and ``context.json`` of the profile that is loaded.

    ``process`` raises TofinoModelError if the harness refuses a command, ends or stalls. Any error while the model runs
    ends it, with all frames in it. The next packet starts the model again, with the same tables and empty registers.
    Use the switch as a context manager.
    """

    def __init__(self, harness: str, build: Path, chip: ModelChip, **options: Any) -> None:
        self._program, self._chip = harness, chip
        context = _context(build / "context.json")
        self._constant_entries = take_ternary_entries(context)
        self._context = {table["name"]: table for table in context["tables"]}
        self._folder = tempfile.TemporaryDirectory(prefix="lanesum-model-")
        self._build = Path(self._folder.name) / "build"
        self._build.mkdir()
        (self._build / "context.json").write_text(json.dumps(context))
        (self._build / chip.binary).symlink_to(build.resolve() / chip.binary)
        self._started: Harness | None = None
        self._starts = 0
        super().__init__(**options)

    def close(self) -> None:
        """End the model."""
        self._end()
        self._folder.cleanup()

    def _install(self, program: Any) -> None:
        super()._install(program)
        self._end()
        with self._running():
            pass
        for name, table in self._runtime.tables.items():
            if table.is_const and table.has_direct_counter:
                self.tables[name] = cast(MatchTable, _CountedTable(table, self._read_counters, self._lock))

    def _end(self) -> None:
        """End the process of the model, if there is one."""
        started, self._started = self._started, None
        if started is not None:
            started.close()

    @contextlib.contextmanager
    def _running(self) -> Iterator[Harness]:
        """Start the model if none runs. An error in the context ends it: its frames belong to no later packet."""
        try:
            if self._started is None:
                self._start()
            yield self.harness
        except BaseException:
            self._end()
            raise

    def _start(self) -> None:
        """Start the model; ``_write_changes`` writes all tables and groups from then on."""
        self._starts += 1
        self._scratch = Path(self._folder.name) / str(self._starts)
        self._scratch.mkdir()
        self._started = Harness(self._program, self._build, self._scratch)
        self.harness.run(self._constant_entries, harmless=HARMLESS)
        if self._chip.recirculation in self.recirculation_ports:
            self.harness.run([f"wire {self._chip.exit} -> {self._chip.recirculation}"])
        self._model_groups = Groups(self._chip)
        self._written_groups: dict[int, tuple[Replica, ...]] = {}
        self._model_tables = {
            name: _model_table(self._context[name], table)
            for name, table in self._runtime.tables.items()
            if not table.is_const and table.keys and name in self._context
        }
        self._written: dict[str, dict[tuple[Match, ...], TableEntry]] = {name: {} for name in self._model_tables}

    @property
    def harness(self) -> Harness:
        """The running harness of the loaded program."""
        assert self._started is not None, "no program is loaded"
        return self._started

    def _one(self, port: int, frame: bytes, out: list[PacketOut]) -> None:
        out += self._all([(port, frame)])

    def process_batch(self, packets: Iterable[tuple[int, bytes]]) -> list[PacketOut]:
        """Send packets through the model, one behind the other; return the packets that leave.

        Packets that recirculate enter again behind those of the batch.
        """
        with self._lock:
            return self._all(list(packets))

    def _all(self, packets: Sequence[tuple[int, bytes]]) -> list[PacketOut]:
        """Send packets through the model; the caller holds the lock."""
        left = []
        for port, _ in packets:
            self._received[port] += 1
        with self._running() as harness:
            self._write_changes()
            frames = harness.exchange(packets)
        for port, frame in frames:
            if port == self._chip.exit:
                port = self._chip.recirculation
            if port not in self.recirculation_ports:
                self._sent[port] += 1
                left.append(PacketOut(port, frame))
        return left

    def _read_counters(self, table: MatchTable) -> None:
        """Read the counters of a table's constant entries, which have the highest addresses in their order."""
        size = sum(stage["size"] for stage in self._context[table.name]["match_attributes"]["stage_tables"])
        (counter,) = self._context[table.name]["statistics_table_refs"]
        entries = table.entries()
        addresses = range(size - 1, size - 1 - len(entries), -1)
        with self._running() as harness:
            printed = harness.run(f"check_counter {counter['name']}({address})" for address in addresses)
        # One line for each entry, and then one for each of its memories that has counted.
        blocks = printed.split("(virtual ")[1:]
        if len(blocks) != len(entries):
            raise TofinoModelError(
                f"The model printed {len(blocks)} counters of table {table.name}, which has {len(entries)} entries.",
                "Use a build of the profile whose context.json belongs to the loaded program.",
            )
        for entry, lines in zip(entries, blocks, strict=True):
            found = [line for line in lines.splitlines() if "(physical " in line]
            values = dict(pair.split("=") for pair in found[-1].split()[2:] if "=" in pair) if found else {}
            value = CounterValue(int(values.get("packets", 0)), int(values.get("bytes", 0)))
            table.write_counter(entry.match, entry.priority, value)

    def _write_changes(self) -> None:
        """Write the differences between the switch's tables and groups and the chip's."""
        commands: list[str] = []
        for name, model_table in self._model_tables.items():
            table, written = self._runtime.tables[name], self._written[name]
            wanted = {entry.match: entry for entry in table.entries()}
            for match in [match for match in written if match not in wanted]:
                commands += model_table.remove(_key(match, model_table))
                del written[match]
            for match, entry in wanted.items():
                if match not in written or written[match].target != entry.target:
                    commands += model_table.add(_key(match, model_table), self._action(table, entry))
                    written[match] = entry
        if commands:
            self.harness.run(commands)
        for group in {*self._written_groups, *self._groups}:
            replicas = self._groups.get(group, ())
            if replicas != self._written_groups.get(group, ()):
                self.harness.run([self._load(self._model_groups.set(group, replicas))])
                self._written_groups[group] = replicas

    def _action(self, table: MatchTable, entry: TableEntry) -> str:
        """Return an entry's action with its arguments, as the harness takes it."""
        assert isinstance(entry.target, ActionCall)
        call = entry.target
        spec = next(action for action in table.actions if action.name == call.action)
        arguments = []
        for param, value in zip(spec.params, call.args, strict=True):
            leaves = param.name == "port" and value == self._chip.recirculation
            arguments.append(f"{param.name}:{self._chip.exit if leaves else value}")
        return f"{call.action}({', '.join(arguments)})"

    def _load(self, configuration: bytes) -> str:
        """Return the command that writes registers and memories of the chip."""
        path = self._scratch / "configuration"
        path.write_bytes(configuration)
        return f"load {path}"


def _context(path: Path) -> dict[str, Any]:
    """Return the description of the assembled program. Raises TofinoModelError if there is none."""
    try:
        return for_harness(json.loads(path.read_text()))
    except (OSError, ValueError) as error:
        raise TofinoModelError(
            f"Cannot read the context of the profile: {path}: {error}.", "Run `make tofino`."
        ) from error


def _model_table(context: dict[str, Any], table: MatchTable) -> ExactTable | LpmTable:
    kinds = {key.kind for key in table.keys}
    if kinds == {"exact"}:
        return ExactTable(context)
    if kinds == {"lpm"} and len(table.keys) == 1:
        return LpmTable(context)
    raise TofinoModelError(f"Table {table.name} has keys that this package does not write: {', '.join(sorted(kinds))}.")


def _key(match: tuple[Match, ...], table: ExactTable | LpmTable) -> Any:
    if isinstance(table, LpmTable):
        return match[0].value, match[0].aux
    return tuple(field.value for field in match)
