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

from lanesum.protocol.packet import ChunkBatch
from lanesum.server import answers, quorum_results, served_job
from lanesum.server.aggregator import Aggregator
from lanesum.server.jobs import ServerJob
from lanesum.server.journal import Journal
from lanesum.server.member_table import MemberTable
from lanesum.server.partial_sums import PartialSums
from lanesum.server.quorum_results import QuorumResultCache
from lanesum.server.served_job import ServedJob
from lanesum.server.slot_table import ServerSlotTable
from lanesum.transport import round_sequence, round_state
from lanesum.transport.membership import Membership
from lanesum.transport.recovery import LossDetector, SentChunk
from lanesum.transport.retransmit_buffer import RetransmitBuffer
from lanesum.transport.round_sequence import RoundSequence
from lanesum.transport.round_state import RoundState
from lanesum.transport.slot_backoff import SlotBackoff
from lanesum.transport.slot_scheduler import SlotScheduler
from tests.reference import answer as reference_answer
from tests.reference import frame, slots
from tests.reference.frame import Frame
from tests.reference.slots import SlotTable
from tests.reference.switch import ReferenceSwitch
from tests.simulator import simulation

Owner = type | ModuleType


@dataclass(frozen=True)
class Mutant:
    """In function ``function`` of ``owner``, ``old`` becomes ``new``.

    ``seed``: of the schedule that the search begins with; another than 0 for what few schedules meet.
    """

    name: str
    owner: Owner
    function: str
    old: str
    new: str
    seed: int = 0

    def plant(self, monkeypatch: pytest.MonkeyPatch) -> None:
        original = inspect.getattr_static(self.owner, self.function)
        if isinstance(original, property):
            original = original.fget
        function = original.__func__ if isinstance(original, staticmethod | classmethod) else original
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
_ACCUMULATED = "entry.words = combine(op, entry.words, self._accumulator_words(header, words, code_table))"

