# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Makes p4c's print-out of a program small enough to commit and to read: ``reduce`` drops what is the architecture's.

The compiler that writes the chip's binary prints the same program after its front end
(``--top4 FrontEndLast --dump FOLDER --doNotEmitIncludes``). Half of that text declares externs and block types that
every TNA program has; types, constants and the program itself stay as they were printed.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from lanesum_control.tofino.lexer import Token, tokens

COMMENT = "// Printed by p4c after its front end; do not edit.\n"
_DROPPED = {"extern", "match_kind"}
_PAIRS = {"{": "}", "(": ")"}


def reduce(text: str) -> str:
    """The text without declarations of externs, match kinds and block types. Raises P4SyntaxError."""
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
    """The token after a top-level declaration: it ends with ``;`` or with a closing brace that no ``;`` follows."""
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
    """Without annotations that only keep the compiler quiet."""
    return re.sub(r'@noWarn\("unused"\) ', "", chunk)


def main(source: str, target: str) -> None:
    """``python -m lanesum_control.tofino.reduce SOURCE TARGET``."""
    Path(target).write_text(reduce(Path(source).read_text()))


if __name__ == "__main__":
    main(*sys.argv[1:])
