# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The packet function of v1model programs, with the semantics of BMv2's simple_switch.

docs/simple_switch.md of p4lang/behavioral-model. Shape of the generated code::

    def run(port, frame, out, effects, origin):
        parser; checksum verification
        ingress                      (skipped for ingress clones)
        clone, digest, resubmit      (only what the program uses)
        headers that egress cannot change
        for each copy: egress; checksum update; deparse; append to out

``origin`` is None for a packet from a port. Otherwise it is (instance type, field list id, its values, replicas).
Replicas are None for resubmitted and recirculated packets; those of an ingress clone are its targets.
``effects`` collects digests, and (port, frame, origin) of resubmitted and recirculated packets.
"""

from __future__ import annotations

from collections.abc import Iterator

from lanesum_switch.bmv2 import ir
from lanesum_switch.compiler.actions import Actions
from lanesum_switch.compiler.calculations import short_form
from lanesum_switch.compiler.context import Context
from lanesum_switch.compiler.control_blocks import ControlBlockWriter
from lanesum_switch.compiler.expressions import Scope
from lanesum_switch.compiler.layout import Value
from lanesum_switch.compiler.packet_function import PacketFunction, assigned_names, deparse, identifiers
from lanesum_switch.compiler.parser import ParserWriter
from lanesum_switch.compiler.python_source import SourceWriter

# Values of standard_metadata.instance_type in simple_switch.
NORMAL, INGRESS_CLONE, EGRESS_CLONE, COALESCED, RECIRCULATED, REPLICATED, RESUBMITTED = range(7)

_MAX_COPIES = 4096  # copies of one packet in one egress run, where the program clones in egress

_METADATA = {
    "instance_type": "standard_metadata.instance_type",
    "ingress_port": "standard_metadata.ingress_port",
    "egress_port": "standard_metadata.egress_port",
    "egress_spec": "standard_metadata.egress_spec",
    "packet_length": "standard_metadata.packet_length",
    "parser_error": "standard_metadata.parser_error",
    "checksum_error": "standard_metadata.checksum_error",
    "mcast_grp": "intrinsic_metadata.mcast_grp",
    "egress_rid": "intrinsic_metadata.egress_rid",
    "ingress_time": "intrinsic_metadata.ingress_global_timestamp",
    "egress_time": "intrinsic_metadata.egress_global_timestamp",
    "enqueue_time": "queueing_metadata.enq_timestamp",
    "enqueue_depth": "queueing_metadata.enq_qdepth",
    "dequeue_delta": "queueing_metadata.deq_timedelta",
    "dequeue_depth": "queueing_metadata.deq_qdepth",
}
# As in BMv2, the limit belongs to one copy: replicas, clones and recirculated packets begin without one.
_NO_TRUNCATION = f"truncated = {1 << 32}"
_QUEUE_DEPTH_BITS = 19
_QUEUE_DEPTH = f"min(queue_depth(eport), {(1 << _QUEUE_DEPTH_BITS) - 1})"


class V1ModelFunction(PacketFunction):
    """Writes ``run`` for one program."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.actions = Actions(context)
        ops = context.usage.ops
        self.clones_ingress = "clone_ingress_pkt_to_egress" in ops
        self.clones_egress = "clone_egress_pkt_to_egress" in ops
        self.resubmits = "resubmit" in ops
        self.recirculates = "recirculate" in ops
        ingress = [p for action in context.usage.actions_of(self.program.ingress) for p in action.body]
        self.recirculates_ingress = any(primitive.op == "recirculate" for primitive in ingress)
        rid = self.program.standard(_METADATA["egress_rid"])
        self.sets_rid = any(rid in context.usage.primitive_effects(primitive)[1] for primitive in ingress)
        self.digests = "generate_digest" in ops
        self.truncates = "truncate" in ops

    def write(self) -> str:
        """Return the source of the function."""
        context = self.context
        egress = self.section(self._egress_body, depth=2)
        short_forms: dict[str, str] = {}
        self.actions.calculations.short_forms = short_forms
        closing = self.section(self._closing, depth=2)
        self.actions.calculations.short_forms = None
        verify = self.section(self._front, depth=1)
        ingress = self.section(self._ingress, depth=2 if self.clones_ingress else 1)
        after = self.section(lambda: self._after_ingress(egress, closing, short_forms), depth=1)
        used = identifiers(verify + ingress + after)
        writer = SourceWriter()
        with writer.block("def run(port, frame, out, effects, origin):"):
            writer.line("frame_length = len(frame)")
            self.initialize(writer, used)
        lines = [*writer.lines, *verify]
        if self.clones_ingress:
            lines.append(" if replicas is None:")
        lines += ingress + after
        context.writer = writer
        return "\n".join(lines) + "\n"

    def _field(self, name: str) -> ir.FieldRef | None:
        """Return the program's field for a value of the architecture, or None if the program does not read it."""
        ref = self.program.standard(_METADATA[name])
        return ref if ref is not None and ref in self.usage.read else None

    def _put(self, name: str, code: str, bits: int = 64) -> None:
        ref = self._field(name)
        if ref is not None:
            self.context.writer.line(self.layout.store(ref, Value(code, 0, (1 << bits) - 1)))

    def _local(self, name: str) -> str | None:
        ref = self.program.standard(_METADATA[name])
        return None if ref is None else self.layout.field_local(ref.header, ref.name)

    def _front(self) -> None:
        writer = self.context.writer
        writer.line(f"parser_error = {self.program.errors.get('NoError', 0)}")
        if self.context.tracks_length:
            writer.line("length = frame_length")
        if self.truncates:
            writer.line(_NO_TRUNCATION)
        self._put("ingress_port", "port", 32)
        self._put("packet_length", "frame_length", 31)
        if self._field("ingress_time") is not None:
            self._put("ingress_time", "microseconds()", 48)
        special = self.clones_ingress or self.resubmits or self.recirculates
        if special:
            if self.clones_ingress:
                writer.line("replicas = None")
            with writer.block("if origin is not None:"):
                writer.line("instance_type, list_id, values, replicas = origin")
                with writer.block("if replicas is None:"):
                    self._restore("values", "list_id")
                    self._put("packet_length", "frame_length", 31)
                    self._put("instance_type", "instance_type", 8)
        ParserWriter(self.context, self.actions).emit()
        self._put("parser_error", "parser_error", 31)
        self._verify_checksums()
        if self.clones_ingress:
            with writer.block("if replicas is not None:"):
                self._restore("values", "list_id")

    def _field_lists(self) -> Iterator[tuple[int, list[ir.FieldRef]]]:
        """Yield number and fields of each field list that stores values."""
        for number, fields in self.program.field_lists.items():
            refs = [f for f in fields.fields if isinstance(f, ir.FieldRef) and f.name != ir.VALID]
            if refs:
                yield number, refs

    def _restore(self, values: str, list_id: str) -> None:
        """Write code that zeroes all metadata and restores the values of a field list."""
        writer = self.context.writer
        metadata = self.metadata_locals()
        if metadata:
            writer.line(f"{' = '.join(metadata)} = 0")
        for number, refs in self._field_lists():
            with writer.block(f"if {list_id} == {number}:"):
                for position, ref in enumerate(refs):
                    value = Value.of_field(f"{values}[{position}]", self.program.field_type(ref), True)
                    writer.line(self.layout.store(ref, value))

    def _values(self, list_id: str, target: str) -> None:
        """Write code that stores the values of a field list in a local."""
        writer = self.context.writer
        writer.line(f"{target} = ()")
        for number, refs in self._field_lists():
            codes = ", ".join(self.layout.read(ref).code for ref in refs)
            writer.line(f"if {list_id} == {number}: {target} = ({codes},)")

    def _verify_checksums(self) -> None:
        field = self._field("checksum_error")
        if field is None:
            return
        writer = self.context.writer
        checks = [c for c in self.program.checksums if c.verify]
        for checksum in checks:
            conditions = [self.layout.valid(checksum.target.header)]
            if checksum.condition is not None:
                conditions.append(f"({self.context.expressions.condition(checksum.condition, Scope())})")
            if self.program.instances[checksum.target.header].metadata:
                conditions = conditions[1:] or ["True"]
            with writer.block(f"if {' and '.join(conditions)}:"):
                result = self.actions.calculations.of_checksum(checksum)
                target = self.layout.unsigned(checksum.target)
                with writer.block(f"if {result} != {target}:"):
                    self._put("checksum_error", "1", 1)

    def _reset_flags(self) -> None:
        writer = self.context.writer
        if self.clones_ingress or self.clones_egress:
            writer.line("clone_session = None")
        if self.resubmits:
            writer.line("resubmit_list = 0")
        if self.recirculates:
            writer.line("recirculate_list = 0")
        if self.digests:
            writer.line("digest_list = 0")

    def _ingress(self) -> None:
        writer = self.context.writer
        self._reset_flags()
        ControlBlockWriter(self.context, self.actions, self.program.ingress).emit()
        if self.clones_ingress:
            with writer.block("if clone_session is not None:"):
                self._values("clone_list", "values")
                writer.line("first_clone = len(out)")
                writer.line(
                    f"run(port, frame, out, effects, "
                    f"({INGRESS_CLONE}, clone_list, values, clone_targets(clone_session)))"
                )
                writer.line("clone_cut = clone_length(clone_session)")
                writer.line(
                    "if clone_cut: out[first_clone:] = [PacketOut(p, d[:clone_cut]) for p, d in out[first_clone:]]"
                )
        if self.digests:
            self._digest()
        if self.resubmits:
            with writer.block("if resubmit_list:"):
                self._values("resubmit_list", "values")
                writer.line(f"effects.append((0, frame, ({RESUBMITTED}, resubmit_list, values, None)))")
                writer.line("return")
        multicast = self._local("mcast_grp")
        written = multicast is not None and self.program.standard(_METADATA["mcast_grp"]) in self.usage.written
        spec = self._local("egress_spec") or "0"
        if written:
            with writer.block(f"if {multicast}:"):
                writer.line(f"targets = groups.get({multicast}, ())")
                writer.line(f"copy_type = {REPLICATED}")
                if self.truncates:
                    writer.line(_NO_TRUNCATION)
                if self.recirculates_ingress:
                    writer.line("recirculate_list = 0")
            header = f"elif {spec} == {self.context.drop_port}:"
        else:
            header = f"if {spec} == {self.context.drop_port}:"
        with writer.block(header):
            writer.line("return")
        with writer.block("else:"):
            rid = self._local("egress_rid") if self.sets_rid else 0
            writer.line(f"targets = (({spec}, {rid}),)")
            writer.line("copy_type = 0")

    def _digest(self) -> None:
        writer = self.context.writer
        for number, fields in self.program.learn_lists.items():
            codes = [self.layout.unsigned(f) if isinstance(f, ir.FieldRef) else str(f.value) for f in fields.fields]
            with writer.block(f"if digest_list == {number}:"):
                writer.line(f"effects.append(({fields.name!r}, ({''.join(c + ', ' for c in codes)}), None))")

    def _after_ingress(self, egress: list[str], closing: list[str], short_forms: dict[str, str]) -> None:
        """Write the loop over copies: egress, then checksums and deparser."""
        writer = self.context.writer
        if self.clones_ingress:
            with writer.block("else:"):
                writer.line("targets = replicas")
                writer.line(f"copy_type = {INGRESS_CLONE}")
                if self.recirculates_ingress:
                    writer.line("recirculate_list = 0")
        if self.recirculates_ingress:
            writer.line("asked_in_ingress = recirculate_list")
        state = self._state_locals()
        changed = sorted(assigned_names(egress + closing) & state)
        hoisted, final = deparse(self.context, set(changed))
        for line in hoisted:
            writer.line(line)
        saved = [f"saved_{name}" for name in changed]
        comma = "," if len(changed) == 1 else ""
        items = "targets"
        if self.clones_egress:
            items = "copies"
            writer.line("copies = [(eport, rid, copy_type, None) for eport, rid in targets]")
        restore = bool(changed)
        if restore:
            if self.clones_egress:
                writer.line("several = True")
            else:
                writer.line("several = len(targets) > 1")
            with writer.block("if several:"):
                writer.line(f"{', '.join(saved)}{comma} = {', '.join(changed)}{comma}")
        for local, short in short_forms.items():
            if local in changed or not restore:
                egress.append(f"  {short} = {local}")
            else:
                writer.line(f"{short} = {short_form(local)} if several else {local}")
        fields = "eport, rid, copy_type, snapshot" if self.clones_egress else "eport, rid"
        with writer.block(f"for {fields} in {items}:"):
            if restore:
                with writer.block("if several:"):
                    writer.line(f"{', '.join(changed)}{comma} = {', '.join(saved)}{comma}")
            if self.clones_egress:
                self._restore_snapshot()
            writer.lines += egress + closing
            for line in final:
                writer.line(line)
            if self.clones_egress:
                writer.line("if clone_cut: data = data[:clone_cut]")
            if self.recirculates:
                with writer.block("if recirculate_list:"):
                    self._values("recirculate_list", "values")
                    writer.line(f"effects.append((0, data, ({RECIRCULATED}, recirculate_list, values, None)))")
                    writer.line("continue")
            if self.truncates:
                writer.line("data = data[:truncated]")
            writer.line("sent[eport] += 1")
            writer.line("out.append(new_tuple(PacketOut, (eport, data)))")

    def _state_locals(self) -> set[str]:
        """Return the locals that carry a packet's state from ingress to egress."""
        state = set(self.metadata_locals()) | set(self.flags()) | set(self.stack_indices())
        state |= {name for name, _ in self.header_zeros()}
        state |= {"length", "truncated"}
        # The code of every copy writes these first.
        for name in ("egress_port", "egress_rid", "egress_spec", "instance_type", "packet_length", "egress_time"):
            state.discard(self._local(name) or "")
        return state

    def _egress_body(self) -> None:
        """Write the code that runs for each copy, up to the update of checksums."""
        writer = self.context.writer
        program = self.program
        self._put("egress_port", "eport", 32)
        self._put("egress_rid", "rid", 32)
        self._put("egress_spec", "0", 1)
        self._put("instance_type", "copy_type", 8)
        self._put("packet_length", "length" if self.context.tracks_length else "frame_length", 31)
        for name in ("egress_time", "enqueue_time"):
            if self._field(name) is not None:
                self._put(name, "microseconds()", 64)
        # A packet is never queued here: both depths are the present one.
        depth, bits = ("0", 1) if self.context.runtime.queue_depth is None else (_QUEUE_DEPTH, _QUEUE_DEPTH_BITS)
        for name in ("enqueue_depth", "dequeue_depth"):
            self._put(name, depth, bits)
        self._put("dequeue_delta", "0", 1)
        if program.egress.initial is not None:
            if self.clones_egress or self.clones_ingress:
                writer.line("clone_session = None")
            self._begin_recirculation()
            ControlBlockWriter(self.context, self.actions, program.egress).emit()
            if self.clones_egress:
                self._egress_clone()
            spec = program.standard(_METADATA["egress_spec"])
            if spec in self.usage.written_in_egress:
                with writer.block(f"if {self._local('egress_spec')} == {self.context.drop_port}:"):
                    writer.line("continue")
        else:
            self._begin_recirculation()

    def _begin_recirculation(self) -> None:
        """Write the initial request of a copy: that of ingress, but not for clones of egress."""
        if not self.recirculates:
            return
        asked = "asked_in_ingress" if self.recirculates_ingress else "0"
        if self.recirculates_ingress and self.clones_egress:
            asked += " if snapshot is None else 0"
        self.context.writer.line(f"recirculate_list = {asked}")

    def _closing(self) -> None:
        """Write the code between egress and deparser."""
        self.actions.calculations.update_checksums()
        for primitive in self.program.deparser_calls:
            self.actions.call(primitive)

    def _snapshot_locals(self) -> list[str]:
        return [n for n, _ in self.header_zeros()] + self.flags() + self.stack_indices()

    def _egress_clone(self) -> None:
        writer = self.context.writer
        with writer.block(f"if clone_session is not None and len(copies) < {_MAX_COPIES}:"):
            self._values("clone_list", "values")
            snapshot = "".join(f"{name}, " for name in self._snapshot_locals())
            writer.line(f"snapshot = (({snapshot}), clone_list, values, clone_length(clone_session))")
            with writer.block("for clone_port, clone_rid in clone_targets(clone_session):"):
                writer.line(f"copies.append((clone_port, clone_rid, {EGRESS_CLONE}, snapshot))")

    def _restore_snapshot(self) -> None:
        writer = self.context.writer
        writer.line("clone_cut = 0")
        with writer.block("if snapshot is not None:"):
            names = "".join(f"{name}, " for name in self._snapshot_locals())
            writer.line(f"{f'({names})' if names else '_'}, list_id, values, clone_cut = snapshot")
            self._restore("values", "list_id")
            if self.truncates:
                writer.line(_NO_TRUNCATION)
