"""Model files: estimators on disk, whole, checked, and without code.

A model file is a safetensors file. Its arrays are those of the estimator, under numbers
as names; its metadata has

- "onkel": version of this format;
- "model": JSON with the class, the parameters, what was learnt (see `tree`), and the
  version of the library that wrote it;
- "extra": JSON that somebody else wants to keep with the model, or none;
- "sha256": of the whole file, with sixty-four zeros in the place of the digest itself.

Nothing of a file is believed before its digest agrees. The digest is no signature: what
the file says is only ever filled into an estimator made of its parameters (`fitted`,
`filling`), and refused where it does not fit; no code is loaded or run. A file appears
at once or not at all.
"""

import hashlib
import json
import os
import re
import stat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from onkel._version import __version__
from onkel.estimators._registry import systems
from onkel.storage.fitted import LEFT_OUT, is_known, made
from onkel.storage.tree import Reader, Writer
from onkel.storage.whole_file import whole

FORMAT = 1
# A digest, or the place of one, in the header of a safetensors file. Quotes in the
# other entries are escaped, so that this occurs once.
DIGEST = re.compile(rb'"sha256":"([0-9a-f]{64})"')
BLANK = "0" * 64
# Parts of the JSON of a file: a model has some hundreds. Each takes memory, an empty
# one far more than its two bytes.
MOST_PARTS = 50_000
# Bytes: safetensors itself takes no longer ones.
LARGEST_HEADER = 100_000_000
ADVICE = "Get the file again, or train the model anew."


class ModelFileError(ValueError):
    """A file is no model file, or was damaged; the message names it and says why."""


