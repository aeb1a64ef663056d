# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Loading of simplified P4 text as the two halves of a pipe."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

from lanesum_fabric.tofino.chips import TOFINO_1, TOFINO_2, Chip
from lanesum_switch.api import InvalidArgumentError, UnsupportedProgramError
from lanesum_switch.bmv2 import ir
from lanesum_switch.bmv2.fields import check_text
from lanesum_switch.compiler.python_source import typed_refusal
from lanesum_switch.tna import syntax as p4
from lanesum_switch.tna.body import Binding
from lanesum_switch.tna.controls import Control
from lanesum_switch.tna.externs import PacketOutExtern, instantiate
from lanesum_switch.tna.parse import parse
from lanesum_switch.tna.parsers import packet_in, translate_parser
from lanesum_switch.tna.storage import Gress, HeaderVar, Leaf, Side, Storage, StructVar

_BLOCKS = 3  # parser, control, deparser
_ERRORS = {"NoError": 0, "NoMatch": 1, "PacketTooShort": 2, "ParserTimeout": 1, "ParserInvalidArgument": 1}

_INTRINSIC = {
    "ingress": (
        "ingress_intrinsic_metadata_t",
        "ingress_intrinsic_metadata_for_tm_t",
        "ingress_intrinsic_metadata_from_parser_t",
        "ingress_intrinsic_metadata_for_deparser_t",
    ),
    "egress": (
        "egress_intrinsic_metadata_t",
        "egress_intrinsic_metadata_from_parser_t",
        "egress_intrinsic_metadata_for_deparser_t",
        "egress_intrinsic_metadata_for_output_port_t",
    ),
}
FROM_PARSER = "{}_intrinsic_metadata_from_parser_t"
FOR_DEPARSER = "{}_intrinsic_metadata_for_deparser_t"
FOR_TM = "ingress_intrinsic_metadata_for_tm_t"
_TM_OUTPUTS = ("ucast_egress_port", "bypass_egress", "copy_to_cpu", "mcast_grp_a", "mcast_grp_b", "qid")
# The control plane cannot set the ports and nodes that they exclude.
_UNSUPPORTED_TM = ("level1_exclusion_id", "level2_exclusion_id", "deflect_on_drop")


@dataclass(frozen=True, slots=True)
class Half:
    """Ingress or egress. ``hashes``: functions of the program's hashes, by name; ``initial``: register cells.

    ``metadata``: type of the intrinsic metadata in front of each packet.
    """

    side: Side
    program: ir.Program
    metadata: ir.HeaderType
    hashes: dict[str, Callable[[bytes], int]]
    initial: dict[str, int]
    written_flags: dict[ir.FieldRef, ir.FieldRef]


@dataclass(frozen=True, slots=True)
class TnaProgram:
    chip: Chip
    halves: tuple[Half, Half]  # ingress, egress

    @property
    def tables(self) -> list[ir.TableNode]:
        """Tables of both halves."""
        return [table for half in self.halves for table in half.program.tables]


def chip_of(architecture: str) -> Chip:
    """Return the chip of a program. Raises UnsupportedProgramError."""
    for chip in (TOFINO_1, TOFINO_2):
        if chip.architecture == architecture:
            return chip
    raise UnsupportedProgramError(
        f"Unsupported: architecture {architecture!r}; this switch runs TNA and T2NA.",
        "Print the program with p4c-barefoot --top4 FrontEndLast --doNotEmitIncludes.",
    )


@functools.lru_cache(maxsize=2)
def load_text(config: bytes) -> TnaProgram:
    """Parse and translate a program. The last two are kept, because a push reads one twice; nothing changes them.

    Raises InvalidArgumentError for invalid text, and UnsupportedProgramError for unsupported constructs.
    """
    check_text(config)
    try:
        decoded = config.decode()
    except UnicodeDecodeError as error:
        raise InvalidArgumentError("The pipeline is not text: it is no simplified P4.") from error
    with typed_refusal():
        return _translate(parse(decoded))


def _translate(text: p4.ProgramSource) -> TnaProgram:
    chip = chip_of(text.architecture)
    blocks = _pipeline(text)
    halves = _half("ingress", text, chip, blocks[:_BLOCKS]), _half("egress", text, chip, blocks[_BLOCKS:])
    return TnaProgram(chip, halves)


