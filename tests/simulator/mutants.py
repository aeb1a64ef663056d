# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Bugs to plant: each replaces one piece of source text in one function of the protocol's code."""

from __future__ import annotations
import __future__

import inspect
import textwrap
from dataclasses import dataclass
from types import FunctionType, ModuleType

import pytest

from lanesum.aggregation import slots
from lanesum.aggregation.slots import SlotTable
from lanesum.protocol.packet import ChunkBatch
from lanesum.server.aggregator import Aggregator
from lanesum.transport.rounds import RoundSequence
from lanesum.transport.window import RoundWindow
from lanesum_switch.reference_switch import ReferenceSwitch

Owner = type | ModuleType


@dataclass(frozen=True)
class Mutant:
    """In function ``function`` of ``owner``, ``old`` becomes ``new``."""

    name: str
    owner: Owner
    function: str
    old: str
    new: str

    def plant(self, monkeypatch: pytest.MonkeyPatch) -> None:
        original = inspect.getattr_static(self.owner, self.function)
        function = original.__func__ if isinstance(original, staticmethod) else original
        assert isinstance(function, FunctionType)
        source = textwrap.dedent(inspect.getsource(function))
        assert source.count(self.old) == 1, f"{self.name}: {self.function} has changed, and this bug has to follow"
        code = compile(
            source.replace(self.old, self.new), self.name, "exec", __future__.annotations.compiler_flag, True
        )
        names: dict[str, object] = {}
        exec(code, function.__globals__, names)
        # A module that has imported a function by name keeps the original: the owner is who looks it up.
        monkeypatch.setattr(self.owner, self.function, names[self.function])


_CLAIMED = "entry.workers, entry.count = worker, 1"
_OWNER = "(owner.job, owner.tag) != (header.job, header.tag)"
_WINDOW_RULE = "and (self._next < slots or self._done[self._next - slots])"

