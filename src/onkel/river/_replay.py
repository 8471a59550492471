"""Replay: a kernel machine begins anew, with the rows that it keeps for its re-fits.

For what it consists of there is no way to have more features: scales, centres and
weights of features come from a fit.
"""

from typing import Any

from onkel.model.growing import enlarged


def replayed(machine: Any, blank: Any, features: int) -> Any:
    """Teach a blank machine the recent rows of another, which have more features now.

    In all of these rows the new ones are 0. Rows older than `memory_size` are lost,
    but not the labels that only they had.
    """
    X, y, weight = machine._recent.rows()
    classes = getattr(machine, "classes_", None)
    if classes is not None:
        y = classes[y.astype(int)]
    with blank._draft() as draft:
        X, y = draft._checked_data(enlarged(X, len(X), features), y, reset=True)
        several = classes is not None and len(classes) > 1
        draft._take_classes(classes if several else None, y, True)
        # The weights are those of the classes already.
        draft._go_on(X, y, weight, False)
        draft._classes_given = False
    return blank
