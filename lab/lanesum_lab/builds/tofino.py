# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``make tofino``: compile ``p4src/tofino`` for every profile to the binary, and report its resources.

The compiler also succeeds if a program needs more stages than the chip has; only the assembler refuses. Both run for
every profile. The repository keeps the outputs that a controller or a reader needs: P4Info, the bf-rt description, the
program as printed by the front end, which the embedded switch runs, the resource report, and a manifest. Binaries are
large, and are rebuilt in minutes.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lanesum.errors import ConfigurationError, LanesumError, MissingToolError
from lanesum_fabric import resources
from lanesum_fabric.program.manifest import MANIFEST, digests, source_files, version_of
from lanesum_fabric.program.pipelines import TOFINO_BUILD_FOLDER
from lanesum_fabric.tofino.chips import CHIPS, PIPES, PROFILES, SLOTS, TofinoProfile, nearest, profile
from lanesum_fabric.tofino.device_config import Compiled, repeatable
from lanesum_fabric.tofino.resources import REPORT, Resources, measure
from lanesum_lab.builds.checks import (
    COMPILER,
    USE_A_NEWER_ONE,
    TofinoCompileError,
    check_counted_entries,
    check_overlays,
    check_parser,
    check_parser_errors,
    custom_profile,
)
from lanesum_lab.builds.performance import PERFORMANCE, ParserCycles, parser_cycles, timings, write_performance
from lanesum_lab.builds.report import write_page
from lanesum_switch.tna.reduce import reduce

PROGRAM = "lanesum"
ASSEMBLER = "bfas"
FLAGS = ("--std", "p4-16", "--Wdisable=unused", "--Wdisable=uninitialized-out-param")
# The program after the front end, which the embedded switch runs: see lanesum_switch.tna.
PRINTING = ("--doNotEmitIncludes", "--top4", "FrontEndLast", "--dump")
_RESOURCES = (
    (r"supports up to (\d+) stages, using (\d+)", "stages"),
    (r"could not fit in stage \d+ with \d+ entries", "memories in one stage"),
    (r"PHV allocation was not successful", "packet header containers"),
    (r"field dictionary chunks", "chunks of the deparser's field dictionary"),
    (r"[Pp]ower", "power"),
    (r"TCAM|ternary", "ternary memories"),
    (r"map ?ram", "map memories"),
    (r"instruction memory|imem", "instruction memory"),
    (r"SRAM|memory", "memories"),
    (r"action (data )?bus", "action data bus"),
    (r"input crossbar|ixbar|hash", "input crossbar"),
    (r"action spanning multiple stages|requires? multiple stages", "what one action can do"),
)
# Errors in the source, although their text contains some of the words above.
_MISTAKE = re.compile(
    r"syntax error|--Werror=(type-error|not-found|duplicate|expected|invalid|unknown|uninitialized)\b"
)
# Sizes that p4src/tofino does not support.
_NO_SUCH_SIZE = re.compile(r"#error (.+)")

# Known warnings with the reason why each is harmless; make tofino prints all others.
_KNOWN_WARNINGS = (
    # The parser writes words into header lanes and leaves it invalid on purpose: ingress decides about its output.
    r"accessing a field of an invalid header hdr\.lanes",
    # Actions of control Passes have a parameter with the name of a table, and use the parameter.
    r"'task' shadows 'task'",
    # Names of keys in tables with constant entries.
    r"Table key name not supported\. Replacing",
    # P4Info has no table for the chip's configurable hash units, which the control plane does not use.
    r"No known conversion to standard P4Info for 'DynHash'",
    # Compiler-generated metadata, which pads short packets.
    r"Parser state min_parse_depth_accept_loop will be unrolled",
    # Tables of one stage that share hash units. The assembler has checked that they use different bits.
    r"Input xbar hash group \d+ mergeable conflict|conflicting hash group definition here",
    r"duplicate hash group \d+, will merge with|previous definition here",
    # The same, for a table that uses a part of the hash unit: only its description in context.json looks for the rest.
    r"exact hashtable \d+ does not exist in table",
    # The stage is the earliest one for this table. With several passes it follows the verdict, in a later stage.
    r"stage specified for table IngressPipeline\.redirect\.cpu_port is \d+, but",
)