class Contents(NamedTuple):
    """What a model file holds."""

    estimator: Any
    extra: Any  # plain JSON of whoever wrote the file
    arrays: dict[str, np.ndarray]  # that go with `extra`


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write an estimator of this library to a file, fitted or not.

    The file appears at once, complete, or not at all; one that was there is replaced.

    Parameters
    ----------
    estimator
        It does not change.
    path
        Of the file. Any name will do; ours end in ".onkel".

    Examples
    --------
    >>> import os, tempfile, onkel
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = onkel.RBPClassifier(budget=20, gamma=2.0, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.onkel")
    ...     onkel.save(model, path)
    ...     same = onkel.load(path)
    >>> bool((same.predict(X) == model.predict(X)).all())
    True
    """
    write(estimator, path)


def load(path: str | os.PathLike[str]) -> Any:
    """Read an estimator from a file that `save` wrote; it goes on bit for bit.

    Parameters
    ----------
    path
        Of the file. No code in it is run, and a file with a single wrong byte is
        refused.

    Raises
    ------
    ModelFileError
        If it is no model file, or not as it was written.
    """
    return read(path).estimator


def write(
    estimator: Any,
    path: str | os.PathLike[str],
    extra: Any = None,
    arrays: dict[str, np.ndarray] | None = None,
) -> None:
    """Write an estimator, and what else should be kept with it: see `Contents`."""
    name = type(estimator).__name__
    if systems().get(name) is not type(estimator):
        raise TypeError(
            f"{name} is no estimator of onkel; a model file holds those only. For a "
            "pipeline, save its last step, and keep the others by other means."
        )
    writer = Writer()
    metadata = {
        "onkel": str(FORMAT),
        "model": json.dumps(_described(estimator, writer), allow_nan=False),
        "extra": json.dumps(extra, allow_nan=False),
        "sha256": BLANK,
    }
    if _parts("".join(metadata.values()).encode()) > MOST_PARTS:
        raise TypeError(
            f"this {name} has parameters or labels of more than {MOST_PARTS:,} parts, "
            "which a model file does not hold"
        )
    tensors = {f"model.{key}": array for key, array in writer.arrays.items()}
    for key, array in (arrays or {}).items():
        tensors[f"extra.{key}"] = np.ascontiguousarray(array)
    content = _sorted(save_arrays(tensors, metadata))
    place = DIGEST.search(content, 0, _header_end(content))
    assert place is not None
    with whole(Path(path)) as file:
        file.write(content[: place.start(1)])
        file.write(hashlib.sha256(content).hexdigest().encode())
        file.write(content[place.end(1) :])


def _described(estimator: Any, writer: Writer) -> dict[str, Any]:
    """Return an estimator for JSON; its arrays go to the writer."""
    name = type(estimator).__name__
    estimator = estimator._still()  # another thread may learn meanwhile
    parameters = estimator.get_params(deep=False)
    fitted = {
        key: value
        for key, value in vars(estimator).items()
        if key not in parameters and not key.startswith(LEFT_OUT)
    }
    unknown = [key for key in fitted if not is_known(key)]
    if unknown:
        raise TypeError(
            f"this {name} has an attribute {unknown[0]!r} that a model file does not "
            "hold: delete it first"
        )
    return {
        "class": name,
        "written_by": __version__,
        "parameters": {k: writer.plain(v, k) for k, v in parameters.items()},
        "fitted": {k: writer.plain(v, k) for k, v in fitted.items()},
    }


def _sorted(content: bytes) -> bytes:
    """Sort the header of a safetensors file, so that the same model has the same bytes.

    The library leaves the order of metadata to chance.
    """
    end = _header_end(content)
    entries = json.loads(content[8:end])
    header = json.dumps(entries, sort_keys=True, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)  # the arrays stay aligned
    return len(header).to_bytes(8, "little") + header + content[end:]


def _header_end(content: bytes) -> int:
    """Where the header of a safetensors file ends: its first number says how long."""
    return 8 + int.from_bytes(content[:8], "little")


def read(path: str | os.PathLike[str]) -> Contents:
    """Read an estimator, and what else is kept with it."""
    content = _content(path)
    metadata = _verified(content, path)
    try:
        tensors = load_arrays(content)
        described = json.loads(metadata["model"])
        reader = Reader(_under("model.", tensors))
        estimator = made(
            systems()[described["class"]],
            {k: reader.value(v) for k, v in described["parameters"].items()},
            {k: reader.value(v) for k, v in described["fitted"].items()},
        )
        extra = json.loads(metadata["extra"])
    except Exception as error:  # whatever a forger thought of
        raise ModelFileError(
            f"{path} has the digest of a model file, but not the contents: "
            f"{str(error)[:500] or error!r}"
        ) from error
    kept = _under("extra.", tensors)
    return Contents(estimator, extra, {key: kept[key].copy() for key in kept})


def _under(prefix: str, tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return those arrays whose names begin so, without that."""
    return {
        key.removeprefix(prefix): array
        for key, array in tensors.items()
        if key.startswith(prefix)
    }


def _content(path: str | os.PathLike[str]) -> bytes:
    """Return all bytes of what may be a model file."""
    with open(path, "rb", opener=_without_waiting) as file:
        # Devices have no end.
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ModelFileError(f"{path} is no file: a model is not read from devices")
        # Read the header first: other files may be larger than the memory.
        header = file.read(8)
        header += file.read(max(0, min(_header_end(header), LARGEST_HEADER) - 8))
        if DIGEST.search(header) is None:
            raise ModelFileError(
                f"{path} is no model file of onkel, or was damaged. {ADVICE}"
            )
        return header + file.read()


def _without_waiting(path: str, flags: int) -> int:
    """Open, also a pipe into which nobody writes."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _parts(text: bytes) -> int:
    """Lists and dictionaries in JSON, at most; forty numbers weigh as one of them."""
    return text.count(b"[") + text.count(b"{") + text.count(b",") // 40


def _verified(content: bytes, path: Any) -> dict[str, str]:
    """Return the metadata of a file whose every byte is as it was written."""
    end, place = _header_end(content), DIGEST.search(content)
    assert place is not None
    digest = hashlib.sha256(content[: place.start(1)])
    digest.update(BLANK.encode())
    digest.update(content[place.end(1) :])
    if digest.hexdigest().encode() != place[1]:
        raise ModelFileError(
            f"{path} was damaged: its contents do not have the digest that it names. "
            f"{ADVICE}"
        )
    try:
        if _parts(content[8:end]) > MOST_PARTS:
            raise ValueError(f"more than {MOST_PARTS:,} parts")
        metadata = json.loads(content[8:end])["__metadata__"]
        version = int(metadata["onkel"])
    except Exception as error:
        raise ModelFileError(f"{path} is no model file of onkel. {ADVICE}") from error
    if version != FORMAT:
        raise ModelFileError(
            f"{path} has format {version}; this is onkel {__version__}, which reads "
            f"format {FORMAT}. Install the version of onkel that wrote it."
        )
    return metadata
