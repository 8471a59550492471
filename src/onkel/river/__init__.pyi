"""The systems of onkel for River; written by `onkel.river._stub`."""

from dataclasses import dataclass
from typing import Any

from onkel.river._classifier import OnlineClassifier, WeightedClassifier
from onkel.river._regressor import OnlineRegressor, WeightedRegressor

@dataclass(kw_only=True, eq=False, repr=False)
class AVMClassifier(WeightedClassifier):
    """Stochastic gradient descent on the cores of cells that cover the rows."""

    loss: str = "hinge"
    smoothing: float = 0.5
    coverage: str = "sphere"
    approx_beta: float = 0.0
    approx_rho: float = 1.0
    paper_box: bool = False
    lazy_core: bool = True
    alpha: float = 0.0001
    t0: float = 0.0
    ball: str | bool = "auto"
    average: str | None = None
    kernel: str = "rbf"
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 1.0
    coverage_radius: str | float = "auto"
    max_core: int | None = None
    when_full: str = "absorb"
    class_weight: dict | str | None = None
    seed: int | None = None

@dataclass(kw_only=True, eq=False, repr=False)
class AVMRegressor(WeightedRegressor):
    """Stochastic gradient descent on cores, for regression."""

    epsilon: float = 0.1
    loss: str = "epsilon_insensitive"
    coverage: str = "sphere"
    approx_beta: float = 0.0
    approx_rho: float = 1.0
    paper_box: bool = False
    lazy_core: bool = True
    alpha: float = 0.0001
    t0: float = 0.0
    ball: str | bool = "auto"
    average: str | None = None
    kernel: str = "rbf"
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 1.0
    coverage_radius: str | float = "auto"
    max_core: int | None = None
    when_full: str = "absorb"
    seed: int | None = None

@dataclass(kw_only=True, eq=False, repr=False)
class BOGDClassifier(WeightedClassifier):
    """Online gradient descent on a budget, with an unbiased random removal."""

    loss: str = "hinge"
    smoothing: float = 0.5
    budget: int = 500
    sampling: str = "uniform"
    max_coef: float = 4.0
    alpha: float = 0.0
    eta0: float = 0.5
    average: str | None = None
    average_exact: bool = False
    kernel: str = "rbf"
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 1.0
    class_weight: dict | str | None = None
    seed: int | None = None

@dataclass(kw_only=True, eq=False, repr=False)
class BOGDRegressor(WeightedRegressor):
    """Online gradient descent on a budget, for regression."""

    loss: str = "epsilon_insensitive"
    epsilon: float = 0.1
    budget: int = 500
    sampling: str = "uniform"
    max_coef: float = 4.0
    alpha: float = 0.0
    eta0: float = 0.5
    average: str | None = None
    average_exact: bool = False
    kernel: str = "rbf"
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 1.0
    seed: int | None = None

@dataclass(kw_only=True, eq=False, repr=False)
class BPAClassifier(WeightedClassifier):
    """Passive-aggressive steps on a budget; others stand in for the one that leaves."""

    variant: str = "s"
    C: float = 1.0
    budget: Any = 500
    kernel: str = "rbf"
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 1.0
    class_weight: dict | str | None = None
    seed: int | None = None

@dataclass(kw_only=True, eq=False, repr=False)
class BPARegressor(WeightedRegressor):
    """Passive-aggressive regression on a budget."""

    variant: str = "s"
    C: float = 1.0
    budget: Any = 500
    kernel: str = "rbf"
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 1.0
    epsilon: float = 0.1
    seed: int | None = None

@dataclass(kw_only=True, eq=False, repr=False)
class BSGDClassifier(WeightedClassifier):
    """Stochastic gradient descent on a hard budget."""

    loss: str = "hinge"
    smoothing: float = 0.5
    budget: int = 500
    maintenance: str = "merge"
    n_neighbors: int = 4
    n_merged: int = 2
    victim: str = "residual"
    alpha: float = 0.0001
    t0: float = 0.0
    ball: str | bool = "auto"
    average: str | None = None
    average_exact: bool = False
    kernel: str = "rbf"
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 1.0
    class_weight: dict | str | None = None
    seed: int | None = None