SLOT_LOGIC = (
    Mutant("a worker counts twice", SlotTable, "seen", "bool(entry.workers & worker)", "False"),
    Mutant("the bit of a contributor is not kept", SlotTable, "contribute", "entry.workers |= worker", "pass"),
    Mutant("the count is not kept", SlotTable, "contribute", "entry.count += 1", "pass"),
    Mutant("complete with one too few", SlotTable, "decide", "entry.count + 1 >= fan_in", "entry.count + 2 >= fan_in"),
    Mutant("complete with one too many", SlotTable, "decide", "entry.count + 1 >= fan_in", "entry.count >= fan_in"),
    Mutant("a single worker never completes", SlotTable, "decide", "if fan_in <= 1", "if fan_in <= 0"),
    Mutant("older packets overwrite", SlotTable, "decide",
           "return Decision.PASS_LATE if quorum else Decision.DROP_LATE", "return Decision.CLAIM"),
    Mutant("epochs are not compared", slots, "order_of", "if epochs_ahead != 0 or", "if"),
    Mutant("older epochs count as newer", slots, "order_of", "epochs_ahead >= _HALF_RANGE", "False"),
    Mutant("epochs do not wrap", slots, "order_of", "(header.epoch - owner.epoch) % (1 << 32)",
           "header.epoch - owner.epoch if header.epoch >= owner.epoch else _HALF_RANGE", seed=95),
    Mutant("epochs are compared as signed numbers", slots, "order_of", "(header.epoch - owner.epoch) % (1 << 32)",
           "((header.epoch ^ _HALF_RANGE) - (owner.epoch ^ _HALF_RANGE)) "
           "if (header.epoch ^ _HALF_RANGE) >= (owner.epoch ^ _HALF_RANGE) else _HALF_RANGE"),
    Mutant("chunks of one epoch are not ordered", slots, "order_of", "header.chunk < owner.chunk", "False"),
    Mutant("larger chunks of one epoch are the same", slots, "order_of", "or header.chunk > owner.chunk", ""),
    Mutant("the owner's tag is not looked at", slots, "order_of", _OWNER, "owner.job != header.job"),
    Mutant("the owner's job is not looked at", slots, "order_of", _OWNER, "owner.tag != header.tag"),
    Mutant("the owner's operation is not looked at", slots, "order_of",
           "(header.op, header.racks) == (owner.op, owner.round_words)", "header.racks == owner.round_words"),
    Mutant("the size of the owner's round is not looked at", slots, "order_of",
           "(header.op, header.racks) == (owner.op, owner.round_words)", "header.op == owner.op"),
    Mutant("both shadow sets are one", SlotTable, "entry", "(slot, shadow)", "(slot, 0)"),
    Mutant("neighbouring slots are one", SlotTable, "entry", "(slot, shadow)", "(slot // 2, shadow)"),
    Mutant("the first contribution is added to what was there", SlotTable, "contribute",
           "self._accumulator_words(header, words, code_table).copy()",
           "self._accumulator_words(header, words, code_table) + (entry.words if entry.words.size else np.uint32(0))"),
    Mutant("the first contributor keeps the old bitmap", SlotTable, "contribute", _CLAIMED,
           "entry.workers, entry.count = entry.workers | worker, 1"),
    Mutant("the first contributor keeps the old count", SlotTable, "contribute", _CLAIMED,
           "entry.workers, entry.count = worker, entry.count + 1"),
    Mutant("the first contributor does not become the owner", SlotTable, "contribute",
           "entry.owner = Owner(", "entry.owner = entry.owner or Owner("),
    Mutant("who takes an entry leaves it done", SlotTable, "contribute",
           "entry.done = decision in (Decision.CLAIM_AND_COMPLETE, Decision.CONTRIBUTE_AND_COMPLETE)",
           "entry.done |= decision in (Decision.CLAIM_AND_COMPLETE, Decision.CONTRIBUTE_AND_COMPLETE)"),
    Mutant("what is complete is never done", SlotTable, "contribute",
           "entry.done = decision in (Decision.CLAIM_AND_COMPLETE, Decision.CONTRIBUTE_AND_COMPLETE)", "pass"),
    Mutant("the last contribution is not combined", SlotTable, "contribute", _ACCUMULATED,
           "entry.words = entry.words if decision is Decision.CONTRIBUTE_AND_COMPLETE else "
           "combine(op, entry.words, self._accumulator_words(header, words, code_table))"),
    Mutant("duplicates are combined again", SlotTable, "contribute",
           "Decision.CONTRIBUTE, Decision.CONTRIBUTE_AND_COMPLETE):",
           "Decision.CONTRIBUTE, Decision.CONTRIBUTE_AND_COMPLETE, Decision.REPORT_PENDING):"),
    Mutant("pending instead of a replay", SlotTable, "decide", "return Decision.REPLAY",
           "return Decision.REPORT_PENDING"),
    Mutant("nothing instead of pending", SlotTable, "decide", "return Decision.REPORT_PENDING",
           "return Decision.DROP_LATE"),
    Mutant("nothing goes up again", SlotTable, "decide", "Decision.ASCEND_AGAIN if seen", "Decision.DROP_LATE if seen"),
    Mutant("a complete rack takes one more", SlotTable, "decide",
           "Decision.ASCEND_AGAIN if seen else Decision.PASS_LATE",
           "Decision.ASCEND_AGAIN if seen else Decision.CONTRIBUTE_AND_COMPLETE"),
    Mutant("who is later than a quorum is not passed on", SlotTable, "decide",
           "return Decision.PASS_LATE if quorum else Decision.DROP_LATE", "return Decision.DROP_LATE"),
    Mutant("what came from below is widened again", SlotTable, "_accumulator_words", "header.flags & Flag.UPPER",
           "False"),
    Mutant("other jobs' unfinished entries are the same", SlotTable, "order", "return ChunkOrder.FOREIGN",
           "return ChunkOrder.SAME", seed=48),
    Mutant("a lease never ends", SlotTable, "order", "(now - entry.touched) % cls.TICKS <= lease", "True", seed=27),
    Mutant("finished entries of other jobs stay theirs", SlotTable, "order",
           "not entry.done and (now - entry.touched) % cls.TICKS <= lease", "True"),
    Mutant("colliding contributions are dropped", SlotTable, "decide", "return Decision.COLLIDE",
           "return Decision.DROP_LATE", seed=48),
    Mutant("MAX adds", slots, "combine", "_COMBINE[op.shape.combine]",
           "_COMBINE[Combine.ADD if op is LaneOp.MAX else op.shape.combine]"),
    Mutant("sums saturate", slots, "combine", "return combined",
           "return combined if op.shape.combine is not Combine.ADD else "
           "np.minimum(accumulator.astype(np.uint64) + words, 0xFFFFFFFF).astype(np.uint32)"),
    Mutant("the halves of a word are exchanged", slots, "expand", "shifts, mask = _parts(op)",
           "shifts, mask = _parts(op)[0][::-1], _parts(op)[1]"),
    Mutant("the upper bit planes are exchanged", slots, "expand", "<< np.uint32(plane)",
           "<< np.uint32(group - plane)"),
)  # fmt: skip