def _instead(refused: TofinoProfile) -> str:
    """Return advice: the nearest profile that fits."""
    fitting = nearest(refused)
    if fitting is None:
        return f"No smaller profile is kept for {refused.chip.title}: give it fewer slots or words."
    passes = f", {fitting.passes} passes" if fitting.passes > 1 else ""
    return f"Build {fitting.name} instead ({fitting.accumulator_words} words, {fitting.slots} slots{passes})."


class DoesNotFitError(LanesumError):
    """A profile exceeds a resource of the chip; the message names it and a profile that fits.

    ``resource``: name of the resource, as in the report.
    """

    def __init__(self, what: str, next_step: str = "", *, resource: str = "") -> None:
        super().__init__(what, next_step)
        self.resource = resource

    @classmethod
    def of(cls, refused: TofinoProfile, resource: str, output: str) -> DoesNotFitError:
        """Return the error for a profile that the tools refused with these messages."""
        return cls(
            f"Profile {refused.name} does not fit {refused.chip.title}: {resource}. Output: {output.rstrip('.')}.",
            _instead(refused),
            resource=resource,
        )


@dataclass(frozen=True)
class Built:
    """Files of a profile's build in ``folder``."""

    profile: TofinoProfile
    binary: Path
    context: dict[str, Any]
    parsers: ParserCycles
    outputs: tuple[Path, ...]

    def packed(self, pipes: int) -> Compiled:
        """Return the files packed for agents, for a chip with ``pipes`` pipes."""
        bfrt = next(path for path in self.outputs if path.name.endswith(".bfrt.json"))
        context = self.binary.parent / "context.json"
        return Compiled(PROGRAM, bfrt.read_bytes(), context.read_bytes(), self.binary.read_bytes(), range(pipes))


def tools() -> tuple[str, str]:
    """Return the paths of compiler and assembler. Raises MissingToolError with the missing one."""
    found = []
    for tool in (COMPILER, ASSEMBLER):
        path = shutil.which(tool)
        if path is None:
            raise MissingToolError(
                f"{tool} is not on PATH.",
                "Build p4lang's p4c with -DENABLE_TOFINO=ON (docs/tools.md), which makes both; what is "
                f"committed in {TOFINO_BUILD_FOLDER} needs neither.",
            )
        found.append(path)
    return found[0], found[1]


def resource_that_ran_out(output: str) -> str | None:
    """Return the resource that a refusal is about, as in the report; None for other reasons."""
    if _MISTAKE.search(output):
        return None
    for pattern, resource in _RESOURCES:
        found = re.search(pattern, output)
        if found:
            numbers = found.groups()
            return f"{numbers[1]} {resource} needed, {numbers[0]} there" if len(numbers) == 2 else f"out of {resource}"
    return None


def _errors(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if re.search(r"\berror\b", line, re.IGNORECASE)]
    return " ".join(line for line in lines if not re.match(r"\d+ errors?", line))[:600] or output.strip()[-600:]


