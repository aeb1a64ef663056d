# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The state that BF Runtime writes and reads: the program, its tables, and the agent's own."""

from __future__ import annotations

import functools
import gc
import threading
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from lanesum_fabric.bfruntime import messages
from lanesum_fabric.bfruntime.description import MATCH_ACTION, REGISTER, BfRuntimeTable, Description, Field
from lanesum_fabric.errors import PipelineError
from lanesum_fabric.tofino.chips import PIPES
from lanesum_switch.api import AlreadyExistsError, NotFoundError, PermissionDeniedError, SwitchError, TableFullError
from lanesum_switch.bfruntime.fixed_tables import DESCRIPTION, GroupTable, NodeTable, Ports
from lanesum_switch.bfruntime.match_tables import MatchActionTable, check_fit
from lanesum_switch.bfruntime.values import decode, fields_by_id
from lanesum_switch.p4runtime.program import copy_state
from lanesum_switch.p4runtime.status import Code, StatusError, invalid
from lanesum_switch.tna.switch import TofinoSwitch

#: Entries of an answer; a request may name a table many times.
MAX_READ_ENTRIES = 1 << 17
# bf_switchd has no PERMISSION_DENIED: a change of a constant table is not supported there.
_CODES: dict[type[SwitchError], int] = {
    NotFoundError: Code.NOT_FOUND,
    AlreadyExistsError: Code.ALREADY_EXISTS,
    TableFullError: Code.RESOURCE_EXHAUSTED,
    PermissionDeniedError: Code.UNIMPLEMENTED,
}


class _Served(Protocol):
    def write(self, kind: int, entry: Any) -> None: ...

    def read(self, entry: Any) -> Iterator[Any]: ...


class Agent:
    """The program of a switch and its tables by id. ``lock`` guards all methods and names.

    In a warm restart of two steps, ``begin`` loads the next program into a spare switch. Reads and writes are of that
    one until ``end``, while packets still pass through the earlier program with its entries.
    """

    def __init__(self, switch: TofinoSwitch, spare: Callable[[], TofinoSwitch] | None) -> None:
        self.lock = threading.Lock()
        self._switch, self._spare = switch, spare
        self._running: _Program | None = None
        self._next: _Program | None = None

    @property
    def program_name(self) -> str | None:
        """Name of the program that reads and writes are of; None without one."""
        return self.running_name if self._next is None else self._next.config.p4_name

    @property
    def running_name(self) -> str | None:
        """Name of the program that packets pass through; None without one."""
        return None if self._running is None else self._running.config.p4_name

    def push(self, config: Any) -> None:
        """Load a program; this clears all state. Raises StatusError, and keeps the previous program then."""
        self._running, self._next = _Program(config, self._switch), None
        _free_earlier_program()

    def begin(self, config: Any) -> None:
        """Begin a warm restart, in place of one that has not ended. Raises StatusError, and changes nothing then."""
        if self._spare is None:
            raise StatusError(Code.UNIMPLEMENTED, "This switch cannot hold two programs: push in one step")
        self._next = _Program(config, self._spare())
        _free_earlier_program()

    def end(self) -> None:
        """Run the program of ``begin`` with the entries that were written since. Raises StatusError."""
        if self._next is None:
            raise invalid("No warm restart has begun, or a push has ended it: begin one first")
        self._next.move(self._switch)
        self._running, self._next = self._next, None
        _free_earlier_program()

    def abandon(self) -> None:
        """Forget the program of a warm restart that has not ended. Idempotent."""
        if self._next is not None:
            self._next = None
            _free_earlier_program()

    def configuration(self) -> Any:
        """Return the answer to GetForwardingPipelineConfig: the program that packets pass through."""
        answer = messages.GetForwardingPipelineConfigResponse()
        answer.non_p4_config.bfruntime_info = DESCRIPTION
        if self._running is not None:
            answer.config.add().CopyFrom(self._running.config)
        return answer

    def write(self, update: Any) -> None:
        """Apply an update. Raises StatusError."""
        if update.entity.WhichOneof("entity") != "table_entry":
            raise StatusError(Code.UNIMPLEMENTED, "Only table entries are supported")
        if update.type not in messages.Update.Type.values():
            raise invalid(f"{update.type} is not a type of update")
        try:
            self._table(update.entity.table_entry).write(update.type, update.entity.table_entry)
        except SwitchError as error:
            raise _status(error) from error

    def read(self, entities: Any, response: Any) -> None:
        """Add what ``entities`` ask for to ``response``. Raises StatusError; earlier entries stay."""
        for entity in entities:
            if entity.WhichOneof("entity") != "table_entry":
                raise StatusError(Code.UNIMPLEMENTED, "Only table entries are supported")
            try:
                for found in self._table(entity.table_entry).read(entity.table_entry):
                    if len(response.entities) >= MAX_READ_ENTRIES:
                        raise StatusError(
                            Code.RESOURCE_EXHAUSTED,
                            f"An answer has at most {MAX_READ_ENTRIES} entries: read fewer tables",
                        )
                    response.entities.add().table_entry.CopyFrom(found)
            except SwitchError as error:
                raise _status(error) from error

    def _table(self, entry: Any) -> _Served:
        if entry.WhichOneof("value") == "handle_id" or entry.table_flags.key_only:
            raise StatusError(Code.UNIMPLEMENTED, "Entries are named by their keys: leave out handle_id and key_only")
        program = self._next or self._running
        if program is None or entry.table_id not in program.tables:
            raise StatusError(Code.NOT_FOUND, f"There is no table {entry.table_id} in this program")
        table = program.tables[entry.table_id]
        if self._next is not None and isinstance(table, _Register):  # those of the spare switch would take memory
            raise StatusError(Code.UNIMPLEMENTED, "Registers can be used after the end of the warm restart")
        return table


