"""Passes on a GPU: tensors of kernel values, kept where its memory has room.

Kernel values and their products are in single precision, sums over tiles and factors in
double. The rows are copied to the device once, dense, if they take no more than a
share of its memory, and otherwise a tile at a time.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse
import torch

from onkel.engine.fitted_expansion import FittedExpansion
from onkel.problem import kernels
from onkel.problem.kernels import Kernel
from onkel.problem.losses import Loss
from onkel.refit import torch_losses
from onkel.refit.passes import (
    LIFT,
    NUGGET,
    Device,
    Factor,
    Passes,
    Pulls,
    Visit,
    bent,
    changed,
)

# Share of the free memory for rows, and of what is left for kernel values.
FOR_ROWS, FOR_VALUES = 0.3, 0.6
# Bytes that stand for the memory where there is no GPU, as in tests.
PRETENDED = 2**30
# Kernel values of a tile, and entries of rows that are made dense at a time.
TILE, DENSE = 2**26, 2**24
FEWEST_ROWS = 64
# Steps that are done before one is recorded: they load libraries, and reserve memory.
BEFORE_RECORDING = 3
# Rows that are remembered: those of a fit, and of the sample at work.
REMEMBERED = 2
# Centres at which budget="auto" ends.
MOST_CENTRES = 32_000


class Cuda(Device):
    """A GPU, or for tests this machine's processor by the same way."""

    most_centres = MOST_CENTRES

    def __init__(self, name: str = "cuda") -> None:
        self.where = torch.device(name)
        self.is_gpu = self.where.type == "cuda"
        self._uploads: list[tuple[Any, _Rows]] = []
        # Whoever takes less in his own program does not mean ours.
        self._precision = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("highest")

    def passes(
        self,
        kernel: Kernel,
        X: Any,
        points: np.ndarray,
        relevance: np.ndarray | None = None,
        ridge: float = 0.0,
    ) -> "OnCuda":
        """Passes over rows, dense or CSR."""
        return OnCuda(self, kernel, self.rows(X), points, relevance, ridge)

    def batches(
        self, X: Any, y: np.ndarray, weight: np.ndarray, loss: Loss
    ) -> "CudaBatches":
        """Rows to be drawn from again and again."""
        return CudaBatches(self, self.rows(X), y, weight, loss)

    def score(self, expansion: FittedExpansion, X: Any) -> np.ndarray:
        """Scores of rows, without explicit features, some at a time."""
        dtype = torch.float32 if expansion.coef.dtype == np.float32 else torch.float64
        centres = self.put(expansion.centers, dtype)
        coef = self.put(expansion.center_coef.T, dtype)
        step = rows_of_a_tile(*centres.shape)
        out = np.empty((X.shape[0], coef.shape[1]), expansion.coef.dtype)
        for first in range(0, len(out), step):
            rows = self.dense(X[first : first + step], dtype)
            found = values_of(expansion.kernel, rows, centres) @ coef
            out[first : first + step] = found.cpu().numpy()
        return out

    def dense(self, X: Any, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """Copy some rows to the device."""
        return self.put(X.toarray() if scipy.sparse.issparse(X) else X, dtype)

    def rows(self, X: Any) -> "_Rows":
        """Rows that were copied there, or are now."""
        for known, rows in self._uploads:
            if known is X:
                return rows
        self._uploads = self._uploads[-(REMEMBERED - 1) :]
        rows = _Rows(self, X)
        self._uploads.append((X, rows))
        return rows

    def put(self, array: Any, dtype: torch.dtype = torch.float64) -> torch.Tensor:
        """Copy numbers to the device, also where that is this machine's memory."""
        array = np.ascontiguousarray(array)
        # PyTorch warns of arrays that may not be written, as joblib makes them.
        there = torch.as_tensor(array if array.flags.writeable else array.copy())
        return there.to(self.where, dtype, copy=True)

    def free(self) -> int:
        """Bytes that tensors could still take."""
        if not self.is_gpu:
            return PRETENDED
        reserved = torch.cuda.memory_reserved(self.where)
        taken = torch.cuda.memory_allocated(self.where)
        return int(torch.cuda.mem_get_info(self.where)[0] + reserved - taken)

    def close(self) -> None:
        """Leave nothing on the device."""
        self._uploads = []
        torch.set_float32_matmul_precision(self._precision)
        if self.is_gpu:
            # Of cuBLAS, which would keep them for the process.
            torch._C._cuda_clearCublasWorkspaces()
            torch.cuda.empty_cache()


class _Rows:
    """Rows on the device, in single precision; those that are too many stay here."""

    def __init__(self, device: Cuda, X: Any) -> None:
        self.device, self.X = device, X
        self.shape: tuple[int, int] = X.shape
        self.there: torch.Tensor | None = None
        if 4 * X.shape[0] * X.shape[1] > FOR_ROWS * device.free():
            return
        there = torch.empty(X.shape, dtype=torch.float32, device=device.where)
        step = max(DENSE // max(X.shape[1], 1), 1)
        for first in range(0, X.shape[0], step):
            there[first : first + step] = device.dense(X[first : first + step])
        self.there = there

    def take(self, which: Any) -> torch.Tensor:
        """Rows of a slice, or of a tensor of numbers."""
        if self.there is not None:
            return self.there[which]
        if isinstance(which, torch.Tensor):
            which = which.cpu().numpy()
        return self.device.dense(self.X[which])


class _Factor(Factor):
    """Cholesky's, in double precision, on the device."""

    def __init__(
        self,
        device: Cuda,
        gram: torch.Tensor,
        made: torch.Tensor,
        curvatures: np.ndarray,
        summed: float,
    ) -> None:
        self.device, self.made = device, made  # made: K' D K
        self.curvatures, self.summed = curvatures, summed
        matrix = gram + made
        diagonal = matrix.diagonal()
        lift = LIFT * float(diagonal.mean())
        while True:
            if not math.isfinite(lift):
                # As SciPy does; no lift would be enough.
                raise ValueError("the matrix must not contain infs or NaNs")
            diagonal += lift
            self.lower, failed = torch.linalg.cholesky_ex(matrix)
            if not int(failed):
                return
            lift *= 10.0

    def solve(self, gradient: np.ndarray) -> np.ndarray:
        """Inverse of the matrix times a gradient."""
        there = self.device.put(gradient.T)
        return torch.cholesky_solve(there, self.lower).T.cpu().numpy()

    def whitened(self, coef: np.ndarray) -> np.ndarray:
        """L' b."""
        return (self.device.put(coef) @ self.lower).cpu().numpy()

    def basis(self) -> torch.Tensor:
        """The inverse of L'."""
        lower = self.lower
        unit = torch.eye(len(lower), dtype=lower.dtype, device=lower.device)
        inverse = torch.linalg.solve_triangular(lower, unit, upper=False)
        return inverse.T.to(torch.float32).contiguous()


class OnCuda(Passes):
    """Passes over kernel values; they are kept as far as there is room."""

    def __init__(
        self,
        device: Cuda,
        kernel: Kernel,
        rows: _Rows,
        points: np.ndarray,
        relevance: np.ndarray | None = None,
        ridge: float = 0.0,
        keep: bool = True,
        which: torch.Tensor | None = None,
    ) -> None:
        self.device, self.kernel, self.points = device, kernel, points
        self.rows, self.keep, self.which = rows, keep, which
        is_plain = relevance is None or bool((relevance == 1.0).all())
        self.relevance = None if is_plain else device.put(relevance, torch.float32)
        self.centres = device.put(points, torch.float32)
        exact = device.put(points)
        gram = values_of(kernel, exact, exact)
        diagonal = gram.diagonal()
        diagonal += NUGGET * float(diagonal.mean()) + ridge
        self.gram = gram
        self.forget()

    def __len__(self) -> int:
        return self.rows.shape[0] if self.which is None else len(self.which)

    def of(self, rows: np.ndarray) -> "OnCuda":
        """Passes over some of the rows."""
        some = object.__new__(OnCuda)
        some.__dict__.update(self.__dict__)
        chosen = self.device.put(rows, torch.int64)
        some.which = chosen if self.which is None else self.which[chosen]
        some.forget()
        return some

    def at(self, points: np.ndarray, relevance: np.ndarray) -> "OnCuda":
        """Passes over the same rows with other centres."""
        return OnCuda(
            *(self.device, self.kernel, self.rows, points, relevance),
            keep=False,
            which=self.which,
        )

    def forget(self) -> None:
        """Make room."""
        self._kept: torch.Tensor | None = None
        self._known = 0  # rows, from the first on, whose values are there

    def visit(
        self, loss: Loss, coef: np.ndarray, y: np.ndarray, weight: np.ndarray
    ) -> Visit:
        """Scores of all rows, and what the losses say of them."""
        put = self.device.put
        coef32, C, targets = put(coef.T, torch.float32), put(weight), put(y)
        parts = []
        lost, gradient = 0.0, torch.zeros_like(coef32.T, dtype=torch.float64)
        for part, known in self._tiles():
            scores = (known @ coef32).double()
            each = torch_losses.differentiate(loss, scores, targets[part], C[part])
            gradient += each.slopes.float().T @ known
            is_sloping = (each.slopes != 0.0).any(dim=1)
            curvatures = bent(loss, each.curvatures, is_sloping, C[part])
            parts.append(torch.cat([scores, curvatures[:, None]], dim=1))
            lost = lost + each.lost
        found = torch.cat(parts).cpu().numpy()
        scores, curvatures = np.ascontiguousarray(found[:, :-1]), found[:, -1].copy()
        return Visit(scores, curvatures, float(lost), gradient.cpu().numpy())

    def smooth(self, coef: np.ndarray) -> np.ndarray:
        """Coefficients times G."""
        return (self.device.put(coef) @ self.gram).cpu().numpy()

    def factor(self, curvatures: np.ndarray, last: Any = None) -> Factor:
        """Cholesky factor of K' D K + G."""
        share, rows, changes, summed = changed(curvatures, last)
        made = share * last.made if share else torch.zeros_like(self.gram)
        signs = self.device.put(np.sign(changes), torch.float32)
        roots = self.device.put(np.sqrt(np.abs(changes)), torch.float32)
        which = self.device.put(rows, torch.int64)
        for first in range(0, len(rows), self._step):
            part = slice(first, first + self._step)
            known = self._of_some(which[part]) * roots[part, None]
            made += known.T @ (known * signs[part, None])
        return _Factor(self.device, self.gram, made, curvatures, summed)

    def squares(self, weight: np.ndarray) -> float:
        """Sum of all squared kernel values, weighted by row."""
        weights = self.device.put(weight)
        sums = [
            weights[part] @ (known * known).sum(dim=1).double()
            for part, known in self._tiles()
        ]
        return float(sum(sums))

    def pulls(self, slopes: np.ndarray, coef: np.ndarray) -> Pulls:
        """Pulls of the rows."""
        put = self.device.put
        slopes32, coef32 = put(slopes, torch.float32), put(coef, torch.float32)
        centres, features = self.centres.shape
        weights = torch.zeros(centres, dtype=torch.float64, device=self.device.where)
        products = torch.zeros_like(self.centres, dtype=torch.float64)
        squares = weights.new_zeros(features)
        for part, known in self._tiles():
            X = self._rows(part)
            W = (slopes32[part] @ coef32) * known
            weights += W.sum(dim=0)
            products += W.T @ X
            squares += (X * X).double().T @ W.sum(dim=1, dtype=torch.float64)
        return Pulls(*(each.cpu().numpy() for each in (weights, products, squares)))

    def pairs(
        self, coef: np.ndarray, points: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Sums over pairs of centres."""
        b = self.device.put(coef)
        pairs = (b.T @ b) * self.gram
        pairs.fill_diagonal_(0.0)  # nothing comes nearer to itself
        sums, products = pairs.sum(dim=0), pairs @ self.device.put(points)
        return sums.cpu().numpy(), products.cpu().numpy()

    # ---- kernel values

    @property
    def _step(self) -> int:
        return rows_of_a_tile(*self.points.shape)

    def _tiles(self) -> Iterator[tuple[slice, torch.Tensor]]:
        """Kernel values of all rows, some at a time."""
        if self._kept is None:
            self._kept = self.centres.new_empty((self._room(), len(self.points)))
        for first in range(0, len(self), self._step):
            part = slice(first, min(first + self._step, len(self)))
            if part.stop > len(self._kept):
                yield part, self._computed(part)
                continue
            if part.stop > self._known:
                self._kept[part], self._known = self._computed(part), part.stop
            yield part, self._kept[part]

    def _room(self) -> int:
        """Rows whose kernel values are to be kept."""
        room = int(FOR_VALUES * self.device.free()) // (4 * max(len(self.points), 1))
        return min(room, len(self)) if self.keep else 0

    def _of_some(self, rows: torch.Tensor) -> torch.Tensor:
        if self._kept is not None and self._known == len(self):
            return self._kept[rows]
        return self._computed(rows)

    def _rows(self, which: Any) -> torch.Tensor:
        return self.rows.take(which if self.which is None else self.which[which])

    def _computed(self, which: Any) -> torch.Tensor:
        rows = self._rows(which)
        if self.relevance is not None:
            rows = rows * self.relevance
        return values_of(self.kernel, rows, self.centres)


def rows_of_a_tile(centres: int, features: int) -> int:
    """Rows of which neither kernel values nor features, made dense, are too many.

    Examples
    --------
    >>> rows_of_a_tile(500, 50), rows_of_a_tile(500, 50_000)
    (134217, 335)
    """
    values, dense = TILE // max(centres, 1), DENSE // max(features, 1)
    return max(min(values, dense), FEWEST_ROWS)


def values_of(kernel: Kernel, X: torch.Tensor, centres: torch.Tensor) -> torch.Tensor:
    """Kernel values of rows with centres, in their precision.

    Examples
    --------
    >>> points = torch.tensor([[0.0, 1.0], [0.0, 3.0]])
    >>> values_of(kernels.make("linear", 1.0, 1, 0.0), points, points).tolist()
    [[1.0, 3.0], [3.0, 9.0]]
    """
    # Beyond this it would be infinite in single precision, and infinity times 0 NaN.
    gamma = min(kernel.gamma, kernels.LARGEST_GAMMA)
    if kernel.kind == kernels.Kind.LAPLACIAN:
        return torch.cdist(X, centres, p=1.0).mul_(-gamma).exp_()
    if kernel.kind == kernels.Kind.LINEAR:
        return X @ centres.T
    if kernel.kind == kernels.Kind.POLY:
        products = X @ centres.T
        return products.mul_(gamma).add_(kernel.coef0).pow_(kernel.degree)
    if len(centres):
        # Far from the origin squares would be large, and what is left of them noise.
        middle = centres.median(dim=0).values
        X, centres = X - middle, centres - middle
    values = X @ centres.T
    values.mul_(2.0).sub_((centres * centres).sum(dim=1))
    values.sub_((X * X).sum(dim=1)[:, None])
    # Where rounding makes a distance negative.
    return values.mul_(gamma).clamp_(max=0.0).exp_()


class CudaBatches:
    """Rows on the device, to be drawn from again and again."""

    xp: Any = torch

    def __init__(
        self, device: Cuda, rows: _Rows, y: np.ndarray, weight: np.ndarray, loss: Loss
    ) -> None:
        self.device, self.there, self.loss = device, rows, loss
        self.y, self.weight = device.put(y), device.put(weight)

    def slices(self, rows: Any) -> list[Any]:
        """Parts of a step's rows: only one, since a GPU shares them out itself."""
        return [rows]

    def put(self, array: np.ndarray) -> torch.Tensor:
        """Copy numbers to the device."""
        return self.device.put(array, torch.float32)

    def get(self, array: torch.Tensor) -> np.ndarray:
        """Copy numbers back, in double precision."""
        return array.double().cpu().numpy()

    def order(self, rows: np.ndarray) -> torch.Tensor:
        """Numbers of rows, as `rows` and `slopes` want them."""
        return self.device.put(rows, torch.int64)

    def rows(self, which: torch.Tensor) -> torch.Tensor:
        """Some rows."""
        return self.there.take(which)

    def slopes(self, scores: torch.Tensor, which: torch.Tensor) -> torch.Tensor:
        """Slopes of the losses by the scores, weighted."""
        found = torch_losses.differentiate(
            self.loss, scores.double(), self.y[which], self.weight[which]
        )
        return found.slopes.float()

    def repeated(self, step: Any) -> Any:
        """What does a step, again and again: without Python, where there is a GPU."""
        is_there = self.there.there is not None
        return _Replayed(step) if self.device.is_gpu and is_there else step

    def each(self, parts: list[Any], task: Any) -> list[Any]:
        """Results of a task for each of the parts; side by side, where replayed."""
        if not (self.device.is_gpu and torch.cuda.is_current_stream_capturing()):
            return [task(part) for part in parts]
        here, found = torch.cuda.current_stream(), []
        streams = [here, *(torch.cuda.Stream() for _ in parts[1:])]
        for stream in streams[1:]:
            stream.wait_stream(here)
        for part, stream in zip(parts, streams, strict=True):
            with torch.cuda.stream(stream):
                found.append(task(part))
        for stream in streams[1:]:
            here.wait_stream(stream)
        return found


class _Replayed:
    """A step that is recorded when it has been done some times, then replayed.

    Of a step of 512 rows, to start some fifty operations from Python takes ten times as
    long as to carry them out.
    """

    def __init__(self, step: Any) -> None:
        self.step, self.done = step, 0
        self.graph: torch.cuda.CUDAGraph | None = None

    def __call__(self, *inputs: torch.Tensor) -> None:
        """Do a step with inputs of the same shapes as ever."""
        self.done += 1
        if self.done <= BEFORE_RECORDING:
            self.step(*inputs)
            return
        if self.graph is None:
            self.inputs = [each.clone() for each in inputs]
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.step(*self.inputs)  # recorded, not carried out
        for mine, given in zip(self.inputs, inputs, strict=True):
            mine.copy_(given)
        self.graph.replay()
