# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Glossary of text and names, which the style check enforces and docs/style.md shows as a table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Term:
    """A term of the glossary.

    Attributes:
        say: the field's standard term.
        instead_of: the words that it replaces, as docs/style.md shows them.
        pattern: regular expression that finds them in text; empty where a program cannot tell. A blank matches a line
            break too.
        name: regular expression that finds them in identifiers in snake case; empty where there is none.
    """

    say: str
    instead_of: str
    pattern: str = ""
    name: str = ""


GLOSSARY = (
    Term("in flight", "under way", r"\bunder way\b", r"(^|_)under_?way(_|$)"),
    Term(
        "retransmit, retransmission",
        "send again, resend",
        r"\b(send|sends|sent|sending) (\w+ )?again\b|\bresen(d|ds|t|ding)\b",
        r"(^|_)resen(d|ds|t|ding)(_|$)",
    ),
    Term("uplink / downlink; uplink and downlink bits", "up / down, way up", r"\bway (up|down)\b"),
    Term("contribution; partial sum; result", "what was sent; piece; what comes back"),
    Term("native extension", "compiled part", r"\bcompiled (part|one|ones)\b", r"(^|_)compiled_part(_|$)"),
    Term("busy polling", "looking before sleeping", r"\blook(s|ed|ing)? before (it |they )?sleep"),
    Term("random number generator, `rng`", "dice", r"\bdice\b", r"(^|_)dice(_|$)"),
    Term("captured packets", "loot, hearsay", r"\b(loot|hearsay)\b", r"(^|_)(loot|hearsay)(_|$)"),
    Term("unexpected contributors", "strangers", r"\bstrangers?\b", r"(^|_)strangers?(_|$)"),
    Term("recirculation pass, pipeline pass", "journey", r"\bjourneys?\b", r"(^|_)journeys?(_|$)"),
    Term(
        "quorum, late worker, evicted result",
        "enough, who comes too late, what nobody has any more",
        r"\bcomes? too late\b",
    ),
    Term("aggregation point", "place"),
    Term("path", "way"),
    Term(
        "in order, out of order, reordering threshold",
        "overtaken",
        r"\bovert(ake|akes|aken|ook|aking)\b",
        r"(^|_)overt(ake|akes|aken|ook|aking)(_|$)",
    ),
    Term("MTU, path MTU", "room of the way", r"\broom of the way\b"),
    Term(
        "worker, server, controller, peer, caller",
        "nobody, somebody, anybody, whoever, everybody",
        r"\b(nobody|somebody|anybody|whoever|everybody)\b",
        r"(^|_)(nobody|somebody|anybody|whoever|everybody)(_|$)",
    ),
    Term(
        "has, receives, supports, requires",
        "knows, hears, wants (of a program or a packet)",
        r"\b(knows|hears|heard|wants)\b",
        r"(^|_)heard(_|$)",
    ),
    Term("`max_`, at most", "most, as many as", name=r"(^|_)(?<!at_)most(_|$)"),
)
