# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The style check finds every kind of problem that it promises, and nothing in text that is right."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from lanesum_fabric.resources import checkout_root
from lanesum_lab.glossary import GLOSSARY
from tests.style_check import check_text, main, misplaced_tests, second_homes

ROOT = checkout_root() or Path()

WRONG = {
    "docstring of a function": ("a.py", 'def f():\n    """What is left."""\n', 2, "docstring opens with 'What'"),
    "docstring of a class": ("a.py", 'class A:\n    """Whether it fits."""\n', 2, "docstring opens with 'Whether'"),
    "docstring of an attribute": (
        "a.py",
        'class A:\n    x: int\n    """How many."""\n',
        3,
        "docstring opens with 'How'",
    ),
    "docstring, second sentence": ("a.py", '"""A sum.\n\nOf all. What is late is dropped.\n"""\n', 3, "sentence opens"),
    "comment in Python": ("a.py", "x = 1\n# Where none is.\n", 2, "comment opens with 'Where'"),
    "comment at the end of a line": ("a.py", "x = 1  # What is left\n", 1, "comment opens with 'What'"),
    "comment in C++": ("a.cpp", "int x;\n// What is left.\n", 2, "comment opens with 'What'"),
    "Doxygen comment": ("a.hpp", "/// Who contributed.\nint x;\n", 1, "comment opens with 'Who'"),
    "Doxygen comment behind a field": ("a.hpp", "int x;  ///< Which slot\n", 1, "comment opens with 'Which'"),
    "comment in P4": ("a.p4", "/* What is left. */\n", 1, "comment opens with 'What'"),
    "comment in Promela, second line": ("a.pml", "/* A sum.\n * What is late is dropped. */\n", 2, "sentence opens"),
    "comment in YAML": ("a.yaml", "a: 1\n# What is left.\n", 2, "comment opens with 'What'"),
    "comment in a Makefile": ("Makefile", "# What is left.\nall:\n", 1, "comment opens with 'What'"),
    "paragraph": ("a.md", "# A\n\nWhat is left is dropped.\n", 3, "sentence opens with 'What'"),
    "item of a list": ("a.md", "- A sum.\n- Whatever is left is dropped.\n", 2, "sentence opens with 'Whatever'"),
    "personification": ("a.md", "The switch knows the job.\n", 1, "'knows': say has"),
    "word of the old dialect": ("a.cpp", "// Two rounds under way.\n", 1, "'under way': say in flight"),
    "words across lines of a comment": ("a.py", "# A packet is sent\n# again.\n", 1, "'sent again': say retransmit"),
    "words across lines of a page": ("a.md", "- the compiled\n  part\n", 1, "'compiled part': say native"),
    "word in an error message": ("a.py", 'raise ValueError("nobody answers")\n', 1, "'nobody': say worker"),
    "name in Python": ("a.py", "MOST_SLOTS = 1\n", 1, "name 'MOST_SLOTS': say `max_`"),
    "name in camel case": ("a.py", "class LootBox:\n    pass\n", 1, "name 'LootBox': say captured"),
    "name of an argument": ("a.py", "def f(dice: int) -> None: ...\n", 1, "name 'dice': say random"),
    "name of an attribute": ("a.py", "def f(self):\n    self.resends = 1\n", 2, "name 'resends': say retransmit"),
    "name in C++": ("a.cpp", "int x;\nint resend_count_;\n", 2, "name 'resend_count_': say retransmit"),
    "name in P4": ("a.p4", "action overtake() {}\n", 1, "name 'overtake': say in order"),
    "long line": ("a.md", "a " * 61 + "\n", 1, "122 columns"),
    "long row of a table": ("a.md", f"| {'a' * 120} |\n", 1, "124 columns"),
    "long text beside a link": ("a.md", f"[a](b.md) {'a ' * 60}\n", 1, "124 columns"),
    "long sentence": ("a.md", f"A sum.\nThe {'a ' * 25}end.\n", 2, "sentence of 27 words; at most 25"),
    "long sentence in an item": ("a.md", f"- A sum.\n- The\n  {'a ' * 24}end\n", 2, "sentence of 26 words"),
    "long sentence with full stops in code": ("a.md", f"See `a. b` and {'a ' * 22}.\n", 1, "sentence of 27 words"),
    "long sentence behind emphasis": ("a.md", f"**A sum.** The\n{'a ' * 24}end.\n", 1, "sentence of 26 words"),
    "pronoun in place of a noun": (
        "a.md",
        "The slots of a rack, and\nThose of a switch.\n",
        2,
        "'Those of': say the noun",
    ),
    "pronoun across lines": ("a.md", "The slots, and those\nthat are free.\n", 1, "'those that': say the noun"),
    "long name of a test": (
        "a.py",
        "\ndef test_a1_b_c_d_e_f_g_h_i(): ...\n",
        2,
        "test_a1_b_c_d_e_f_g_h_i: 9 words; at most 8",
    ),
    "long name of a test in a class": (
        "a.py",
        "class TestA:\n    async def test_a1_b_c_d_e_f_g_h_i(self): ...\n",
        2,
        "test_a1_b_c_d_e_f_g_h_i: 9 words; at most 8",
    ),
    "test name that opens with an article": (
        "a.py",
        "def test_a_sum_is_exact(): ...\n",
        1,
        "test_a_sum_is_exact: name",
    ),
    "asynchronous test": ("a.py", "async def test_what_is_left(): ...\n", 1, "test_what_is_left: name"),
}