@dataclass(kw_only=True, eq=False, repr=False)
class BSGDRegressor(WeightedRegressor):
    """Stochastic gradient descent on a hard budget, for regression."""

    epsilon: float = 0.1
    loss: str = "epsilon_insensitive"
    budget: int = 500
    maintenance: str = "merge"
    n_neighbors: int = 4
    n_merged: int = 2
    victim: str = "residual"
    alpha: float = 0.0001
    t0: float = 0.0
    ball: str | bool = "auto"
    average: str | None = None
    average_exact: bool = False
    kernel: str = "rbf"
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 1.0
    seed: int | None = None

@dataclass(kw_only=True, eq=False, repr=False)
class BudgetPerceptronClassifier(OnlineClassifier):
    """Perceptron that drops the centre it needs least."""

    margin: float = 0.0
    budget: int = 500
    kernel: str = "rbf"
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 1.0
    seed: int | None = None

@dataclass(kw_only=True, eq=False, repr=False)
class DualSGDClassifier(WeightedClassifier):
    """Gradient descent on a budget, whose overflow moves to random features."""

    loss: str = "hinge"
    smoothing: float = 0.5
    budget: int = 100
    merge_size: int = 20
    n_components: int = 400
    alpha: float = 0.0001
    t0: float = 0.0
    average: str | None = None
    kernel: str = "rbf"
    gamma: str | float = "scale"
    features: str = "fourier"
    class_weight: dict | str | None = None
    seed: int | None = None

@dataclass(kw_only=True, eq=False, repr=False)
class DualSGDRegressor(WeightedRegressor):
    """Stochastic gradient descent on a budget and random features, for regression."""

    epsilon: float = 0.1
    loss: str = "epsilon_insensitive"
    budget: int = 100
    merge_size: int = 20
    n_components: int = 400
    alpha: float = 0.0001
    t0: float = 0.0
    average: str | None = None
    kernel: str = "rbf"
    gamma: str | float = "scale"
    features: str = "fourier"
    seed: int | None = None

@dataclass(kw_only=True, eq=False, repr=False)
class DualSVRGClassifier(WeightedClassifier):
    """Variance-reduced stochastic gradient descent in two spaces."""

    loss: str = "smooth_hinge"
    smoothing: float = 0.5
    oracle: str = "budget"
    budget: int = 100
    max_core: int | None = None
    lazy_core: bool = True
    n_components: int = 400
    memory_size: int = 100
    snapshot_period: int = 100
    reset: bool = True
    eta0: float | None = None
    alpha: float = 0.0001
    coverage_radius: str | float = "auto"
    kernel: str = "rbf"
    gamma: str | float = "scale"
    features: str = "fourier"
    class_weight: dict | str | None = None
    seed: int | None = None

@dataclass(kw_only=True, eq=False, repr=False)
class DualSVRGRegressor(WeightedRegressor):
    """Variance-reduced stochastic gradient descent in two spaces, for regression."""

    loss: str = "squared_error"
    oracle: str = "budget"
    budget: int = 100
    max_core: int | None = None
    lazy_core: bool = True
    n_components: int = 400
    memory_size: int = 100
    snapshot_period: int = 100
    reset: bool = True
    eta0: float | None = None
    alpha: float = 0.0001
    coverage_radius: str | float = "auto"
    kernel: str = "rbf"
    gamma: str | float = "scale"
    features: str = "fourier"
    seed: int | None = None

@dataclass(kw_only=True, eq=False, repr=False)
class FOGDClassifier(WeightedClassifier):
    """Online gradient descent on random Fourier features."""

    loss: str = "hinge"
    smoothing: float = 0.5
    alpha: float = 0.0
    eta0: float = 0.5
    learning_rate: str = "constant"
    power_t: float = 0.5
    average: str | None = None
    kernel: str = "rbf"
    n_components: int = 1000
    gamma: str | float = "scale"
    features: str = "fourier"
    class_weight: dict | str | None = None
    seed: int | None = None

