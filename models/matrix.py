# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Runs of ``check.py``: every model in the sizes that can be searched completely, and every seeded bug."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Run:
    """One search of one model.

    Attributes:
        name: unique.
        kind: "holds": every state is visited and no assertion fails. "mutant": a seeded bug, or a constant that is too
            small; an assertion must fail. "reached": the model reaches a decision; an assertion must fail there.
        model: file name without its suffix.
        defines: sizes and switches.
        quick: part of the short version.
    """

    name: str
    kind: str
    model: str
    defines: tuple[str, ...]
    quick: bool = False

    @property
    def found(self) -> bool:
        """True if an assertion must fail."""
        return self.kind != "holds"


RULES = (("IN_TURN",), ())


def sizes(workers: int, slots: int, epochs: int, chunks: int) -> tuple[str, ...]:
    return (f"WORKERS={workers}", f"SLOTS={slots}", f"EPOCHS={epochs}", f"CHUNKS={chunks}")


def holds(
    model: str,
    workers: int,
    slots: int,
    epochs: int,
    chunks: int,
    *extra: str,
    progress: bool = True,
    quick: bool = False,
) -> Run:
    name = f"{model}: {workers} workers, {slots} slots, {epochs} epochs of {chunks}"
    if extra:
        name += ", " + " ".join(extra)
    defines = sizes(workers, slots, epochs, chunks) + extra + (("PROGRESS",) if progress else ())
    return Run(name, "holds", model, defines, quick)


def mutants(
    model: str, defines: tuple[str, ...], *bugs: str, among: str = "", quick: tuple[str, ...] = ()
) -> Iterator[Run]:
    """Yield a run for each bug; ``among`` is part of their names."""
    for bug in bugs:
        name = f"{model}: {among}, {bug}" if among else f"{model}: {bug}"
        yield Run(name, "mutant", model, (*defines, bug), bug in quick)


def reached(model: str, defines: tuple[str, ...], *decisions: str, by: str = "NEVER") -> Iterator[Run]:
    for decision in decisions:
        yield Run(f"{model}: reaches {decision}", "reached", model, (*defines, f"{by}={decision}"))


# One level, with rounds in turn as in the code, and without: then slots are reused independently and rounds overlap.
# Bugs are found by wrong or missing results alone (RESULTS_ONLY), not by the assertions about entries. With CHUNKS=5
# and two slots an epoch uses every entry more than once, so the orders of epochs and of chunks are both needed.
_TWO = sizes(2, 2, 3, 3)
_MUTANT = (*sizes(2, 2, 3, 5), "RESULTS_ONLY", "PROGRESS")
_CONFLICT = (*_TWO, "RESULTS_ONLY", "PROGRESS", "OP_CONFLICT=2")
_RESTARTS = (*sizes(2, 2, 2, 3), "PROGRESS", "RESTARTS")
SLOTS = (
    holds("slots", 2, 1, 2, 3, quick=True),
    holds("slots", 2, 2, 2, 3, "IN_TURN", quick=True),
    # Fan-in 1.
    holds("slots", 1, 1, 3, 3),
    holds("slots", 1, 2, 3, 3),
    *(holds("slots", 2, slots, 3, chunks, *rule) for slots in (1, 2) for chunks in (1, 3, 5) for rule in RULES),
    *(holds("slots", 3, slots, 3, chunks, *rule) for slots in (1, 2) for chunks in (1, 3) for rule in RULES),
    holds("slots", 3, 2, 3, 5, "IN_TURN"),
    # Larger sizes.
    holds("slots", 2, 3, 3, 3, "IN_TURN"),
    holds("slots", 4, 2, 3, 3, "IN_TURN"),
    # A worker with another operation stops the job; no wrong sum results, and all workers are told.
    holds("slots", 2, 2, 3, 3, "OP_CONFLICT=2"),
    holds("slots", 3, 2, 3, 3, "OP_CONFLICT=2"),
    # A switch that loses its registers, at any moment and any number of times.
    holds("slots", 2, 1, 2, 2, "RESTARTS", quick=True),
    holds("slots", 2, 2, 2, 3, "RESTARTS"),
    holds("slots", 2, 2, 3, 2, "IN_TURN", "RESTARTS"),
    holds("slots", 3, 1, 3, 3, "RESTARTS"),
    holds("slots", 3, 2, 1, 3, "RESTARTS"),
    *mutants(
        "slots",
        _MUTANT,
        "BUG_BITMAP_NOT_RESET",
        "BUG_COMPLETE_EARLY",
        "BUG_COUNT_NOT_RESET",
        "BUG_DONE_NOT_RESET",
        "BUG_FREE_BIT_IGNORED",
        "BUG_NO_CHUNK_CHECK",
        "BUG_NO_DEDUPE",
        "BUG_NO_EPOCH_CHECK",
        "BUG_NO_REPLAY",
        "BUG_ONE_SHADOW_SET",
        "BUG_PLAIN_EPOCH_ORDER",
        "BUG_POSITION_RESTARTS",
        "BUG_REPLAY_INCOMPLETE",
        "BUG_RESULT_EPOCH_UNCHECKED",
        "BUG_STALE_COUNT",
        "BUG_WINDOW_OFF_BY_ONE",
        "BUG_WORDS_NOT_OVERWRITTEN",
        quick=("BUG_NO_DEDUPE", "BUG_NO_EPOCH_CHECK", "BUG_WINDOW_OFF_BY_ONE"),
    ),
    # Late packets that claim entries only cost time, as restarts do: only the assertions about entries find it.
    *mutants("slots", (*sizes(2, 2, 3, 5), "PROGRESS"), "BUG_OLDER_ACCEPTED"),
    *mutants("slots", _CONFLICT, "BUG_CONFLICT_TO_SENDER", "BUG_NO_CONFLICT_CHECK"),
    # Needed with restarts only: a pending answer to all workers, and a retransmit buffer. It holds the last two
    # positions of every slot, or, with rounds in turn, the running round and one position of every slot before it.
    *mutants("slots", _RESTARTS, "BUG_PENDING_TO_ASKER", "BUFFER=2"),
    *mutants("slots", (*_RESTARTS, "IN_TURN"), "BUFFER=1", among="IN_TURN"),
    Run("slots: IN_TURN, BUFFER=2", "holds", "slots", (*_RESTARTS, "IN_TURN", "BUFFER=2")),
    *mutants("slots", (*sizes(2, 1, 3, 3), "PROGRESS", "RESTARTS"), "BUFFER=1", quick=("BUFFER=1",)),
    *reached("slots", _TWO, "CLAIM", "CONTRIBUTE_AND_COMPLETE", "REPLAY", "REPORT_PENDING", "DROP_LATE"),
    *reached("slots", sizes(1, 2, 3, 3), "CLAIM_AND_COMPLETE"),
    *reached("slots", sizes(3, 2, 3, 3), "CONTRIBUTE"),
    *reached("slots", (*_TWO, "OP_CONFLICT=2"), "REPORT_CONFLICT"),
)