RIGHT = {
    "imperative": ("a.py", 'def f():\n    """Return the sum."""\n'),
    "question": ("a.md", "Why does it fit? What is a slot? A place for one chunk.\n"),
    "heading": ("a.md", "## What it is\n\nA sum.\n"),
    "cell of a table": ("a.md", "| What | 1 |\n"),
    "code in a page": ("a.md", "```\nWhat is left\n```\n"),
    "clause of place in a later sentence": ("a.py", '"""A sum. Where none is, zero."""\n'),
    "address": ("a.md", "[RFC](https://example.org/under way/nobody)\n"),
    "title of another work": ("a.py", "# Cardwell et al., “Overtaken by Events”.\n"),
    "title of another work in a page": ("a.md", 'As "Overtaking considered harmful" says.\n'),
    "string in C++ that looks like a comment": ("a.cpp", 'auto x = "// What";\n'),
    "long target of a link": ("a.md", f"[a]({'b' * 130}.md)\n"),
    "longest sentence": ("a.md", f"[A b c](d.md#e?f) {'a ' * 21}end. {'b ' * 24}\n"),
    "long sentence of two items": ("a.md", f"- {'a ' * 20}\n- {'a ' * 20}\n"),
    "long cell of a table": ("a.md", f"| those of {'a ' * 40}|\n"),
    "long code in a page": ("a.md", f"```\nthose of {'a ' * 40}\n```\n"),
    "long docstring": ("a.py", f'"""A sum, and those of {"a " * 40}."""\n'),
    "long line of code": ("a.py", f"x = {'1' * 130}\n"),
    "number at most": ("a.py", "slots_at_most = 1\n"),
    "part of a word": ("a.py", "class Dicer:\n    uppermost = 1\n"),
    "name of another package": ("a.py", "from resend_later import x\n"),
    "longest name of a test": ("a.py", "def test_a1_b_c_d_e_f_g_h(): ...\n"),
}


@pytest.mark.parametrize(("path", "text", "line", "message"), WRONG.values(), ids=WRONG)
def test_check_text_planted_problem_is_found(path: str, text: str, line: int, message: str) -> None:
    assert [problem.line for problem in check_text(path, text) if problem.text.startswith(message)] == [line]


@pytest.mark.parametrize(("path", "text"), RIGHT.values(), ids=RIGHT)
def test_check_text_plain_text_has_no_problem(path: str, text: str) -> None:
    assert check_text(path, text) == []


def test_glossary_replaced_words_match_their_patterns() -> None:
    for term in GLOSSARY:
        if term.pattern:
            words = [word.split(" (")[0] for word in term.instead_of.split(", ")]
            assert any(check_text("a.md", word) for word in words), term
        assert not check_text("a.md", term.say), term


def test_misplaced_tests_names_files_without_module() -> None:
    modules = ["host/lanesum/codecs/thc/grid.py", "host/lanesum/codecs/base.py"]
    right = [
        "codecs/test_base_rounds.py",
        "codecs/test_thc.py",
        "codecs/test_codecs_docs.py",
        "codecs/thc/test_grid.py",
    ]
    wrong = ["codecs/test_grid.py", "codecs/test_basement.py", "codecs/thc/test_base.py", "rpc/test_rpc.py"]
    found = misplaced_tests([*modules, *(f"tests/host/{path}" for path in (*right, *wrong))])
    assert [problem.path for problem in found] == [f"tests/host/{path}" for path in wrong]
    lab = ["lab/lanesum_lab/bench/gpu.py", "tests/lab/bench/test_gpu_traffic.py", "tests/lab/bench/test_speed.py"]
    assert [problem.path for problem in misplaced_tests(lab)] == ["tests/lab/bench/test_speed.py"]


def test_page_over_400_lines_is_found() -> None:
    assert not check_text("docs/a.md", "Word.\n\n" * 200)
    (problem,) = check_text("docs/a.md", "Word.\n\n" * 200 + "Word.\n")
    assert str(problem) == "docs/a.md:401: page of 401 lines; at most 400"


def test_main_given_folder_checks_only_tracked_files_below(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a/wrong.md", "b/wrong.md", "a/untracked.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("Two rounds under way.\n")
    for command in (["init", "-q"], ["add", "a/wrong.md", "b/wrong.md"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        assert main(["a"]) == 1
    assert capsys.readouterr().out == "a/wrong.md:1: 'under way': say in flight\n"


def test_second_homes_new_duplicate_is_found() -> None:
    texts = {
        "host/lanesum/a.py": "class Shared:\n    pass\nclass _Own:\n    pass\n",
        "softswitch/lanesum_switch/b.py": "\nclass Shared:\n    pass\nclass _Own:\n    pass\n",
        "tests/c.py": "class Shared:\n    pass\n",
    }
    (problem,) = second_homes(texts)
    assert str(problem) == (
        "softswitch/lanesum_switch/b.py:2: class 'Shared' is also in host/lanesum/a.py: rename one of them"
    )