@dataclass(kw_only=True, eq=False, repr=False)
class FOGDRegressor(WeightedRegressor):
    """Online gradient descent on random Fourier features, for regression."""

    epsilon: float = 0.1
    loss: str = "epsilon_insensitive"
    alpha: float = 0.0
    eta0: float = 0.5
    learning_rate: str = "constant"
    power_t: float = 0.5
    average: str | None = None
    kernel: str = "rbf"
    n_components: int = 1000
    gamma: str | float = "scale"
    features: str = "fourier"
    seed: int | None = None

@dataclass(kw_only=True, eq=False, repr=False)
class ForgetronClassifier(OnlineClassifier):
    """Perceptron that shrinks its coefficients and forgets the oldest centre."""

    budget: int = 500
    kernel: str = "rbf"
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 1.0
    seed: int | None = None

@dataclass(kw_only=True, eq=False, repr=False)
class ForgetronRegressor(OnlineRegressor):
    """Fixed steps; coefficients shrink and the oldest centre leaves."""

    epsilon: float = 0.1
    eta0: float = 0.5
    budget: int = 500
    kernel: str = "rbf"
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 1.0
    seed: int | None = None

@dataclass(kw_only=True, eq=False, repr=False)
class KLMSClassifier(OnlineClassifier):
    """Kernel least mean squares on targets of -1 and +1, without a budget."""

    eta0: float = 0.5
    average: str | None = None
    kernel: str = "rbf"
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 1.0
    seed: int | None = None

@dataclass(kw_only=True, eq=False, repr=False)
class KLMSRegressor(OnlineRegressor):
    """Kernel least mean squares, without a budget."""

    eta0: float = 0.5
    average: str | None = None
    kernel: str = "rbf"
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 1.0
    seed: int | None = None

@dataclass(kw_only=True, eq=False, repr=False)
class KRLSClassifier(WeightedClassifier):
    """Recursive least squares towards +1 and -1."""

    budget: int = 100
    noise: float | str = "auto"
    forgetting: float | str = "auto"
    threshold: float = 0.001
    pruning: str = "value"
    kernel: str = "rbf"
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 1.0
    class_weight: dict | str | None = None
    seed: int | None = None

@dataclass(kw_only=True, eq=False, repr=False)
class KRLSRegressor(WeightedRegressor):
    """Recursive least squares; says how sure it is."""

    budget: int = 100
    noise: float | str = "auto"
    forgetting: float | str = "auto"
    threshold: float = 0.001
    pruning: str = "value"
    kernel: str = "rbf"
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 1.0
    seed: int | None = None

@dataclass(kw_only=True, eq=False, repr=False)
class KernelClassifier(WeightedClassifier):
    """Kernel machine on a budget that finds its parameters itself."""

    loss: str = "auto"
    scoring: str | None = None
    budget: int | str = 500
    gamma: float | str = "auto"
    C: float | str = "auto"
    scale: bool = True
    adapt: bool = True
    memory_size: int = 10000
    class_weight: dict | str | None = None
    seed: int | None = None

@dataclass(kw_only=True, eq=False, repr=False)
class KernelPerceptronClassifier(OnlineClassifier):
    """Perceptron in the space of a kernel, without a budget."""

    kernel: str = "rbf"
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 1.0
    seed: int | None = None

@dataclass(kw_only=True, eq=False, repr=False)
class KernelPerceptronRegressor(OnlineRegressor):
    """Fixed steps towards targets missed by more than epsilon, without a budget."""

    epsilon: float = 0.1
    eta0: float = 0.5
    kernel: str = "rbf"
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 1.0
    seed: int | None = None