def build_profile(built: TofinoProfile, p4src: Path, out: Path) -> Built:
    """Compile and assemble one profile; write its files for the repository to ``out``.

    Raises MissingToolError, DoesNotFitError and TofinoCompileError.
    """
    compiler, assembler = tools()
    p4info, bfrt = out / f"{built.name}.p4info.txtpb", out / f"{built.name}.bfrt.json"
    scratch = out / f".{built.name}"
    shutil.rmtree(scratch, ignore_errors=True)
    assembled = scratch / "assembled"
    (assembled / "logs").mkdir(parents=True)
    (scratch / "printed").mkdir()
    command = [
        compiler,
        *FLAGS,
        "--target",
        built.chip.target,
        "--arch",
        built.chip.architecture.lower(),
        *built.defines,
    ]
    command += [
        "--p4runtime-files",
        str(p4info),
        "--p4runtime-force-std-externs",
        "--bf-rt-schema",
        str(bfrt),
        *PRINTING,
        str(scratch / "printed"),
        "-o",
        str(scratch),
        "tofino/main.p4",
    ]
    compiled = subprocess.run(command, cwd=p4src, capture_output=True, text=True)
    assembly = scratch / "pipe" / "main.bfa"
    if compiled.returncode != 0 or not assembly.exists():
        _refuse(built, (compiled.stdout + compiled.stderr).replace(f"{scratch}/", ""))
    check_parser_errors(built, assembly.read_text())
    made = subprocess.run([assembler, "-o", str(assembled), str(assembly)], capture_output=True, text=True)
    check_parser(built, made.stdout + made.stderr)
    binary = assembled / f"{built.chip.target}.bin"
    if made.returncode != 0 or not binary.exists():
        _refuse(built, (made.stdout + made.stderr).replace(f"{scratch}/", ""))
    for line in warnings_to_heed(compiled.stdout + compiled.stderr + made.stdout + made.stderr):
        print(f"{built.name}: {line}", file=sys.stderr)
    wholes = sorted((scratch / "printed").glob("*FrontEndLast.p4"))
    if len(wholes) != 1 or not p4info.exists() or not bfrt.exists():
        raise TofinoCompileError(
            f"{COMPILER} made a binary of profile {built.name}, but not its P4Info, its bf-rt description and one "
            "print-out of the program.",
            USE_A_NEWER_ONE,
        )
    bfrt.write_text(json.dumps(repeatable(json.loads(bfrt.read_text())), indent=1) + "\n")
    printed = out / f"{built.name}.printed.p4"
    printed.write_text(reduce(wholes[0].read_text()))
    context = json.loads((assembled / "context.json").read_text())
    check_overlays(built, context)
    check_counted_entries(built, context)
    return Built(built, binary, context, parser_cycles(assembly.read_text()), (p4info, bfrt, printed))


def warnings_to_heed(output: str) -> list[str]:
    """Return the warnings of the tools that are not known as harmless."""
    warnings = [line.strip() for line in output.splitlines() if "warning: " in line]
    return [line for line in warnings if not any(re.search(known, line) for known in _KNOWN_WARNINGS)]


def _refuse(refused: TofinoProfile, output: str) -> None:
    size = _NO_SUCH_SIZE.search(output)
    if size:
        raise TofinoCompileError(
            f"p4src/tofino has no code for profile {refused.name}: {size[1].strip()}.", _instead(refused)
        )
    errors = _errors(output)
    resource = resource_that_ran_out(errors)
    if resource is None:
        raise TofinoCompileError(f"{COMPILER} or {ASSEMBLER} refused profile {refused.name}: {errors}")
    raise DoesNotFitError.of(refused, resource, errors)


