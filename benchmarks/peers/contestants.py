"""Contestants that run in Python: our systems, and what one can install."""

import importlib.util
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

import onkel
from benchmarks.peers.tasks import Task

ETA0 = 0.5  # of those with a constant step


class Contestant(NamedTuple):
    """Somebody who learns in Python."""

    make: Callable[[Task], Any]
    against: str = ""  # which of ours it stands against; none for ours
    package: str = ""  # that may be missing
    at_every_budget: bool = False

    @property
    def why_not(self) -> str | None:
        """Why it does not run here, if it does not."""
        if self.package and importlib.util.find_spec(self.package) is None:
            return "not installed"
        return None


def _ours(name: str, at_every_budget: bool = False, **given: Any) -> Contestant:
    kind: Any = getattr(onkel, f"{name}Classifier")
    known = kind().get_params()

    def make(task: Task) -> Any:
        of_task = {
            "budget": task.budget,
            "n_components": task.budget,
            "rank": task.rank if name == "NOGD" else None,
            "gamma": task.gamma,
            "C": 1.0 if name == "BPA" else task.C,
            "alpha": task.alpha if name == "BSGD" else 0.0,
            "eta0": ETA0,
            "n_jobs": 1,
            "random_state": 0,
            # Rows are shuffled already, and programs learn them in that order.
            "shuffle": False,
        }
        taken = {key: value for key, value in of_task.items() if key in known}
        return kind(**(taken | given))

    return Contestant(make, at_every_budget=at_every_budget)


def _found_by_itself(task: Task) -> Any:
    return onkel.KernelClassifier(budget=task.budget, n_jobs=1, random_state=0)


OURS: Mapping[str, Contestant] = {
    "BSGD": _ours("BSGD", at_every_budget=True),
    "BSGD, removal": _ours("BSGD", maintenance="removal"),
    "BSCA": _ours("BSCA", at_every_budget=True, max_iter=1, average=None),
    "Kernel Perceptron": _ours("KernelPerceptron"),
    "RBP": _ours("RBP"),
    "Forgetron": _ours("Forgetron"),
    "Projectron": _ours("Projectron"),
    "Projectron++": _ours("Projectron", aggressive=True),
    "BPA-S": _ours("BPA"),
    "BOGD": _ours("BOGD"),
    "FOGD": _ours("FOGD"),
    "NOGD": _ours("NOGD"),
    "LLSVM": _ours("LLSVM"),
    "KernelClassifier": Contestant(_found_by_itself),
}


def _svc(task: Task) -> Any:
    from sklearn.svm import SVC

    return SVC(C=task.C, gamma=task.gamma, cache_size=1000)


def _linear_svc(task: Task) -> Any:
    from sklearn.svm import LinearSVC

    return LinearSVC(random_state=0)


def _sgd(task: Task) -> Any:
    from sklearn.linear_model import SGDClassifier

    return SGDClassifier(random_state=0, n_jobs=1)


def _nystroem(task: Task) -> Any:
    from sklearn.kernel_approximation import Nystroem
    from sklearn.pipeline import make_pipeline

    landmarks = min(task.budget, task.rows)
    features = Nystroem(gamma=task.gamma, n_components=landmarks, random_state=0)
    return make_pipeline(features, _linear_svc(task))


def _rbf_sampler(task: Task) -> Any:
    from sklearn.kernel_approximation import RBFSampler
    from sklearn.pipeline import make_pipeline

    features = RBFSampler(gamma=task.gamma, n_components=task.budget, random_state=0)
    return make_pipeline(features, _sgd(task))


def _lightgbm(task: Task) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(verbose=-1, n_jobs=1)


def _river(task: Task) -> Any:
    from river.compat import convert_river_to_sklearn
    from river.tree import HoeffdingAdaptiveTreeClassifier

    return _Dense(convert_river_to_sklearn(HoeffdingAdaptiveTreeClassifier(seed=0)))


class _Dense:
    """A model that takes no sparse rows."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def fit(self, X: Any, y: np.ndarray) -> "_Dense":
        self._model.fit(_dense(X), y)
        return self

    def predict(self, X: Any) -> np.ndarray:
        return np.asarray(self._model.predict(_dense(X)))


def _dense(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if scipy.sparse.issparse(X) else X)


class _Falkon:
    """Falkon on the processor: kernel ridge regression of the labels on centres."""

    def __init__(self, task: Task) -> None:
        import falkon
        import torch

        torch.set_num_threads(1)
        self._torch = torch
        self._model = falkon.Falkon(
            kernel=falkon.kernels.GaussianKernel(sigma=1 / math.sqrt(2 * task.gamma)),
            penalty=task.alpha,
            M=min(task.budget, task.rows),
            options=falkon.FalkonOptions(use_cpu=True),
        )

    def fit(self, X: Any, y: np.ndarray) -> "_Falkon":
        targets = self._torch.from_numpy(y.astype(np.float32))[:, None]
        self._model.fit(self._torch.from_numpy(_dense(X)), targets)
        return self

    def predict(self, X: Any) -> np.ndarray:
        scores = self._model.predict(self._torch.from_numpy(_dense(X)))
        return np.where(scores.numpy().ravel() >= 0.0, 1, -1)


INSTALLED: Mapping[str, Contestant] = {
    "SVC": Contestant(_svc, "BSCA"),
    "LinearSVC": Contestant(_linear_svc, "BSGD"),
    "SGDClassifier": Contestant(_sgd, "BSGD"),
    "Nystroem + LinearSVC": Contestant(_nystroem, "LLSVM"),
    "RBFSampler + SGD": Contestant(_rbf_sampler, "FOGD"),
    "LightGBM": Contestant(_lightgbm, "KernelClassifier", "lightgbm"),
    "River HAT": Contestant(_river, "BSGD", "river"),
    "falkon": Contestant(_Falkon, "LLSVM", "falkon"),
}

IN_PYTHON: Mapping[str, Contestant] = {**OURS, **INSTALLED}