class _Program:
    """A program in a switch, and its tables by id. Raises StatusError if the switch refuses it."""

    def __init__(self, config: Any, switch: TofinoSwitch) -> None:
        self.config = messages.ForwardingPipelineConfig()
        self.config.CopyFrom(config)
        if len(config.profiles) != 1 or not config.p4_name:
            raise invalid(
                f"A program has a p4_name and one profile, not {len(config.profiles)}: {config.p4_name[:64]!r}"
            )
        fixed = Description(DESCRIPTION)
        nodes = NodeTable(fixed.named("$pre.node"))
        self._groups = GroupTable(fixed.named("$pre.mgid"), nodes, switch)
        self.tables: dict[int, _Served] = {
            fixed.named("$pre.node").id: nodes,
            fixed.named("$pre.mgid").id: self._groups,
            fixed.named("$PORT").id: Ports(fixed.named("$PORT")),
        }
        self._load(switch)

    def _load(self, switch: TofinoSwitch) -> None:
        try:
            described = Description(self.config.bfruntime_info)
            switch.load(self.config.profiles[0].binary, functools.partial(check_fit, described))
        except (SwitchError, PipelineError) as error:
            raise StatusError(Code.INVALID_ARGUMENT, f"The program was refused: {error}") from error
        for table in described.by_id.values():
            if table.kind == MATCH_ACTION and table.name in switch.tables:
                self.tables[table.id] = MatchActionTable(table, switch.tables[table.name])
            elif table.kind == REGISTER:
                self.tables[table.id] = _Register(table, switch)
        self._switch = self._groups.switch = switch

    def move(self, switch: TofinoSwitch) -> None:
        """Load the program into another switch, with all entries. Registers are not copied."""
        spare = self._switch
        self._load(switch)
        copy_state(spare, switch)


class _Register:
    """One register of the program."""

    def __init__(self, described: BfRuntimeTable, switch: TofinoSwitch) -> None:
        self._described, self._switch = described, switch

    def write(self, kind: int, entry: Any) -> None:
        """Write all fields of a cell, in all pipes. Raises StatusError, SwitchError."""
        if kind not in (messages.Update.INSERT, messages.Update.MODIFY):
            raise StatusError(Code.UNIMPLEMENTED, "Registers take INSERT and MODIFY")
        index = self._index(entry)
        given = fields_by_id(entry.data.fields, self._described.data, self._owner)
        if given.keys() != self._described.data.keys():
            raise invalid(f"{self._owner} is written with all of its {len(self._described.data)} fields")
        values = {number: decode(one.stream, self._described.data[number]) for number, one in given.items()}
        for field in self._described.data.values():
            for pipe in range(PIPES):
                self._switch.write_register(_register_name(field), index, values[field.id], pipe)

    def read(self, entry: Any) -> Iterator[Any]:
        """Yield a cell, each field with a value for each pipe. Raises StatusError, SwitchError."""
        index = self._index(entry)
        found = messages.TableEntry(table_id=self._described.id)
        found.key.CopyFrom(entry.key)
        for field in self._described.data.values():
            for pipe in range(PIPES):
                value = self._switch.read_register(_register_name(field), index, pipe)
                found.data.fields.add(field_id=field.id, stream=field.encode(value))
        yield found

    @property
    def _owner(self) -> str:
        return f"Register {self._described.name}"

    def _index(self, entry: Any) -> int:
        given = fields_by_id(entry.key.fields, self._described.keys, self._owner)
        if len(given) != 1:
            raise StatusError(Code.UNIMPLEMENTED, "A register is read and written cell by cell")
        ((key, named),) = given.items()
        return decode(named.exact.value, self._described.keys[key])


def _free_earlier_program() -> None:
    """Free a program that was replaced: it takes 13 MiB, with registers in use 50 MiB, and refers to itself."""
    gc.collect()


def _register_name(field: Field) -> str:
    return field.name.removesuffix(".f1")  # the compiler's name for a cell without fields


def _status(error: SwitchError) -> StatusError:
    return StatusError(_CODES.get(type(error), Code.INVALID_ARGUMENT), str(error).rstrip("."))
