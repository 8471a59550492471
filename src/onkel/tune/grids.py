"""Grids: the values that the papers try for each parameter."""

from collections.abc import Sequence

from onkel.tune.sample import Sample


def powers(*exponents: int) -> tuple[float, ...]:
    """Powers of two.

    Examples
    --------
    >>> powers(-1, 0, 3)
    (0.5, 1.0, 8.0)
    """
    return tuple(2.0**k for k in exponents)


# AVM and DualSVRG.
GAMMAS = powers(-8, -4, -2, 0, 2, 4, 8)
ALPHAS = powers(*range(-4, 17, 2))  # times 1/n
CS = powers(*range(-5, 16, 2))
ETAS = (16.0, 8.0, 4.0, 2.0, 0.2, 0.02, 0.002, 0.0002)
# NBSGD, for gamma and alpha.
NBSGD = powers(-8, -4, 0, 4, 10)
# BOGD: "width 8" is exp(-d^2 / 128); alphas are times 1/T^2.
BOGD_GAMMA = 1 / 128
BOGD_ALPHAS = BOGD_ETAS = powers(*range(-3, 4))
BOGD_MAX_COEFS = powers(*range(5))
# BSCA: whole exponents; the range is not stated, so this is ours.
BSCA_GAMMAS = powers(*range(-9, 4, 2))
BSCA_CS = powers(*range(-3, 10, 2))


def of_papers(sample: Sample) -> dict[str, dict[str, Sequence[float]]]:
    """The grids of the papers, by paper; what depends on n is for these rows."""
    n = sample.learnt_rows
    mean, deviation = sample.distances
    # "Twice the mean distance, varied within twice its deviation" is a diameter.
    radii = [mean + k * deviation for k in (-2, -1.5, -1, -0.5, 0.0)]
    online: dict[str, Sequence[float]] = {
        "gamma": GAMMAS,
        "alpha": [alpha / n for alpha in ALPHAS],
        "C": CS,
        "eta0": ETAS,
        "coverage_radius": [radius for radius in radii if radius > 0.0],
    }
    return {
        "avm": online,
        "dualsvrg": online,
        "nbsgd": {"gamma": NBSGD, "alpha": NBSGD},
        "bogd": {
            "gamma": (BOGD_GAMMA,),
            "alpha": [alpha / n**2 for alpha in BOGD_ALPHAS],
            "eta0": BOGD_ETAS,
            "max_coef": BOGD_MAX_COEFS,
        },
        "bsca": {"gamma": BSCA_GAMMAS, "C": BSCA_CS},
    }