SWITCH = (
    Mutant("the switch does not look at the tag", ReferenceSwitch, "_membership", "header.job, header.tag, aggregate)",
           "header.job, next((key[-2] for key in self._member if key[-3] == header.job), 0), aggregate)"),
    Mutant("the switch takes a single contribution for an aggregate", ReferenceSwitch, "_membership",
           "aggregate = bool(header.flags & Flag.UPPER)",
           "aggregate = any(key[-3:] == (header.job, header.tag, True) for key in self._member)"),
    Mutant("the switch allows one slot too many", ReferenceSwitch, "_membership",
           "header.slot >= admission.job.slot_count", "header.slot > admission.job.slot_count"),
    Mutant("all jobs begin at slot 0", ReferenceSwitch, "_aggregate", "job.slot_base + header.slot", "header.slot"),
    Mutant("the switch forgets to take a job out", ReferenceSwitch, "remove", "self._member.pop(key, None)", "pass"),
    Mutant("the switch takes what should go past it", frame, "_lanesum_classification",
           "header.flags & (Flag.BYPASS | Flag.PARTIAL)", "header.flags & Flag.PARTIAL"),
    Mutant("spoofed addresses pass", ReferenceSwitch, "_check_origin", "host.port != port", "False", seed=29),
    Mutant("workers may send aggregates", ReferenceSwitch, "_check_origin", "host.attached and upper", "False"),
    Mutant("damaged words are summed", Frame, "checksum_error",
           "return internet_checksum(pseudo_header + self._datagram()) != 0", "return False", seed=27),
    Mutant("damaged headers are believed", Frame, "checksum_error",
           "ipv4.checksum != ipv4.fresh_checksum()", "False", seed=60),
    Mutant("the switch answers in the rack's place", ReferenceSwitch, "_aggregate",
           "PacketVerdict.ASCEND if job.role & Role.ASCEND else PacketVerdict.RESULT", "PacketVerdict.RESULT"),
    Mutant("answers from above are not handed down", ReferenceSwitch, "_descend", "if job is None or",
           "if True or"),
    Mutant("pending answers reach the sender alone", ReferenceSwitch, "_aggregate",
           "self._multicast(job, frame)", "self._multicast(job, frame)[: 1 if verdict is Verdict.PENDING else None]"),
    Mutant("results reach the first member alone", ReferenceSwitch, "_multicast",
           "for member in self._groups.get(job.group, ())", "for member in self._groups.get(job.group, ())[:1]"),
    Mutant("the checksum of a collision is left as it was", reference_answer, "mark_collision",
           "_add_flag(frame, Flag.COLLISION)", "frame.lanesum.flags |= Flag.COLLISION", seed=48),
    Mutant("a resize changes nothing but the number of slots", ReferenceSwitch, "modify",
           "self._member |= after",
           "self._member |= self._member_entries(__import__('dataclasses').replace(new, slot_base=0))", seed=252),
    Mutant("an aggregate forgets who is in it", reference_answer, "ascend",
           "header.workers, header.racks = entry.workers, round_words",
           "header.workers, header.racks = header.workers & -header.workers, round_words"),
    Mutant("an aggregate forgets the size of its round", reference_answer, "ascend",
           "header.workers, header.racks = entry.workers, round_words", "pass"),
    Mutant("a part passes for a whole rack", reference_answer, "ascend", "job.role_bits & Role.PARTIAL", "False"),
    Mutant("an aggregate carries one worker's words", reference_answer, "ascend", "put_words(frame, entry.words)",
           "put_words(frame, entry.words * np.uint32(0) + np.uint32(1))"),
    Mutant("racks are named as workers", reference_answer, "_name_contributors",
           "(0, entry.workers) if upper else (entry.workers, 0)", "(entry.workers, 0)"),
    Mutant("copies keep the checksum of another receiver", reference_answer, "receive", "if not copy.built:",
           "if False:"),
)  # fmt: skip

