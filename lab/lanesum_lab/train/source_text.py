# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Tasks on the source text of Python's standard library: the next byte, and the next word.

The text is that of the running interpreter, without its tests. One file in twenty, chosen by a checksum of its path,
is in the test set.
"""

from __future__ import annotations

import collections
import hashlib
import re
import sysconfig
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from lanesum.errors import ConfigurationError

_LEFT_OUT = {"site-packages", "dist-packages", "test", "tests"}
_TEST_SHARE = 20
_WORD = re.compile(r"\w+|[^\w\s]")
# Samples of the test set, spread over its text.
_TEST_ROWS = 256
# Row 0 of a vocabulary stands for all other words.
_UNKNOWN = 0
# Multiplier of a hash by multiplication: the golden ratio as a fraction of 2**64.
_MIX = 0x9E3779B97F4A7C15


def library_files(limit: int | None = None) -> tuple[list[str], list[str]]:
    """Return the texts of training and test files, in the order of their paths.

    ``limit``: end each of the two lists with the file that reaches this number of characters. Raises
    ConfigurationError if the interpreter has no source files.
    """
    root = Path(sysconfig.get_paths()["stdlib"])
    parts: tuple[list[str], list[str]] = ([], [])
    sizes = [0, 0]
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root)
        if _LEFT_OUT.intersection(name.parts):
            continue
        which = zlib.crc32(name.as_posix().encode()) % _TEST_SHARE == 0
        if limit is None or sizes[which] < limit:
            parts[which].append(path.read_text(encoding="utf-8", errors="replace"))
            sizes[which] += len(parts[which][-1])
        elif min(sizes) >= limit:
            break
    if not all(sizes):
        raise ConfigurationError(
            f"{root} has no source files of the standard library.", "Use an interpreter that is installed with them."
        )
    return parts


class ByteTask:
    """The next byte of the text, by a transformer. ``limit``: see :func:`library_files`."""

    def __init__(self, limit: int | None = None) -> None:
        train, test = (
            torch.frombuffer(bytearray("".join(files).encode()), dtype=torch.uint8) for files in library_files(limit)
        )
        self.identity = _identity(train.numpy(), test.numpy())
        self._text = train
        starts = np.linspace(0, _last_start(len(test), _CONTEXT), _TEST_ROWS // 4, dtype=np.int64)
        self.test = self._rows(test, torch.from_numpy(starts))

    def model(self) -> nn.Module:
        """See :class:`lanesum_lab.train.jobs.Task`."""
        return CausalTransformer()

    def batch(self, step: int, rank: int, workers: int, size: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
        """See :class:`lanesum_lab.train.jobs.Task`: ``size`` stretches of text."""
        starts = _drawn(_last_start(len(self._text), _CONTEXT), step, rank, workers, size, seed)
        return self._rows(self._text, starts)

    def _rows(self, text: torch.Tensor, starts: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        rows = text[starts[:, None] + torch.arange(_CONTEXT + 1)].long()
        return rows[:, :-1], rows[:, 1:]


# Context in tokens, width, layers and heads of the transformer.
_CONTEXT, _WIDTH, _LAYERS, _HEADS = 64, 128, 4, 4


class CausalTransformer(nn.Module):
    """Layers of causal attention over ``tokens`` bytes or words."""

    def __init__(
        self,
        *,
        tokens: int = 256,
        context: int = _CONTEXT,
        width: int = _WIDTH,
        layers: int = _LAYERS,
        heads: int = _HEADS,
    ) -> None:
        super().__init__()
        self.tokens = nn.Embedding(tokens, width)
        self.places = nn.Embedding(context, width)
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.logits = nn.Linear(width, tokens)
        # No buffer: DDP would broadcast it in every step.
        self.mask = nn.Transformer.generate_square_subsequent_mask(context)

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        """Return the logits of the next token, shape ``(n, context, tokens)``, for tokens of shape ``(n, context)``."""
        x = self.tokens(text) + self.places.weight
        found: torch.Tensor = self.logits(self.layers(x, mask=self.mask, is_causal=True))
        return found


class WordTask:
    """The next word of the text from the eight words before it; the model has a row for each word.

    Args:
        limit: see :func:`library_files`.
        words: size of the vocabulary: the most frequent words, and one row for all others.

    Attributes:
        text: words of the training files, as rows of the vocabulary.
    """

    context = 8

    def __init__(self, limit: int | None = None, *, words: int = 20_000, width: int = 256) -> None:
        files = library_files(limit)
        counted: collections.Counter[str] = collections.Counter()
        for text in files[0]:
            counted.update(_WORD.findall(text))
        # Sorted by name where equally frequent: the order in which words appear does not count.
        common = sorted(counted.items(), key=lambda one: (-one[1], one[0]))[: words - 1]
        rows = {word: row for row, (word, _) in enumerate(common, start=1)}
        self.words, self.width = words, width
        self.text, tested = (np.array(list(_rows_of(texts, rows)), np.int64) for texts in files)
        self.identity = _identity(self.text, tested)
        starts = np.linspace(0, _last_start(len(tested), self.context), _TEST_ROWS, dtype=np.int64)
        self.test = self._samples(tested, starts)

    def model(self) -> nn.Module:
        """See :class:`lanesum_lab.train.jobs.Task`."""
        return WordModel(rows=self.words, width=self.width, inputs=self.context, hidden=self.width, words=self.words)

    def batch(self, step: int, rank: int, workers: int, size: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
        """See :class:`lanesum_lab.train.jobs.Task`: ``size`` words with their contexts."""
        starts = _drawn(_last_start(len(self.text), self.context), step, rank, workers, size, seed)
        return self._samples(self.text, starts.numpy())

    def _samples(self, text: NDArray[np.int64], starts: NDArray[np.int64]) -> tuple[torch.Tensor, torch.Tensor]:
        rows = text[starts[:, None] + np.arange(self.context + 1)]
        return torch.from_numpy(self._inputs(rows[:, :-1])), torch.from_numpy(rows[:, -1].copy())

    def _inputs(self, context: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of the embedding, shape ``(n, inputs)``, for words of shape ``(n, context)``."""
        return context.copy()