def build(root: Path, profiles: Sequence[TofinoProfile], binaries: Path | None, pipes: int = PIPES) -> None:
    """Build ``profiles`` and rewrite the folder, the manifest and ``docs/tofino-resources.md``.

    ``binaries``: folder for the binaries. ``pipes``: number of pipes for the packed binaries.
    """
    compiler, _ = tools()
    p4src = root / "p4src"
    out = root / TOFINO_BUILD_FOLDER
    out.mkdir(parents=True, exist_ok=True)
    measured: dict[str, Resources] = {}
    # Replace files only after all profiles are built, so that they stay consistent.
    with tempfile.TemporaryDirectory() as scratch:
        all_made = []
        for wanted in profiles:
            folder = Path(scratch) / wanted.name
            folder.mkdir()
            made = build_profile(wanted, p4src, folder)
            measured[wanted.name] = measure(made.context)
            all_made.append(made)
            print(f"{wanted.name}: {measured[wanted.name].stages} stages, binary {made.binary.stat().st_size} bytes")
        outputs = [Path(shutil.copy(path, out / path.name)) for made in all_made for path in made.outputs]
        if binaries is not None:
            for made in all_made:
                _keep_binaries(made, binaries, pipes)
    report, performance = out / REPORT, out / PERFORMANCE
    report.write_text(json.dumps({name: found.as_json() for name, found in measured.items()}, indent=2) + "\n")
    write_performance(performance, timings({made.profile.name: made.parsers for made in all_made}, measured))
    manifest = {
        "compiler": version_of(COMPILER, compiler),
        "flags": list(FLAGS),
        "profiles": {wanted.name: list(wanted.defines) for wanted in profiles},
        "sources": digests(p4src, source_files(p4src, "tofino")),
        "outputs": digests(out, [*outputs, report, performance]),
    }
    (out / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n")
    write_page(root)


def _keep_binaries(made: Built, binaries: Path, pipes: int) -> None:
    name = made.profile.name
    (binaries / name).mkdir(parents=True, exist_ok=True)
    for path in (made.binary, made.binary.parent / "context.json"):
        shutil.copy(path, binaries / name / path.name)
    packed = made.packed(pipes)
    (binaries / f"{name}.stratum.bin").write_bytes(packed.for_stratum())
    (binaries / f"{name}.pi.bin").write_bytes(packed.for_pi())


def try_profile(root: Path, wanted: TofinoProfile, binaries: Path | None, pipes: int = PIPES) -> Resources:
    """Build ``wanted`` without changing the committed files; return its resources.

    ``binaries``: folder for its binary, ``context.json``, P4Info, bf-rt description and packed files. Raises the errors
    of ``build_profile``.
    """
    with tempfile.TemporaryDirectory() as scratch:
        made = build_profile(wanted, root / "p4src", Path(scratch))
        if binaries is not None:
            _keep_binaries(made, binaries, pipes)
            for path in made.outputs:
                shutil.copy(path, binaries / wanted.name / path.name)
        return measure(made.context)


def _wanted(arguments: argparse.Namespace, p4src: Path) -> TofinoProfile | None:
    """Return the profile that is to be built alone; None for all. Raises ConfigurationError."""
    sizes = [name for name in ("words", "slots", "passes") if getattr(arguments, name) is not None]
    if arguments.chip is None:
        if sizes:
            raise ConfigurationError(f"--{sizes[0]} is for a custom profile.", "Give --chip with it.")
        return profile(arguments.only) if arguments.only is not None else None
    if arguments.only is not None:
        raise ConfigurationError("--only builds a known profile, --chip a custom one.", "Give one of them.")
    if arguments.words is None:
        raise ConfigurationError("A custom profile requires its number of words.", "Give --words.")
    passes = 1 if arguments.passes is None else arguments.passes
    return custom_profile(arguments.chip, arguments.words, arguments.slots, passes, p4src)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binaries", type=Path, help="folder for binaries and their context.json")
    parser.add_argument("--pipes", type=int, choices=(2, PIPES), default=PIPES, help="pipes of the binaries' chip")
    parser.add_argument("--only", help="build this profile alone, and leave the committed files as they are")
    parser.add_argument("--chip", help=f"build a custom profile likewise, for the chip {' or '.join(CHIPS)}")
    parser.add_argument("--words", type=int, help="accumulator words of its packets, in all passes together")
    parser.add_argument("--slots", type=int, help=f"slots of a pipe; default: {SLOTS:,}, divided by the passes")
    parser.add_argument("--passes", type=int, help="pipeline passes of a contribution; default: 1")
    given = parser.parse_args(arguments)
    root = resources.checkout_root()
    if root is None:
        print("make tofino runs in a checkout of the repository.", file=sys.stderr)
        return 2
    try:
        wanted = _wanted(given, root / "p4src")
        if wanted is None:
            build(root, PROFILES, given.binaries, given.pipes)
        else:
            print(json.dumps(try_profile(root, wanted, given.binaries, given.pipes).as_json(), indent=2))
    except LanesumError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