SLOT_LOGIC = (
    Mutant("a worker counts twice", SlotTable, "decide", "entry.workers & worker", "False"),
    Mutant("the bit of a contributor is not kept", SlotTable, "contribute", "entry.workers |= worker", "pass"),
    Mutant("the count is not kept", SlotTable, "contribute", "entry.count += 1", "pass"),
    Mutant("complete with one too few", SlotTable, "decide", "entry.count + 1 == fan_in", "entry.count + 2 >= fan_in"),
    Mutant("complete with one too many", SlotTable, "decide", "entry.count + 1 == fan_in", "entry.count == fan_in"),
    Mutant("a single worker never completes", SlotTable, "decide", "if fan_in == 1", "if fan_in == 0"),
    Mutant("older packets overwrite", SlotTable, "decide", "return Decision.DROP_LATE", "return Decision.CLAIM"),
    Mutant("epochs are not compared", slots, "order_of", "if epochs_ahead != 0 or", "if"),
    Mutant("older epochs count as newer", slots, "order_of", "epochs_ahead >= _HALF_RANGE", "False"),
    Mutant("epochs do not wrap", slots, "order_of", "(header.epoch - owner.epoch) % (1 << 32)",
           "header.epoch - owner.epoch if header.epoch >= owner.epoch else _HALF_RANGE"),
    Mutant("epochs are compared as signed numbers", slots, "order_of", "(header.epoch - owner.epoch) % (1 << 32)",
           "((header.epoch ^ _HALF_RANGE) - (owner.epoch ^ _HALF_RANGE)) "
           "if (header.epoch ^ _HALF_RANGE) >= (owner.epoch ^ _HALF_RANGE) else _HALF_RANGE"),
    Mutant("chunks of one epoch are not ordered", slots, "order_of", "header.chunk < owner.chunk", "False"),
    Mutant("larger chunks of one epoch are the same", slots, "order_of", "or header.chunk > owner.chunk", ""),
    Mutant("the owner's tag is not looked at", slots, "order_of", _OWNER, "owner.job != header.job"),
    Mutant("the owner's job is not looked at", slots, "order_of", _OWNER, "owner.tag != header.tag"),
    Mutant("the owner's operation is not looked at", slots, "order_of", "header.op == owner.op", "True"),
    Mutant("both shadow sets are one", SlotTable, "entry", "(slot, shadow)", "(slot, 0)"),
    Mutant("neighbouring slots are one", SlotTable, "entry", "(slot, shadow)", "(slot // 2, shadow)"),
    Mutant("the first contribution is added to what was there", SlotTable, "contribute",
           "expand(op, words, code_table).copy()",
           "expand(op, words, code_table) + (entry.words if entry.words.size else np.uint32(0))"),
    Mutant("the first contributor keeps the old bitmap", SlotTable, "contribute", _CLAIMED,
           "entry.workers, entry.count = entry.workers | worker, 1"),
    Mutant("the first contributor keeps the old count", SlotTable, "contribute", _CLAIMED,
           "entry.workers, entry.count = worker, entry.count + 1"),
    Mutant("the first contributor does not become the owner", SlotTable, "contribute",
           "entry.owner = Owner(header.op, header.job, header.tag, header.epoch, header.chunk)",
           "entry.owner = entry.owner or Owner(header.op, header.job, header.tag, header.epoch, header.chunk)"),
    Mutant("the last contribution is not combined", SlotTable, "contribute",
           "combine(op, entry.words, expand(op, words, code_table))",
           "entry.words if decision is Decision.CONTRIBUTE_AND_COMPLETE else "
           "combine(op, entry.words, expand(op, words, code_table))"),
    Mutant("duplicates are combined again", SlotTable, "contribute",
           "Decision.CONTRIBUTE, Decision.CONTRIBUTE_AND_COMPLETE)",
           "Decision.CONTRIBUTE, Decision.CONTRIBUTE_AND_COMPLETE, Decision.REPORT_PENDING)"),
    Mutant("pending instead of a replay", SlotTable, "decide", "return Decision.REPLAY",
           "return Decision.REPORT_PENDING"),
    Mutant("nothing instead of pending", SlotTable, "decide", "return Decision.REPORT_PENDING",
           "return Decision.DROP_LATE"),
    Mutant("MAX adds", slots, "combine", "np.maximum(accumulator, words)", "accumulator + words"),
    Mutant("sums saturate", slots, "combine", "return accumulator + words",
           "return np.minimum(accumulator.astype(np.uint64) + words, 0xFFFFFFFF).astype(np.uint32)"),
    Mutant("the halves of a word are exchanged", slots, "expand", "(words & _LOW_NIBBLES, (words >> np.uint32(4)) & "
           "_LOW_NIBBLES)", "((words >> np.uint32(4)) & _LOW_NIBBLES, words & _LOW_NIBBLES)"),
)  # fmt: skip

AGGREGATION_POINT = (
    Mutant("a replay carries the worker's own words", Aggregator, "handle",
           "entry.workers, Flag.RESEND, Packet(header, entry.words)", "entry.workers, Flag.RESEND, packet"),
    Mutant("a result names its last contributor alone", Aggregator, "handle",
           "self._answer(header, job, entry.workers, 0,", "self._answer(header, job, header.workers, 0,"),
    Mutant("the result goes to its last contributor alone", Aggregator, "handle",
           "for member in job.members]", "for member in [sender]]"),
    Mutant("a replay goes to all", Aggregator, "handle",
           "return [(sender, self._answer(header, job, entry.workers, Flag.RESEND, Packet(header, entry.words)))]",
           "return [(m, self._answer(header, job, entry.workers, Flag.RESEND, Packet(header, entry.words))) "
           "for m in job.members]"),
    Mutant("the server does not look at the tag", Aggregator, "handle", "or header.tag != job.tag", ""),
    Mutant("the server does not look at the slot range", Aggregator, "handle", "header.slot >= job.slots", "False"),
    Mutant("a removed job is still served", Aggregator, "remove", "self.jobs.pop(job, None)", "return"),
    Mutant("the switch does not look at the port", ReferenceSwitch, "_membership",
           "self._member.get((port, ipv4.source, header.job, header.tag))",
           "next((a for (_, *key), a in self._member.items() if key == [ipv4.source, header.job, header.tag]), None)"),
    Mutant("the switch does not look at the tag", ReferenceSwitch, "_membership",
           "self._member.get((port, ipv4.source, header.job, header.tag))",
           "next((a for key, a in self._member.items() if key[:3] == (port, ipv4.source, header.job)), None)"),
    Mutant("the switch allows one slot too many", ReferenceSwitch, "_membership",
           "header.slot >= admission.job.slot_count", "header.slot > admission.job.slot_count"),
    Mutant("all jobs begin at slot 0", ReferenceSwitch, "_aggregate", "job.slot_base + header.slot", "header.slot"),
    Mutant("the switch forgets to take a job out", ReferenceSwitch, "remove",
           "self._member.pop(self._member_key(job, member), None)", "pass"),
)  # fmt: skip

