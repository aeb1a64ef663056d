# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Reduction of p4c's printed program to a size that can be committed and read.

The compiler of the chip's binary prints the same program after its front end
(``--top4 FrontEndLast --dump FOLDER --doNotEmitIncludes``). Half of that text declares externs and block types of the
architecture; ``reduce`` drops them and keeps types, constants and the program.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from lanesum_switch.tna.reading import Token, tokens

COMMENT = "// Printed by p4c after its front end; do not edit.\n"
_DROPPED = {"extern", "match_kind"}
_PAIRS = {"{": "}", "(": ")"}


def reduce(text: str) -> str:
    """Return the text without declarations of externs, match kinds and block types. Raises P4SyntaxError."""
    found = tokens(text)
    kept: list[str] = [COMMENT]
    at = 0
    while found[at].kind != "end":
        end = _declaration_end(found, at)
        chunk = text[found[at].start : found[end - 1].stop]
        if _is_kept(found, at, end):
            kept.append(_short(chunk))
        at = end
    return "\n".join(kept)


def _declaration_end(found: list[Token], at: int) -> int:
    """Return the token after a top-level declaration, which ends with ``;``, or with a closing brace without ``;``."""
    closing: list[str] = []
    while found[at].kind != "end":
        text = found[at].text if found[at].kind == "sign" else ""
        at += 1
        if text in _PAIRS:
            closing.append(_PAIRS[text])
        elif closing and text == closing[-1]:
            closing.pop()
            if text == "}" and not closing and found[at].text != ";":
                return at
        elif text == ";" and not closing:
            return at
    return at


def _is_kept(found: list[Token], at: int, end: int) -> bool:
    while found[at].text == "@":  # annotations
        at += 2
        if found[at].text == "(":
            depth = 0
            while True:
                depth += (found[at].text == "(") - (found[at].text == ")")
                at += 1
                if depth == 0:
                    break
    word = found[at].text
    if word in _DROPPED:
        return False
    if word in ("parser", "control"):
        return found[end - 1].text != ";"
    if word == "package":
        return any(token.text == "Switch" for token in found[at : at + 2])
    return True


def _short(chunk: str) -> str:
    """Return the text without annotations that suppress warnings."""
    return re.sub(r'@noWarn\("unused"\) ', "", chunk)


def main(source: str, target: str) -> None:
    """Reduce a file: ``python -m lanesum_switch.tna.reduce SOURCE TARGET``."""
    Path(target).write_text(reduce(Path(source).read_text()))


if __name__ == "__main__":
    main(*sys.argv[1:])