# A switch and the server.
_FALLBACK = (*sizes(2, 2, 2, 3), "PROGRESS")
FALLBACK = (
    holds("fallback", 2, 1, 2, 2, quick=True),
    holds("fallback", 2, 2, 3, 3, "IN_TURN"),
    holds("fallback", 2, 2, 1, 4),
    holds("fallback", 3, 1, 3, 3),
    *mutants(
        "fallback",
        _FALLBACK,
        "BUG_SERVER_ASKS_THE_SENDER",
        "BUG_SERVER_PENDING_WITHOUT_BYPASS",
        "BUG_NO_ESCALATION",
        "BUFFER=2",
        quick=("BUG_SERVER_PENDING_WITHOUT_BYPASS",),
    ),
)

# The same with two jobs on the same entries.
_JOBS = (*sizes(2, 1, 1, 3), "JOBS=2", "PROGRESS")
JOBS = (
    holds("fallback", 2, 1, 1, 3, "JOBS=2"),
    *mutants("fallback", _JOBS, "BUG_JOB_UNCHECKED", "BUG_WORDS_OF_ANOTHER_JOB_KEPT", quick=("BUG_JOB_UNCHECKED",)),
    *mutants("fallback", _JOBS, "BUG_NO_ESCALATION", among="JOBS=2"),
    *reached("fallback", _JOBS, "COLLIDE"),
)

# Two of three workers. Bugs are found by disagreement alone.
_QUORUM = sizes(3, 1, 2, 2)
QUORUM = (
    holds("quorum", 3, 1, 1, 2, quick=True),
    holds("quorum", 3, 1, 3, 2),
    holds("quorum", 3, 1, 3, 2, "JOURNAL=6"),
    holds("quorum", 3, 2, 1, 3, "SWITCH_STAYS", progress=False),
    # Sums of a quorum never overlap in part: any of them completes. So the server never reports an overlap.
    holds("quorum", 3, 1, 2, 2, "NEVER_AT_SERVER=REPORT_OVERLAP", progress=False),
    *mutants(
        "quorum",
        _QUORUM,
        "BUG_DECIDED_AT_THE_SWITCH",
        "BUG_DECIDES_TWICE",
        "BUG_JOURNAL_AFTER_RESULT",
        "BUG_NO_HORIZON",
        "BUG_NO_JOURNAL",
        quick=("BUG_DECIDED_AT_THE_SWITCH", "BUG_NO_JOURNAL"),
    ),
    # Slots that do not wait for each other: found fastest with a short journal.
    *mutants("quorum", (*sizes(3, 2, 1, 5), "SWITCH_STAYS", "JOURNAL=1"), "BUG_OUT_OF_STEP"),
    *reached("quorum", _QUORUM, "PASS_LATE", "ASCEND_AGAIN"),
    *reached("quorum", _QUORUM, "REPORT_GONE", by="NEVER_AT_SERVER"),
)