SERVER = (
    Mutant("server ignores the tag", ServedJob, "_check", "header.tag != job.tag", "False"),
    Mutant("server ignores the slot range", ServedJob, "_check", "header.slot >= job.slots", "False", seed=35),
    Mutant("server accepts aggregates of any member", ServedJob, "_check", "if not job.on_switches", "if False"),
    Mutant("aggregates name workers of any rack", ServedJob, "_check",
           "self._members.workers_at(member.rack, header.workers)", "self._members.workers_at(0, header.workers)"),
    Mutant("aggregates of racks name the first alone", ServedJob, "_check",
           "self._members.workers_in_racks(header.workers)", "self._members.workers_in_racks(1)"),
    Mutant("an aggregate counts for its sender alone", ServedJob, "_check",
           "workers = self._members.workers_at(member.rack, header.workers)", "workers = 1 << member.worker"),
    Mutant("aggregates are widened again", ServedJob, "contribute", "packet.payload if is_aggregate else expand(",
           "expand("),
    Mutant("a removed job is still served", Aggregator, "_close", "self._served.pop(job, None)", "None"),
    Mutant("a result goes to the missing workers only", ServedJob, "contribute",
           "self._results_to(self._members.all_workers, header, self._complete(header, entry))",
           "self._results_to(workers, header, self._complete(header, entry))"),
    Mutant("a replay goes to all workers", ServedJob, "contribute",
           "self._results_to(self._contributors(header, member, workers), header, replay)",
           "self._results_to(self._members.all_workers, header, replay)"),
    Mutant("sums go to the worker after the owner", served_job, "owner_of", "turns.place(chunk)[0]",
           "(turns.place(chunk)[0] + 1) % turns.shards"),
    Mutant("the owner of a chunk is the one without its words", ReferenceSwitch, "_shorten",
           "owner == member.replica", "owner != member.replica"),
    Mutant("a switch takes the words out of results for all", ReferenceSwitch, "_shorten",
           "owner is None", "copy.words is None"),
    Mutant("a shortened copy names no contributors", ReferenceSwitch, "_shorten",
           "answer.put_words(copy, _NO_WORDS)",
           "answer.put_words(copy, _NO_WORDS); copy.lanesum.workers = copy.lanesum.racks = 0"),
    Mutant("a shortened copy announces its words", ReferenceSwitch, "_shorten",
           "answer.put_words(copy, _NO_WORDS)", "copy.words = _NO_WORDS"),
    Mutant("contributions name the next worker as the owner", RoundState, "__init__",
           "owner_mark(one, ", "owner_mark((one + 1) % shards, "),
    Mutant("the server takes contributions of no owner only", ServedJob, "_check",
           "header.spare not in (0, mark)", "header.spare"),
    Mutant("no worker gets the words of a scattered round", ServedJob, "_results_to",
           "result if gets_words(worker, owner, asked.racks) else brief", "brief"),
    Mutant("all workers get the words of a scattered round", ServedJob, "_results_to",
           "result if gets_words(worker, owner, asked.racks) else brief", "result"),
    Mutant("the owner of a gathered chunk gets its words back", served_job, "gets_words",
           "owner != worker or bool(round_size & CERTIFIED)", "True"),
    Mutant("the owner alone gets the words of a gathered chunk", served_job, "gets_words",
           "owner != worker or bool(round_size & CERTIFIED)", "owner == worker"),
    Mutant("the server expects words from all workers", served_job, "sends_words",
           "owner == worker or not round_size & GATHERED", "True"),
    Mutant("a header alone counts as ones", ServedJob, "contribute", "np.zeros(", "np.ones("),
    Mutant("a header-only result announces its words", answers, "header_only", "header.words -= accumulator_words",
           "pass"),
    Mutant("a header-only result has no bitmaps of racks", answers, "header_only",
           "return header.pack() + result[HEADER_BYTES + accumulator_words * WORD_BYTES :]",
           "header.words = 0; return header.pack()"),
    Mutant("replays of scattered rounds have words for all", ServedJob, "contribute",
           "self._results_to(self._contributors(header, member, workers), header, replay)",
           "self._to(self._contributors(header, member, workers), replay)"),
    Mutant("cached results of scattered rounds have words for all", ServedJob, "_answer_from_cache",
           "self._results_to(self._contributors(header, member, workers), header, replay)",
           "self._to(self._contributors(header, member, workers), replay)"),
    Mutant("a replay reaches one worker of a rack", ServedJob, "_contributors",
           "workers if header.flags & Flag.UPPER else", ""),
    Mutant("pending answers go to the sender only", ServedJob, "_pending",
           "self._members.all_workers & ~arrived | 1 << member.worker", "1 << member.worker"),
    Mutant("pending answers do not ask to bypass", answers, "pending", "Flag.BYPASS", "0"),
    Mutant("pending answers name all workers", answers, "pending",
           "header.workers = members.bitmap(members.indices[receiver].rack, workers)",
           "header.workers = members.bitmap(members.indices[receiver].rack, members.all_workers)"),
    Mutant("conflicts are not reported", ServedJob, "contribute", "self._to(self._members.all_workers, conflict)",
           "[]"),
    Mutant("server forgets a conflict", ServerSlotTable, "contribute", "or entry.conflict is not None", ""),
    Mutant("a conflict names the wrong sizes", answers, "conflict",
           "header.racks, header.workers = owner.round_words, asked.racks",
           "header.racks, header.workers = asked.racks, asked.racks", seed=73),
    Mutant("a partial result lacks its flag", answers, "result", "header.flags |= Flag.PARTIAL", "pass"),
    Mutant("a partial result names only racks", answers, "result",
           "np.concatenate((total, np.array(members.bitmaps(workers), np.uint32)))", "total", seed=27),
    Mutant("a result names one worker more", answers, "result", "header.workers = members.bitmap(0, workers)",
           "header.workers = members.bitmap(0, workers) | 1"),
    Mutant("overlapping sums are added", PartialSums, "add",
           "overlapping = [held for held in self._sums if held & workers]", "overlapping = []"),
    Mutant("larger sums are added to their parts", PartialSums, "add", "del self._sums[held]", "pass"),
    Mutant("a duplicate counts as a partial sum", PartialSums, "add", "if not workers & ~self.workers", "if False"),
    Mutant("partial sums never replace others", PartialSums, "add",
           "if replaced & ~workers and workers.bit_count() <= replaced.bit_count()", "if replaced"),
    Mutant("the total lacks a partial sum", PartialSums, "total", "self._sums.values()",
           "list(self._sums.values())[-1:]"),
    Mutant("single contributions are not combined", PartialSums, "add", "combine(self._op, total, words)", "words"),
    Mutant("complete with one worker too few", ServerSlotTable, "contribute", ">= threshold:",
           ">= threshold - 1:"),
    Mutant("complete with one worker too many", ServerSlotTable, "contribute", ">= threshold:",
           "> threshold:"),
    Mutant("server lets older packets overwrite", ServerSlotTable, "contribute",
           "order is ChunkOrder.NEWER:\n        claimed",
           "order in (ChunkOrder.NEWER, ChunkOrder.OLDER):\n        claimed"),
    Mutant("server has one shadow set", ServerSlotTable, "contribute", "get((header.slot, header.shadow))",
           "get((header.slot, 0))"),
    Mutant("server never reuses an entry", ServerSlotTable, "contribute",
           "entry is None or order is ChunkOrder.NEWER", "entry is None"),
    Mutant("server sums conflicting contributions", ServerSlotTable, "contribute",
           "elif order is not ChunkOrder.SAME or", "elif False or"),
    Mutant("server completes a chunk again and again", ServerSlotTable, "contribute",
           "elif entry.result is not None:", "elif False:"),
    Mutant("a quorum needs all workers", ServerJob, "threshold", "self.quorum or len(self.members)",
           "len(self.members)"),
    Mutant("results of quorum jobs are not kept", ServerJob, "has_quorum", "self.threshold < len(self.members)",
           "False"),
    Mutant("less than two turns are kept", ServerJob, "result_capacity", "max(self.kept_results, 2 * self.slots)",
           "self.kept_results"),
    Mutant("cached results are not found", ServedJob, "_answer_from_cache", "cached = results.find(header)",
           "cached = None"),
    Mutant("results are evicted at once", QuorumResultCache, "_insert", "len(self._results) > self._capacity",
           "self._results"),
    Mutant("evicted results are computed again", QuorumResultCache, "is_evicted",
           "return self._horizon is not None and", "return False and", seed=127),
    Mutant("all unknown results count as evicted", QuorumResultCache, "is_evicted",
           "self._horizon is not None and not _is_newer(header.epoch, header.chunk, self._horizon)",
           "bool(self._results)"),
    Mutant("the horizon is the last result", QuorumResultCache, "_insert",
           "self._horizon = _newest(self._horizon, oldest)", "self._horizon = next(reversed(self._results))", seed=102),
    Mutant("horizons do not wrap", quorum_results, "_is_newer", "order_of(header, owner) is ChunkOrder.NEWER",
           "(epoch, chunk) > (than.epoch, than.chunk)", seed=107),
    Mutant("the journal is not written", Journal, "write", "os.pwrite(self._file, record, offset)", "len(record)"),
    Mutant("the journal is not read", Journal, "_read", "if result is not None", "if False"),
    Mutant("the journal has one record", Journal, "write", "result.number % self._capacity", "0"),
    Mutant("the journal is read in the order of its records", Journal, "_read",
           "sorted(results, key=lambda result: result.number)", "results", seed=127),
    Mutant("the journal loses the size of rounds", Journal, "_unpack", "header.chunk, round_words)",
           "header.chunk, 0)"),
    Mutant("late workers get no answer", ServedJob, "_gone", "self._contributors(header, member, workers)", "0"),
    Mutant("a rack counts as complete with one worker", MemberTable, "complete_racks",
           "members & workers == members", "members & workers", seed=29),
    Mutant("workers are named in the wrong rack", MemberTable, "bitmaps", "bitmaps[index.rack]", "bitmaps[0]", seed=27),
)  # fmt: skip