class SequenceTask(WordTask):
    """The next word from the sequences of one to four words before it.

    Each sequence selects a row by its hash. So a batch has gradients in few of the rows, and the output layer is small:
    the gradient is row-sparse.
    """

    context = 4
    rows = 1 << 18
    hidden = 64

    def __init__(self, limit: int | None = None, *, words: int = 2_000, width: int = 40) -> None:
        super().__init__(limit, words=words, width=width)

    def model(self) -> nn.Module:
        """See :class:`lanesum_lab.train.jobs.Task`."""
        return WordModel(rows=self.rows, width=self.width, inputs=self.context, hidden=self.hidden, words=self.words)

    def _inputs(self, context: NDArray[np.int64]) -> NDArray[np.int64]:
        hashed, columns = np.zeros(len(context), np.uint64), []
        for place in reversed(range(self.context)):
            hashed = (hashed + context[:, place].astype(np.uint64) + np.uint64(1)) * np.uint64(_MIX)
            columns.append((hashed >> np.uint64(40)) % np.uint64(self.rows))
        return np.stack(columns, axis=1).astype(np.int64)


class WordModel(nn.Module):
    """Embeddings of ``inputs`` rows, one hidden layer, and the logits of ``words`` words."""

    def __init__(self, *, rows: int, width: int, inputs: int, hidden: int, words: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(rows, width)
        self.hidden = nn.Linear(inputs * width, hidden)
        self.logits = nn.Linear(hidden, words)
        # Wide layers of unit variance would begin with a loss far above that of guessing.
        nn.init.normal_(self.embedding.weight, std=0.1)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the logits, shape ``(n, words)``, for rows of shape ``(n, inputs)``."""
        found: torch.Tensor = self.logits(torch.relu(self.hidden(self.embedding(rows).flatten(1))))
        return found


def _rows_of(texts: list[str], rows: dict[str, int]) -> Iterator[int]:
    for text in texts:
        yield from (rows.get(word, _UNKNOWN) for word in _WORD.findall(text))


def _last_start(size: int, context: int) -> int:
    """Return the position of the last sample of a text. Raises ConfigurationError if there are fewer than two."""
    if size < context + 2:
        raise ConfigurationError(
            f"The text has {size} bytes or words: two samples need {context + 2}.", "Raise --limit."
        )
    return size - context - 1


def _drawn(count: int, step: int, rank: int, workers: int, size: int, seed: int) -> torch.Tensor:
    """Return ``size`` random numbers below ``count``, others for every step and rank."""
    generator = np.random.default_rng((seed, step, rank, workers))
    return torch.from_numpy(generator.integers(0, count, size))


def _identity(*arrays: NDArray[np.generic]) -> str:
    digest = hashlib.sha256()
    for one in arrays:
        digest.update(np.ascontiguousarray(one).tobytes())
    return digest.hexdigest()
