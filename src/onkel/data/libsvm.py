"""LIBSVM's text format: a line is a label and index:value pairs, indices from 1."""

import functools
import io
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from sklearn.datasets import load_svmlight_file

from onkel.data.bad_file import BadFileError, Complain, complain_of
from onkel.data.scaling import LARGEST
from onkel.data.text import open_text

# A wider matrix is taken for a mistake: its statistics alone would fill the memory.
WIDEST = 2**24
# So many features are room for a model in any case; more only where a file has values
# for them, as a model has a place for every feature up to the largest.
ROOMY = 2**17
# Text of a block, at most, however few rows that may be.
BLOCK_BYTES = 1 << 26


class Block(NamedTuple):
    """Consecutive rows of a file."""

    X: scipy.sparse.csr_array  # float64; as wide as its largest index
    y: np.ndarray  # shape (rows,), float64

    def widened(self, width: int, dtype: Any = np.float64) -> scipy.sparse.csr_array:
        """Return the rows as a matrix of a width."""
        parts = self.X.data.astype(dtype, copy=False), self.X.indices, self.X.indptr
        return scipy.sparse.csr_array(parts, shape=(len(self.y), width))


class LibsvmFile:
    """A file in LIBSVM's format, plain or compressed."""

    kinds: Mapping[str, str] = {}  # its columns have no names
    notes: Sequence[str] = ()

    def __init__(self, path: Path) -> None:
        self.path = path

    def blocks(
        self, rows: int, widest: int = WIDEST, labelled: bool = True
    ) -> Iterator[tuple[Block, Complain]]:
        """Read some rows at a time, each time with what raises the error for one.

        `rows` is at most, empty lines and comments among them, and `widest` the largest
        index allowed. Unless `labelled`, lines may begin without a label; y is then 0.
        """
        first, done = 1, 0
        with open_text(self.path) as file:
            while lines := _some_lines(file, rows):
                if not labelled:
                    lines = [_with_label(line) for line in lines]
                block = _parse(self.path, lines, first, widest)
                first += len(lines)
                if block.X.shape[0]:
                    yield block, complain_of(self.fault, done)
                    done += block.X.shape[0]

    def fault(self, row: int, what: str) -> BadFileError:
        """Return the error for a row, counted from 0, with its line."""
        with open_text(self.path) as file:
            numbered = enumerate(file, 1)
            full = (at for at, line in numbered if line.partition(b"#")[0].strip())
            line = next(itertools.islice(full, row, None))
            return BadFileError(self.path, what, line=line)


def _some_lines(file: io.BufferedReader, rows: int) -> list[bytes]:
    lines: list[bytes] = []
    size = 0
    for line in itertools.islice(file, rows):
        lines.append(line)
        size += len(line)
        if size > BLOCK_BYTES:
            break
    return lines


def refuse_roominess(files: Sequence[LibsvmFile], rows: int, labelled: bool) -> None:
    """Refuse files whose largest index is far beyond what they have values for.

    At most `rows` rows are in memory; `labelled` is as in `LibsvmFile.blocks`.
    """
    entries = widest = 0
    for file in files:
        for (X, _), complain in file.blocks(rows, labelled=labelled):
            entries += X.nnz
            if X.shape[1] > widest:
                widest = X.shape[1]
                place = int(X.indices.argmax())
                at = int(np.searchsorted(X.indptr, place, side="right")) - 1
                complain_of_widest = functools.partial(complain, at)
    if widest > max(ROOMY, entries):
        complain_of_widest(
            f"index {widest:,}, but {entries:,} values in the whole file: a model has "
            "room for every feature up to the largest, so that this would waste "
            f"gigabytes. Number the features from 1 on, or hash them to {ROOMY:,} "
            "(sklearn.feature_extraction.FeatureHasher)",
        )


def _with_label(line: bytes) -> bytes:
    words = line.split(maxsplit=1)
    return b"0 " + line if words and b":" in words[0] else line


def _parse(path: Path, lines: list[bytes], first: int, widest: int) -> Block:
    try:
        X, y = load_svmlight_file(
            io.BytesIO(b"".join(lines)), zero_based=False, dtype=np.float64
        )
    except (ValueError, OverflowError) as error:
        _complain(path, lines, first, widest)
        raise BadFileError(path, str(error), line=first) from error
    # A NaN is no smaller than the largest, either.
    sound = np.all(np.abs(X.data) <= LARGEST) and np.all(np.abs(y) <= LARGEST)
    if not sound or (X.nnz and X.indices.max() >= widest):
        _complain(path, lines, first, widest)
    indices, indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    # scikit-learn makes a matrix of no rows one column wide.
    narrow = scipy.sparse.csr_array((X.data, indices, indptr), shape=X.shape)
    return Block(narrow, y)


def _complain(path: Path, lines: list[bytes], first: int, widest: int) -> None:
    """Find the first bad line and raise."""
    for number, line in enumerate(lines, first):
        if what := _fault(line, widest):
            raise BadFileError(path, what, line=number)


def _fault(line: bytes, widest: int) -> str:
    """What is wrong with a line; empty if nothing is.

    Examples
    --------
    >>> _fault(b"1 2:0.5 1:3", 9)
    'index 1 follows index 2: indices must ascend'
    """
    words = line.decode(errors="replace").partition("#")[0].split()
    if not words:
        return ""
    if not _is_finite(words[0]):
        return (
            f"the label {words[0]!r} is not a finite number; if this is not LIBSVM's "
            "format, say which by the suffix or format="
        )
    if abs(float(words[0])) > LARGEST:
        return f"the label {words[0]} is beyond {LARGEST:g}, too large to learn"
    last = 0
    for word in words[1:]:
        index, colon, value = word.partition(":")
        if index == "qid":
            continue
        if not colon or not index.lstrip("+-").isdecimal():
            return f"{word!r} is not index:value"
        if int(index) < 1:
            return f"index {index}: indices begin with 1"
        if int(index) <= last:
            return f"index {index} follows index {last}: indices must ascend"
        if int(index) > widest:
            return f"index {index} is too large: the features are 1 to {widest}"
        if not _is_finite(value):
            return f"the value in {word!r} is not a finite number: leave it out or fill"
        if abs(float(value)) > LARGEST:
            return f"the value in {word!r} is beyond {LARGEST:g}, too large to learn"
        last = int(index)
    return ""


def _is_finite(word: str) -> bool:
    try:
        return math.isfinite(float(word))
    except ValueError:
        return False