@dataclass(kw_only=True, eq=False, repr=False)
class KernelRegressor(WeightedRegressor):
    """Kernel machine on a budget for numbers, which finds its parameters itself."""

    loss: str = "squared_error"
    scoring: str | None = None
    budget: int | str = 500
    gamma: float | str = "auto"
    C: float | str = "auto"
    scale: bool = True
    adapt: bool = True
    memory_size: int = 10000
    epsilon: float = 0.1
    seed: int | None = None

@dataclass(kw_only=True, eq=False, repr=False)
class KernelSGDClassifier(WeightedClassifier):
    """Stochastic gradient descent in the space of a kernel, without a budget."""

    loss: str = "hinge"
    smoothing: float = 0.5
    alpha: float = 0.0001
    t0: float = 0.0
    ball: str | bool = "auto"
    average: str | None = None
    kernel: str = "rbf"
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 1.0
    class_weight: dict | str | None = None
    seed: int | None = None

@dataclass(kw_only=True, eq=False, repr=False)
class KernelSGDRegressor(WeightedRegressor):
    """Stochastic gradient descent for regression, without a budget."""

    epsilon: float = 0.1
    loss: str = "epsilon_insensitive"
    alpha: float = 0.0001
    t0: float = 0.0
    ball: str | bool = "auto"
    average: str | None = None
    kernel: str = "rbf"
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 1.0
    seed: int | None = None

@dataclass(kw_only=True, eq=False, repr=False)
class NBSGDClassifier(WeightedClassifier):
    """Stochastic gradient descent on a budget that grows by itself."""

    loss: str = "hinge"
    smoothing: float = 0.5
    kernel: str = "rbf"
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 1.0
    average: str | None = None
    average_exact: bool = False
    alpha: float = 0.0001
    t0: float = 0.0
    ball: str | bool = "auto"
    budget: int = 500
    maintenance: str = "merge"
    n_neighbors: int = 4
    n_merged: int = 2
    victim: str = "residual"
    maintenance_rate: float | None = None
    hard_budget: int | None = None
    class_weight: dict | str | None = None
    seed: int | None = None

@dataclass(kw_only=True, eq=False, repr=False)
class NBSGDRegressor(WeightedRegressor):
    """Stochastic gradient descent on a growing budget, for regression."""

    epsilon: float = 0.1
    loss: str = "epsilon_insensitive"
    kernel: str = "rbf"
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 1.0
    average: str | None = None
    average_exact: bool = False
    alpha: float = 0.0001
    t0: float = 0.0
    ball: str | bool = "auto"
    budget: int = 500
    maintenance: str = "merge"
    n_neighbors: int = 4
    n_merged: int = 2
    victim: str = "residual"
    maintenance_rate: float | None = None
    hard_budget: int | None = None
    seed: int | None = None

@dataclass(kw_only=True, eq=False, repr=False)
class NOGDClassifier(WeightedClassifier):
    """Online gradient descent on Nystrom features of the first support vectors."""

    loss: str = "hinge"
    smoothing: float = 0.5
    rank: int | None = None
    budget: int = 500
    alpha: float = 0.0
    eta0: float = 0.5
    learning_rate: str = "constant"
    power_t: float = 0.5
    average: str | None = None
    kernel: str = "rbf"
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 1.0
    class_weight: dict | str | None = None
    seed: int | None = None

@dataclass(kw_only=True, eq=False, repr=False)
class NOGDRegressor(WeightedRegressor):
    """Online gradient descent on Nystrom features, for regression."""

    epsilon: float = 0.1
    loss: str = "epsilon_insensitive"
    rank: int | None = None
    budget: int = 500
    alpha: float = 0.0
    eta0: float = 0.5
    learning_rate: str = "constant"
    power_t: float = 0.5
    average: str | None = None
    kernel: str = "rbf"
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 1.0
    seed: int | None = None

