# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Use-def analysis: the fields that a program reads and writes.

A metadata field is *block-local* if every read follows a write in the same basic block. Its value never leaves the
block. Forward substitution may remove such a field, and packets need no initial value for it.
"""

from __future__ import annotations

from collections.abc import Iterable

from lanesum_switch.bmv2 import ir
from lanesum_switch.compiler.structuring import blocks_of, convert_ifs

# Number of the argument that a primitive writes; it reads all other arguments.
WRITTEN_ARGUMENT = {
    "assign": 0,
    "modify_field": 0,
    "assign_VL": 0,
    "register_read": 0,
    "modify_field_with_hash_based_offset": 0,
    "modify_field_rng_uniform": 0,
    "execute_meter": 2,
    "hash_bytes": 0,
    "ones_complement": 0,
}

Location = ir.FieldRef | str  # a field, or the name of a register array


class FieldUsage:
    """Reads and writes of a whole program.

    Attributes:
        read, written: fields that the program reads and writes.
        exposed: fields that are read where no write of the same basic block precedes.
        written_in_egress: fields that actions of egress write.
        ops: names of the primitives that the program uses.
        bodies: body of each action after if-conversion, by the action's number.
    """

    def __init__(self, program: ir.Program) -> None:
        self.program = program
        self.read: set[ir.FieldRef] = set()
        self.written: set[ir.FieldRef] = set()
        self.exposed: set[ir.FieldRef] = set()
        self.written_in_egress: set[ir.FieldRef] = set()
        self.ops: set[str] = set()
        self.bodies = {number: convert_ifs(action.body) for number, action in program.actions.items()}
        # By the expression's id, with the expression itself: its id is not given to another one.
        self._locations: dict[int, tuple[ir.Expr, frozenset[Location]]] = {}
        self._collect()

    def block_local(self, ref: ir.FieldRef) -> bool:
        """Return True for metadata whose value never leaves the basic block that wrote it."""
        return ref not in self.exposed and self.program.instances[ref.header].metadata

    def actions_of(self, pipeline: ir.Pipeline) -> list[ir.Action]:
        """Return the actions of a pipeline, each once."""
        found: dict[int, ir.Action] = {}
        for node in pipeline.nodes.values():
            if isinstance(node, ir.TableNode):
                found.update((a.id, a) for a in node.actions)
                if node.default_action is not None:
                    found[node.default_action.id] = node.default_action
            elif isinstance(node, ir.ActionNode):
                found[node.action.id] = node.action
        return list(found.values())

    def fields_in(self, expr: ir.Expr) -> list[ir.FieldRef]:
        """Return every field that the evaluation of an expression may read."""
        found: list[ir.FieldRef] = []
        for node in ir.walk(expr):
            if isinstance(node, ir.FieldRef):
                found.append(node)
            elif isinstance(node, ir.AccessField):
                for header in self.headers_of(node.header):
                    found.append(ir.FieldRef(header, self.program.instances[header].type.fields[node.index].name))
            elif isinstance(node, ir.LastField):
                found += [ir.FieldRef(h, node.name) for h in self.program.stacks[node.stack].elements]
            elif isinstance(node, ir.LastUnionField):
                for union in self.program.union_stacks[node.stack].elements:
                    instance = self.program.unions[union]
                    found.append(ir.FieldRef(instance.headers[instance.members.index(node.member)], node.name))
        return found

    def locations_in(self, expr: ir.Expr) -> frozenset[Location]:
        """Return every field and register array that the evaluation of an expression may read."""
        known = self._locations.get(id(expr))
        if known is None:
            arrays = [node.array for node in ir.walk(expr) if isinstance(node, ir.RegisterCell)]
            known = self._locations[id(expr)] = (expr, frozenset((*self.fields_in(expr), *arrays)))
        return known[1]

    def headers_of(self, expr: ir.Expr) -> list[str]:
        """Return the instances that a header expression may denote."""
        match expr:
            case ir.HeaderRef(name):
                return [name]
            case ir.StackElement(stack, _):
                return list(self.program.stacks[stack].elements)
            case ir.AccessUnionHeader(union, index):
                return [self.program.unions[u].headers[index] for u in self.unions_of(union)]
        return []

    def unions_of(self, expr: ir.Expr) -> list[str]:
        """Return the unions that a union expression may denote."""
        match expr:
            case ir.UnionRef(name):
                return [name]
            case ir.UnionStackElement(stack, _) | ir.UnionStackRef(stack):
                return list(self.program.union_stacks[stack].elements)
        return []

    def primitive_effects(self, primitive: ir.Primitive) -> tuple[list[ir.FieldRef], list[ir.FieldRef]]:
        """Return (fields read, fields written); operations on whole headers are left out."""
        target = WRITTEN_ARGUMENT.get(primitive.op)
        reads: list[ir.FieldRef] = []
        writes: list[ir.FieldRef] = []
        for i, arg in enumerate(primitive.args):
            if i == target:
                writes += self.fields_in(arg) if not isinstance(arg, ir.AccessField) else self._lvalue(arg)
                if isinstance(arg, ir.AccessField):
                    reads += self.fields_in(arg.header)
            else:
                reads += self.fields_in(arg)
        for arg in primitive.args:
            if isinstance(arg, ir.Named) and arg.kind == "calculation":
                for part in self.program.calculations[arg.name].inputs:
                    if part.value is not None:
                        reads += self.fields_in(part.value)
        if primitive.op in ("assign_header", "copy_header"):
            # A copy of a metadata struct copies every field (headers are copied by segments).
            for arg, found in ((primitive.args[0], writes), (primitive.args[1], reads)):
                if isinstance(arg, ir.HeaderRef) and self.program.instances[arg.name].metadata:
                    found += [ir.FieldRef(arg.name, f.name) for f in self.program.instances[arg.name].type.fields]
        if primitive.op == "mark_to_drop" or primitive.op == "drop":
            writes += self.drop_targets(primitive)
        return reads, writes

    def drop_targets(self, primitive: ir.Primitive) -> list[ir.FieldRef]:
        """Return the egress_spec and mcast_grp that a drop sets; its argument may be a copy of standard metadata."""
        if primitive.args and isinstance(primitive.args[0], ir.HeaderRef):
            instance = self.program.instances[primitive.args[0].name]
            names = {f.name for f in instance.type.fields}
            return [ir.FieldRef(instance.name, name) for name in ("egress_spec", "mcast_grp") if name in names]
        standard = ("standard_metadata.egress_spec", "intrinsic_metadata.mcast_grp")
        return [ref for ref in map(self.program.standard, standard) if ref is not None]

    def _lvalue(self, expr: ir.AccessField) -> list[ir.FieldRef]:
        return [
            ir.FieldRef(h, self.program.instances[h].type.fields[expr.index].name) for h in self.headers_of(expr.header)
        ]

    def _collect(self) -> None:
        program = self.program
        for body in self.bodies.values():
            for start, end in blocks_of(body):
                self._block(body[start:end])
        for primitive in program.deparser_calls:
            self._block([primitive])
        for state in program.parser.states.values():
            self._state(state)
        for pipeline in (program.ingress, program.egress):
            for node in pipeline.nodes.values():
                self._node(node)
        for profile in program.profiles.values():
            if profile.selector is not None:
                for selected in profile.selector.inputs:
                    self._expose(self.fields_in(selected))
        for checksum in program.checksums:
            if checksum.condition is not None:
                self._expose(self.fields_in(checksum.condition))
            if checksum.calculation is not None:
                for part in program.calculations[checksum.calculation].inputs:
                    if part.value is not None:
                        self._expose(self.fields_in(part.value))
            if checksum.verify:
                self._expose([checksum.target])
            if checksum.update:
                self.written.add(checksum.target)
        for fields in [*program.field_lists.values(), *program.learn_lists.values()]:
            refs = [f for f in fields.fields if isinstance(f, ir.FieldRef)]
            self._expose(refs)
        if self.ops & {"clone_ingress_pkt_to_egress", "clone_egress_pkt_to_egress", "resubmit", "recirculate"}:
            for fields in program.field_lists.values():
                self.written.update(f for f in fields.fields if isinstance(f, ir.FieldRef))
        for name in ("standard_metadata.egress_spec", "intrinsic_metadata.mcast_grp"):
            ref = program.standard(name)
            if ref is not None:
                self._expose([ref])
        self._expose(program.outputs)
        self.written.update(program.inputs)
        for meter in program.meters.values():
            if meter.result is not None:
                self.written.add(meter.result)
        for action in self.actions_of(program.egress):
            for primitive in action.body:
                self.written_in_egress.update(self.primitive_effects(primitive)[1])

    def _expose(self, refs: Iterable[ir.FieldRef]) -> None:
        for ref in refs:
            self.read.add(ref)
            self.exposed.add(ref)

    def _block(self, primitives: Iterable[ir.Primitive]) -> None:
        fresh: set[ir.FieldRef] = set()
        for primitive in primitives:
            self.ops.add(primitive.op)
            reads, writes = self.primitive_effects(primitive)
            for ref in reads:
                self.read.add(ref)
                # The code of the test that ends a block is not among the block's statements.
                if ref not in fresh or primitive.op == "_jump_if_zero":
                    self.exposed.add(ref)
            self.written.update(writes)
            # A meter or a random number may leave its target unchanged.
            if len(writes) == 1 and primitive.op not in ("execute_meter", "modify_field_rng_uniform"):
                fresh.add(writes[0])

    def _state(self, state: ir.ParserState) -> None:
        for op in state.ops:
            match op:
                case ir.Extract(_, length):
                    if length is not None:
                        self._expose(self.fields_in(length))
                case ir.SetField(target, value):
                    self._expose(self.fields_in(value))
                    self.written.update(self.fields_in(target))
                case ir.Verify(condition, error):
                    self._expose(self.fields_in(condition) + self.fields_in(error))
                case ir.Advance(bits):
                    self._expose(self.fields_in(bits))
                case ir.PrimitiveCall(primitive):
                    self.ops.add(primitive.op)
                    reads, writes = self.primitive_effects(primitive)
                    self._expose(reads)
                    self.written.update(writes)
        for key, _ in state.keys:
            self._expose(self.fields_in(key))

    def _node(self, node: ir.ControlNode) -> None:
        if isinstance(node, ir.ConditionNode):
            self._expose(self.fields_in(node.condition))
        elif isinstance(node, ir.TableNode):
            self._expose(key.source for key in node.keys)