# Racks of two and of one, or of two workers each. SWITCHES_ALONE: no packet reaches the server.
_RACKS = (*sizes(3, 1, 1, 3), "PROGRESS")
RACKS = (
    holds("racks", 3, 1, 2, 2),
    holds("racks", 4, 1, 1, 1),
    holds("racks", 3, 1, 2, 2, "SWITCHES_ALONE", quick=True),
    holds("racks", 3, 2, 1, 3, "SWITCHES_ALONE"),
    holds("racks", 4, 1, 3, 3, "SWITCHES_ALONE"),
    *mutants(
        "racks",
        _RACKS,
        "BUG_RACK_ASCENDS_EARLY",
        "BUG_RACK_COUNTED_TWICE",
        "BUG_SINGLE_TAKEN_FOR_THE_RACK",
        "BUG_OVERLAP_ADDED",
        "BUFFER=1",
        quick=("BUG_RACK_COUNTED_TWICE",),
    ),
    # Bugs that the server would repair.
    *mutants(
        "racks", (*_RACKS, "SWITCHES_ALONE"), "BUG_DUPLICATE_DOES_NOT_ASCEND", "BUG_UPPER_PENDING_TO_THE_ASKING_RACK"
    ),
)

# Certified rounds: a bit or two flip, or a device makes wrong sums only. A limit of 8 failed results is reached early
# where a wrong sum is replayed to one of three workers, or where two bits flip; a higher one shows that waiting helps.
_CERTIFIED = sizes(2, 1, 1, 2)
_FLIP = (*_CERTIFIED, "FLIPS=1", "PROGRESS")
CERTIFIED = (
    holds("certified", 2, 1, 1, 2, "FLIPS=1", quick=True),
    holds("certified", 2, 1, 1, 2, "FLIPS=1", "RESTARTS"),
    holds("certified", 2, 1, 1, 3, "FLIPS=1", "RESTARTS"),
    holds("certified", 2, 1, 1, 2, "FLIPS=2", "MAX_FAILED_RESULTS=16"),
    holds("certified", 3, 1, 1, 1, "FLIPS=1", "MAX_FAILED_RESULTS=24"),
    holds("certified", 2, 2, 1, 3, "FLIPS=1", progress=False),
    holds("certified", 2, 1, 1, 2, "FLIPS=1", "HEADERS", progress=False, quick=True),
    holds("certified", 2, 1, 1, 2, "FLIPS=2", "HEADERS", "RESTARTS", progress=False),
    holds("certified", 2, 1, 1, 3, "FLIPS=1", "LEAVE_OUT"),
    holds("certified", 2, 1, 1, 3, "FLIPS=0", "BAD_SWITCH", "LEAVE_OUT", "RESTARTS"),
    holds("certified", 2, 1, 1, 2, "FLIPS=0", "BAD_SERVER", "LEAVE_OUT", "RESTARTS"),
    *mutants(
        "certified",
        _FLIP,
        "BUG_REPLAY_UNCHECKED",
        "BUG_SECOND_RESULT_UNCHECKED",
        "BUG_CONTRIBUTORS_UNCOVERED",
        "BUG_FAILED_CHUNK_IS_OVER",
        "BUG_REFUSAL_UNMARKED",
        "BUG_NEVER_SUMS_AGAIN",
        "BUG_RETAKEN_FROM_THE_CACHE",
        "BUG_ONE_REFUSAL_IS_ENOUGH",
        "BUFFER=1",
        quick=("BUG_REPLAY_UNCHECKED", "BUG_RETAKEN_FROM_THE_CACHE"),
    ),
    holds("certified", 2, 1, 1, 2, "FLIPS=1", "SCATTERED=1"),
    holds("certified", 2, 1, 1, 2, "FLIPS=1", "SCATTERED=1", "RESTARTS"),
    holds("certified", 2, 1, 1, 2, "FLIPS=2", "SCATTERED=1", "MAX_FAILED_RESULTS=16"),
    holds("certified", 3, 1, 1, 3, "FLIPS=1", "SCATTERED=1", progress=False),
    *mutants("certified", (*_FLIP, "SCATTERED=1"), "BUG_OWNER_IS_NOT_ENOUGH", quick=("BUG_OWNER_IS_NOT_ENOUGH",)),
    *mutants("certified", (*_CERTIFIED, "FLIPS=1", "HEADERS"), "BUG_CHUNK_UNCOVERED"),
    *mutants("certified", (*_CERTIFIED, "FLIPS=1", "LEAVE_OUT"), "BUG_COUNTED_BY_REPORT"),
    *mutants("certified", (*_CERTIFIED, "FLIPS=0", "BAD_SERVER", "LEAVE_OUT"), "BUG_SERVER_COUNTS_FOR_THE_SWITCH"),
    *mutants("certified", (*sizes(2, 1, 1, 3), "FLIPS=0", "BAD_SWITCH", "LEAVE_OUT"), "BUG_SWITCH_STAYS"),
)