@dataclass(kw_only=True, eq=False, repr=False)
class NORMAClassifier(WeightedClassifier):
    """Online gradient descent on a budget: the oldest centre leaves."""

    loss: str = "hinge"
    smoothing: float = 0.5
    alpha: float = 0.001
    budget: int = 500
    eta0: float = 0.5
    learning_rate: str = "constant"
    power_t: float = 0.5
    average: str | None = None
    average_exact: bool = False
    kernel: str = "rbf"
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 1.0
    class_weight: dict | str | None = None
    seed: int | None = None

@dataclass(kw_only=True, eq=False, repr=False)
class NORMARegressor(WeightedRegressor):
    """Online gradient descent on a budget, for regression."""

    epsilon: float = 0.1
    loss: str = "epsilon_insensitive"
    alpha: float = 0.001
    budget: int = 500
    eta0: float = 0.5
    learning_rate: str = "constant"
    power_t: float = 0.5
    average: str | None = None
    average_exact: bool = False
    kernel: str = "rbf"
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 1.0
    seed: int | None = None

@dataclass(kw_only=True, eq=False, repr=False)
class OGDClassifier(WeightedClassifier):
    """Online gradient descent, without a budget."""

    loss: str = "hinge"
    smoothing: float = 0.5
    alpha: float = 0.0
    eta0: float = 0.5
    learning_rate: str = "constant"
    power_t: float = 0.5
    average: str | None = None
    kernel: str = "rbf"
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 1.0
    class_weight: dict | str | None = None
    seed: int | None = None

@dataclass(kw_only=True, eq=False, repr=False)
class OGDRegressor(WeightedRegressor):
    """Online gradient descent for regression, without a budget."""

    epsilon: float = 0.1
    loss: str = "epsilon_insensitive"
    alpha: float = 0.0
    eta0: float = 0.5
    learning_rate: str = "constant"
    power_t: float = 0.5
    average: str | None = None
    kernel: str = "rbf"
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 1.0
    seed: int | None = None

@dataclass(kw_only=True, eq=False, repr=False)
class ProjectronClassifier(OnlineClassifier):
    """Perceptron that stores only rows which its centres do not represent."""

    aggressive: bool = False
    projection_threshold: float = 0.1
    budget: Any = 500
    kernel: str = "rbf"
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 1.0
    seed: int | None = None

@dataclass(kw_only=True, eq=False, repr=False)
class ProjectronRegressor(OnlineRegressor):
    """Fixed steps towards targets; rows that the centres represent are not stored."""

    epsilon: float = 0.1
    eta0: float = 0.5
    projection_threshold: float = 0.1
    budget: Any = 500
    kernel: str = "rbf"
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 1.0
    seed: int | None = None

@dataclass(kw_only=True, eq=False, repr=False)
class QKLMSClassifier(OnlineClassifier):
    """Kernel least mean squares whose centres stand for the rows around them."""

    eta0: float = 0.5
    average: str | None = None
    kernel: str = "rbf"
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 1.0
    coverage_radius: str | float = "auto"
    max_core: int | None = None
    when_full: str = "absorb"
    seed: int | None = None

@dataclass(kw_only=True, eq=False, repr=False)
class QKLMSRegressor(OnlineRegressor):
    """Kernel least mean squares whose centres stand for the rows around them."""

    eta0: float = 0.5
    average: str | None = None
    kernel: str = "rbf"
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 1.0
    coverage_radius: str | float = "auto"
    max_core: int | None = None
    when_full: str = "absorb"
    seed: int | None = None

@dataclass(kw_only=True, eq=False, repr=False)
class RBPClassifier(OnlineClassifier):
    """Perceptron that forgets a random centre when its budget is full."""

    budget: int = 500
    kernel: str = "rbf"
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 1.0
    seed: int | None = None

@dataclass(kw_only=True, eq=False, repr=False)
class RBPRegressor(OnlineRegressor):
    """Fixed steps; a random centre leaves when the budget is full."""

    epsilon: float = 0.1
    eta0: float = 0.5
    budget: int = 500
    kernel: str = "rbf"
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 1.0
    seed: int | None = None