def _pipeline(text: p4.ProgramSource) -> list[p4.BlockDeclaration]:
    """Return the six blocks of the pipeline that ``main`` runs in all pipes."""
    main = text.instances.get("main")
    if main is None or main.type.name != "Switch" or len(main.args) != 1:
        raise UnsupportedProgramError("Unsupported: a program whose main is not Switch with one pipeline.")
    first = main.args[0]
    pipeline = text.instances.get(first.name) if isinstance(first, p4.Path) else None
    args = pipeline.args if pipeline is not None else ()
    names = [
        arg.function.name for arg in args if isinstance(arg, p4.CallExpression) and isinstance(arg.function, p4.Path)
    ]
    if pipeline is None or pipeline.type.name != "Pipeline" or len(names) != 2 * _BLOCKS:
        raise UnsupportedProgramError("Unsupported: a pipeline that is not Pipeline of six blocks.")
    return [text.blocks[name] for name in names]


def _half(side: Side, text: p4.ProgramSource, chip: Chip, blocks: list[p4.BlockDeclaration]) -> Half:
    program = ir.Program(f"{side}")
    program.errors = dict(_ERRORS)
    storage = Storage(text, program)
    gress = Gress(side, text, chip, program, storage)
    for name in _INTRINSIC[side]:
        if name in text.records:
            gress.intrinsic[name] = storage.declare(name, p4.NamedType(name))
    deparser = FOR_DEPARSER.format(side)
    outputs = [_field(gress, deparser, "drop_ctl")]
    if side == "ingress":
        outputs += [_field(gress, FOR_TM, name) for name in _TM_OUTPUTS]
        outputs.append(gress.watch(_field(gress, FOR_TM, "ucast_egress_port")))
    if "mirror_io_select" in dict(text.records[deparser].fields):
        outputs.append(_field(gress, deparser, "mirror_io_select"))
    parser, control, deparse = blocks
    shared: dict[str, Binding] = {}
    _instances(gress, list(text.instances.values()), shared)
    scope = _scope(gress, parser, shared)
    scope |= {v.name: storage.declare(v.name, v.type) for v in parser.variables}
    _instances(gress, parser.instances, scope)
    translate_parser(gress, parser, scope)
    program.ingress = _control(gress, control, shared)
    program.egress = _control(gress, deparse, shared)
    program.inputs = tuple(_field(gress, FROM_PARSER.format(side), name) for name in ("global_tstamp", "parser_err"))
    program.outputs = tuple(outputs)
    storage.finish()
    written = {p.args[0] for a in program.actions.values() for p in a.body if p.op == "assign"}
    refused = [n for n in _UNSUPPORTED_TM if side == "ingress" and ir.FieldRef(FOR_TM, n) in written]
    if refused:
        raise UnsupportedProgramError(f"Unsupported: writing {', '.join(refused)}: no P4Runtime entity configures it.")
    metadata = program.instances[f"{side}_intrinsic_metadata_t"].type
    return Half(side, program, metadata, gress.hashes, gress.initial, gress.written_flags)


def _field(gress: Gress, name: str, field: str) -> ir.FieldRef:
    place = gress.intrinsic[name]
    assert isinstance(place, HeaderVar | StructVar)
    leaf = place.members[field]
    assert isinstance(leaf, Leaf) and isinstance(leaf.expr, ir.FieldRef)
    return leaf.expr


def _control(gress: Gress, block: p4.BlockDeclaration, shared: dict[str, Binding]) -> ir.Pipeline:
    scope = _scope(gress, block, shared)
    for variable in block.variables:
        scope[variable.name] = gress.storage.declare(f"{block.name}.{variable.name}", variable.type)
    _instances(gress, block.instances, scope)
    return Control(gress, block, scope).pipeline()


def _instances(gress: Gress, instances: list[p4.Instantiation], scope: dict[str, Binding]) -> None:
    for instance in instances:
        if instance.type.name not in ("Pipeline", "Switch"):
            scope[instance.name] = instantiate(gress, instance, scope)


def _scope(gress: Gress, block: p4.BlockDeclaration, shared: dict[str, Binding]) -> dict[str, Binding]:
    """Return the variables of a block's parameters: all blocks of a side share headers and metadata."""
    scope = dict(shared)
    own = iter(("hdr", "md"))
    for param in block.params:
        kind = param.type.name if isinstance(param.type, p4.NamedType) else ""
        if kind == "packet_in":
            scope[param.name] = packet_in(gress, param.name)
        elif kind == "packet_out":
            scope[param.name] = PacketOutExtern(
                gress, p4.Instantiation(p4.NamedType(kind), (), param.name, param.name, (), 0)
            )
        elif kind in gress.intrinsic:
            scope[param.name] = gress.intrinsic[kind]
        else:
            name = next(own)
            if name not in gress.intrinsic:
                gress.intrinsic[name] = gress.storage.declare(name, param.type)
            scope[param.name] = gress.intrinsic[name]
    return scope
