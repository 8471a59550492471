"""The systems of onkel for River: streams of dicts, one row at a time.

Every system with `partial_fit` is here under its own name: `learn_one`, `predict_one`,
`score_one` and `predict_proba_one`, and `learn_many` and `predict_many` on data frames.
Features may come and go, labels may come at any time. See `docs/river.md`.

Examples
--------
>>> from river import datasets, evaluate, metrics, preprocessing
>>> from onkel.river import BSGDClassifier
>>> model = preprocessing.StandardScaler() | BSGDClassifier(budget=100, seed=0)
>>> rows = datasets.Phishing()
>>> evaluate.progressive_val_score(rows, model, metrics.Accuracy()).get() > 0.85
True
"""

try:
    import river  # noqa: F401
except ImportError as error:
    raise ImportError(
        "onkel.river needs River, which is not installed: pip install 'onkel[river]'"
    ) from error

from onkel.river._face import faces

__all__ = []
for _name, _face in faces().items():
    globals()[_name] = _face
    __all__ += [_name]