# Chunks with owners, in rounds that are scattered or gathered. With MISNAMED a packet names another owner than its own
# or none, with STRAY a switch receives packets of gathered rounds. Digits of SCATTERED and GATHERED are epochs.
_SCATTERED = (*sizes(2, 2, 1, 4), "SCATTERED=1", "PROGRESS")
_GATHERED = (*sizes(2, 1, 1, 4), "GATHERED=1", "PROGRESS")
_UPPER = (*_RACKS, "SCATTERED=1", "SWITCHES_ALONE")
SHARDS = (
    holds("fallback", 2, 1, 2, 2, "SCATTERED=3", "MISNAMED", quick=True),
    holds("fallback", 2, 2, 1, 4, "SCATTERED=1", "MISNAMED"),
    holds("fallback", 3, 1, 3, 3, "SCATTERED=7", "MISNAMED"),
    holds("fallback", 2, 2, 1, 4, "GATHERED=1", "STRAY"),
    # A scattered round before and after a gathered one, and the other way around.
    holds("fallback", 2, 2, 3, 2, "SCATTERED=5", "GATHERED=2", "MISNAMED", "STRAY"),
    holds("fallback", 2, 2, 3, 2, "IN_TURN", "SCATTERED=2", "GATHERED=5", "MISNAMED", "STRAY"),
    holds("fallback", 3, 1, 3, 3, "SCATTERED=5", "GATHERED=2", "MISNAMED", "STRAY"),
    holds("fallback", 2, 1, 1, 3, "JOBS=2", "SCATTERED=1"),
    holds("racks", 3, 1, 1, 3, "SCATTERED=1", "MISNAMED"),
    holds("racks", 3, 1, 2, 3, "SWITCHES_ALONE", "SCATTERED=3", "MISNAMED"),
    holds("quorum", 3, 1, 1, 3, "SCATTERED=1"),
    *mutants(
        "fallback",
        _SCATTERED,
        "BUG_HEADER_BEFORE_COMPLETION",
        "BUG_HEADER_FREES_CONTRIBUTION",
        "BUG_SERVER_HAS_SHARDS_IN_ORDER",
        "BUG_SERVER_REPLAYS_HEADERS",
        quick=("BUG_HEADER_FREES_CONTRIBUTION", "BUG_SERVER_REPLAYS_HEADERS"),
    ),
    *mutants("fallback", _SCATTERED, "BUFFER=2", among="scattered"),
    *mutants("fallback", (*_SCATTERED, "MISNAMED"), "BUG_OWNER_ACCEPTS_HEADERS"),
    *mutants("fallback", (*sizes(3, 1, 1, 3), "SCATTERED=1", "PROGRESS"), "BUG_OTHERS_DO_NOT_WAIT"),
    *mutants(
        "fallback",
        _GATHERED,
        "BUG_GATHERED_LIKE_SCATTERED",
        "BUG_HEADERS_NOT_AWAITED",
        "BUG_SWITCH_COUNTS_HEADERS",
        quick=("BUG_HEADERS_NOT_AWAITED",),
    ),
    *mutants("racks", _UPPER, "BUG_REPLAY_WITHOUT_WORDS", "BUG_UPPER_SHORTENS"),
    *mutants("quorum", (*_QUORUM, "SCATTERED=3", "PROGRESS"), "BUG_JOURNAL_WITHOUT_WORDS"),
)

MATRIX: tuple[Run, ...] = (*SLOTS, *FALLBACK, *JOBS, *QUORUM, *RACKS, *CERTIFIED, *SHARDS)