WORKER = (
    Mutant("every round begins at position 0", RoundSequence, "start", "begin = self._scheduler.end", "begin = 0"),
    Mutant("every round begins in shadow set 0", RoundSequence, "start", "begin = self._scheduler.end",
           "begin = self._scheduler.end + self._scheduler.end // self.ticket.slots % 2 * self.ticket.slots"),
    Mutant("all rounds have one epoch", RoundSequence, "start", "(self._next_epoch + 1)", "self._next_epoch"),
    Mutant("the epoch does not wrap", RoundSequence, "start", "(self._next_epoch + 1) % (1 << 32)",
           "self._next_epoch + 1"),
    Mutant("the shadow set alternates with every slot", ChunkBatch, "__init__", "(positions // slots % 2)",
           "(positions % 2)"),
    Mutant("chunks do not wait for the other shadow set", SlotScheduler, "is_free",
           "return position < self._slots or self._is_done(position - self._slots)", "return True"),
    Mutant("chunks wait for one position too early", SlotScheduler, "is_free", "self._is_done(position - self._slots)",
           "self._is_done(position - self._slots - 1)"),
    Mutant("a round does not wait for the one before", SlotScheduler, "begin", "if self.is_free(position):",
           "if True:"),
    Mutant("a round's chunks wait for no result of the one before", SlotScheduler, "on_result",
           "elif position + self._slots < self.end:",
           "elif position + self._slots < next(one.end for one in self.rounds if position < one.end):"),
    Mutant("the last round's first chunk has the timer", SlotScheduler, "first_unacked", "in self.rounds:",
           "in reversed(self.rounds):", seed=103),
    Mutant("a finished round takes those before it along", RoundSequence, "finish", "rounds[0].retired",
           "rounds[0].begin <= round_.begin", seed=61),
    Mutant("results of the last round alone are taken", RoundSequence, "_in_flight",
           "if round_.epoch == epoch:", "if round_.epoch == epoch and round_ is self._scheduler.rounds[-1]:"),
    Mutant("a full window keeps back what all wait for", SlotScheduler, "take_next",
           "or self._free[0] <= self.first_unacked()", "", seed=483),
    Mutant("slots of a quorum do not stay in step", SlotScheduler, "on_result", "self._free_in_step()",
           "[heapq.heappush(self._free, p) for p in [position + self._slots] if p < self.end]", seed=113),
    Mutant("the window is larger than the slots", RoundSequence, "_room",
           "self._window - self._recovery.in_flight",
           "self._max_window + self._ticket.slots - self._recovery.in_flight"),
    Mutant("results of another epoch are taken", RoundSequence, "_in_flight", "if round_.epoch == epoch:", "if True:"),
    Mutant("results of another tag are taken", RoundSequence, "receive",
           "(header.version, header.job, header.tag) == (VERSION, self.ticket.job, self.ticket.tag)",
           "(header.version, header.job) == (VERSION, self.ticket.job)"),
    Mutant("results of another job are taken", RoundSequence, "receive",
           "(header.version, header.job, header.tag) == (VERSION, self.ticket.job, self.ticket.tag)",
           "(header.version, header.tag) == (VERSION, self.ticket.tag)"),
    Mutant("results of another version are taken", RoundSequence, "receive",
           "(header.version, header.job, header.tag) == (VERSION, self.ticket.job, self.ticket.tag)",
           "(header.job, header.tag) == (self.ticket.job, self.ticket.tag)", seed=76),
    Mutant("results of another operation are taken", RoundSequence, "_take_result", "header.op != round_.size.op or",
           "", seed=47),
    Mutant("chunks that were never sent are taken", RoundSequence, "_may_have_result",
           "return self._scheduler.is_free(position) and not self._link.membership.includes_own(bitmaps)",
           "return True"),
    Mutant("a result is taken twice", RoundSequence, "_take_result", "if round_.is_done(chunk):", "if False:"),
    Mutant("a duplicate passes for a new result", RoundSequence, "_take_result",
           "stats.duplicate_results += 1\n        return False", "stats.duplicate_results += 1\n        return True"),
    Mutant("a result of any size is taken", Membership, "contributors",
           "trailer_at != self._result_bytes and (needs_words or trailer_at != HEADER_BYTES)", "False", seed=66),
    Mutant("header-only results are taken for own chunks", Membership, "contributors",
           "(needs_words or trailer_at != HEADER_BYTES)", "trailer_at != HEADER_BYTES"),
    Mutant("header-only results are never taken", Membership, "contributors",
           "(needs_words or trailer_at != HEADER_BYTES)", "True"),
    Mutant("bitmaps of racks are read behind the words", Membership, "contributors",
           "self._trailer.unpack_from(datagram, trailer_at)",
           "self._trailer.unpack_from(bytes(datagram) + bytes(256), self._result_bytes)"),
    Mutant("a result of fewer workers than the quorum is taken", Membership, "contributors",
           "sum(workers.bit_count() for workers in bitmaps) >= self._quorum", "self._quorum"),
    Mutant("results are put into the wrong place", RoundState, "store_result",
           "self._turns.place(chunk)", "self._turns.place(self.chunks - 1 - chunk)"),
    Mutant("a shard is put where its chunk is in the round", RoundState, "store_result",
           "start = (index + ", "start = (chunk + "),
    Mutant("words of other shards are kept", RoundState, "store_result", "if self.needs_words(chunk):", "if True:"),
    Mutant("the owner of a chunk is the next worker", RoundState, "needs_words",
           "gets_words(self._link.ticket.worker,", "gets_words(self._link.ticket.worker - 1,"),
    Mutant("shards take turns of one packet", RoundState, "__init__", "in_order.reshape(*numbers.shape, packet_words)",
           "in_order.reshape(*numbers.shape, packet_words).swapaxes(0, 1).reshape(*numbers.shape, packet_words)"),
    Mutant("scattered rounds look like others", RoundState, "__init__", " | SCATTERED * scattered", ""),
    Mutant("gathered rounds look like others", RoundState, "__init__", " | GATHERED * gathered", ""),
    Mutant("gathered rounds do not bypass the switches", RoundState, "__init__", "self.bypasses = opening or gathered",
           "self.bypasses = opening"),
    Mutant("every packet of a gathered round has words", RoundState, "__init__",
           "numbers[ticket.worker] if gathered else None", "None"),
    Mutant("the packets of the next shard have words", RoundState, "__init__",
           "numbers[ticket.worker] if gathered",
           "numbers[(ticket.worker + 1) % shards] if gathered"),
    Mutant("a worker's own shard is missing in its result", RoundState, "__init__",
           'self._result[own_at : own_at + words.nbytes] = words.astype(">u4").tobytes()', "pass"),
    Mutant("a worker's own shard is the first of its result", RoundState, "__init__",
           "own_at = ticket.worker * len(self._result) // ticket.workers", "own_at = 0"),
    Mutant("gathered shards overwrite each other", RoundState, "store_result", "shard % self._result_shards *", "0 *"),
    Mutant("a header is enough for a gathered chunk", round_state, "gets_words",
           "owner != worker or bool(round_size & CERTIFIED)", "False"),
    Mutant("a header alone announces words", ChunkBatch, "__init__",
           'self._records["header"]["words"] = (self._sizes - HEADER_BYTES) // WORD_BYTES', "pass"),
    Mutant("kept packets of a gathered round have other sizes", ChunkBatch, "last",
           "self._sizes[last]", "self._sizes[:chunks]", seed=300),
    Mutant("all workers but the first read results differently", RoundState, "result", ".astype(np.uint32)",
           ".astype(np.uint32) + np.uint32(self._link.ticket.worker > 0)"),
    Mutant("contributors are not kept", RoundState, "store_result", "self._contributors[chunk] = bitmaps", "pass"),
    Mutant("a quorum's contributors are all workers", Membership, "contributors",
           "return bitmaps if sum", "return self.members if sum"),
    Mutant("no retransmissions", LossDetector, "detect_loss",
           "timed is not None and probe_position not in lost:", "timed is not None and False:"),
    Mutant("what was sent first has the timer, not what is first", RoundSequence, "_probe_position",
           "return self._scheduler.first_unacked()",
           "return min(((sent.first_on_link, one) for path in self._recovery._paths"
           " for one, sent in path.in_flight.items()), default=(0, self._scheduler.first_unacked()))[1]", seed=12656),
    Mutant("only chunks of the first server have a timer", LossDetector, "detect_loss",
           "timed = self.sent(probe_position)", "timed = self._paths[0].in_flight.get(probe_position)"),
    Mutant("the window of every server is as large as the link's", LossDetector, "in_flight",
           "sum([len(path.in_flight) for path in self._paths])", "len(self._paths[0].in_flight)"),
    Mutant("results are looked for among what the first server has", LossDetector, "on_ack_received",
           "recovery = self._path(position)", "recovery = self._paths[0]", seed=133),
    Mutant("retransmissions are not marked", RoundSequence, "_retransmissions",
           "flags = Flag.RETRANSMISSION |", "flags = 0 |"),
    Mutant("retransmissions are not counted", RoundSequence, "_retransmissions", "retransmission=True",
           "retransmission=False"),
    Mutant("nothing ever goes past the switches", SentChunk, "try_again", "return self.bypass or",
           "return False and", seed=61),
    Mutant("a request to bypass is ignored", RoundSequence, "_take_pending",
           "bypass = bool(header.flags & Flag.BYPASS)", "bypass = False"),
    Mutant("a worker told of a conflict leaves without an answer", RoundSequence, "_raise_mismatch",
           "self._final_datagrams = self._for_server(own, header.chunk)", "pass", seed=7900),
    Mutant("a worker with the result never retransmits", RoundSequence, "_take_pending",
           "self._retransmit_buffer.request(", "bool("),
    Mutant("the retransmit buffer ends with the round", RetransmitBuffer, "end",
           "self._num_positions += len(packets.batch)", "self._rounds.pop(epoch); return"),
    Mutant("the retransmit buffer ends where the next round begins", RetransmitBuffer, "begin",
           "self._rounds[epoch] = _RoundPackets(batch)", "self._rounds = {epoch: _RoundPackets(batch)}"),
    Mutant("the retransmit buffer returns the wrong chunk", RetransmitBuffer, "due",
           "datagrams.append(packets.batch.packet(chunk - packets.first))",
           "datagrams.append(packets.batch.packet(0))", seed=27),
    Mutant("the retransmit buffer marks no retransmissions", RetransmitBuffer, "due", "Flag.RETRANSMISSION |", "0 |"),
    Mutant("a pending answer that has my contribution makes me send", Membership, "has_own",
           "return bool(pending.workers >> self._bit & 1)", "return not pending.workers >> self._bit & 1"),
    Mutant("pending answers of racks are read as workers", Membership, "has_own", "if pending.flags & _UPPER:",
           "if False:"),
    Mutant("being too late is not noticed", RoundSequence, "_take_pending", "elif self.ticket.quorum:",
           "elif False:"),
    Mutant("a mismatch names the worker itself", round_sequence, "mismatch_error",
           "RoundSize.from_wire(header.op, header.racks)", "RoundSize.from_wire(header.op, header.workers)"),
    Mutant("a conflict is not noticed", RoundSequence, "receive", "header.kind == Kind.CONFLICT and", "False and"),
    Mutant("all slots are the first server's", simulation, "server_of", "% servers", "% 1"),
    Mutant("shadow sets have servers of their own", simulation, "server_of", "% MAX_SLOTS % servers", "% servers"),
    Mutant("slots are avoided for nothing", SlotBackoff, "on_result",
           "if collided:\n            self._backoffs[slot] = _Backoff(1, 1)", "self._backoffs[slot] = _Backoff(1, 1)"),
)  # fmt: skip

MUTANTS = (*SLOT_LOGIC, *SWITCH, *SERVER, *WORKER)