WORKER = (
    Mutant("every round begins at position 0", RoundSequence, "finish", "(self.position + window.chunks)", "0"),
    Mutant("every round begins in shadow set 0", RoundSequence, "finish", "% (2 * self._ticket.slots)",
           "% self._ticket.slots"),
    Mutant("all rounds have one epoch", RoundSequence, "finish", "(self.epoch + 1)", "self.epoch"),
    Mutant("the epoch does not wrap", RoundSequence, "finish", "(self.epoch + 1) % (1 << 32)", "self.epoch + 1"),
    Mutant("the shadow set alternates with every slot", ChunkBatch, "__init__", "(positions // slots % 2)",
           "(positions % 2)"),
    Mutant("chunks do not wait for the other shadow set", RoundWindow, "due", _WINDOW_RULE, ""),
    Mutant("chunks wait for one position too early", RoundWindow, "due", _WINDOW_RULE,
           "and (self._next < slots or self._next == slots or self._done[self._next - slots - 1])"),
    Mutant("the window is larger than the slots", RoundWindow, "__init__", "min(window, ticket.slots)",
           "window + ticket.slots"),
    Mutant("results of another epoch are taken", RoundWindow, "receive", "or header.epoch != self._epoch", ""),
    Mutant("results of another tag are taken", RoundWindow, "receive", "or header.tag != self._ticket.tag", ""),
    Mutant("results of another job are taken", RoundWindow, "receive", "or header.job != self._ticket.job", ""),
    Mutant("results of another operation are taken", RoundWindow, "receive", "or header.op != self._op", ""),
    Mutant("results of another version are taken", RoundWindow, "receive", "header.version != VERSION", "False"),
    Mutant("chunks that were never sent are taken", RoundWindow, "receive", "or chunk >= self._next", ""),
    Mutant("a result is taken twice", RoundWindow, "receive", "if self._done[chunk]:", "if False:"),
    Mutant("a duplicate passes for a new result", RoundWindow, "receive",
           "stats.duplicate_results += 1\n        return False", "stats.duplicate_results += 1\n        return True"),
    Mutant("a pending answer passes for a result", RoundWindow, "receive",
           "if header.kind == Kind.PENDING and len(datagram) == HEADER_BYTES:", "if False:"),
    Mutant("a result of any kind and size is taken", RoundWindow, "receive",
           "if header.kind != Kind.RESULT or len(datagram) != HEADER_BYTES + self._packet_bytes:", "if False:"),
    Mutant("results are put into the wrong place", RoundWindow, "receive", "start = chunk * self._packet_bytes",
           "start = (self.chunks - 1 - chunk) * self._packet_bytes"),
    Mutant("all workers but the first read results differently", RoundWindow, "result", ".astype(np.uint32)",
           ".astype(np.uint32) + np.uint32(self._ticket.worker > 0)"),
    Mutant("contributors are not kept", RoundWindow, "receive", "self._contributors[chunk] = header.workers", "pass"),
    Mutant("nothing is ever sent again", RoundWindow, "_lost", "self._timer_left(now) <= 0", "False"),
    Mutant("only the first chunk is sent again", RoundWindow, "_lost", "self._timer_left(now) <= 0",
           "oldest == 0 and self._timer_left(now) <= 0"),
    Mutant("resends are not marked", RoundWindow, "due", "Flag.RESEND", "0"),
    Mutant("retransmissions are not counted", RoundWindow, "due", "self._stats.retransmissions += len(chunks)", "pass"),
)  # fmt: skip

MUTANTS = (*SLOT_LOGIC, *AGGREGATION_POINT, *WORKER)
