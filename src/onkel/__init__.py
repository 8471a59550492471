"""onkel: kernel learning on a budget, online.

Classifiers and regressors that learn a non-linear model from a stream, or from millions
of rows in one pass, with a model whose size and cost per row stay bounded.
"""

from onkel._version import __version__
from onkel.estimators.avm import AVMClassifier, AVMRegressor
from onkel.estimators.bogd import BOGDClassifier, BOGDRegressor
from onkel.estimators.bpa import BPAClassifier, BPARegressor
from onkel.estimators.bsca import BSCAClassifier, BSCARegressor
from onkel.estimators.bsgd import BSGDClassifier, BSGDRegressor
from onkel.estimators.budget_perceptron import BudgetPerceptronClassifier
from onkel.estimators.dual_sgd import DualSGDClassifier, DualSGDRegressor
from onkel.estimators.dual_svrg import DualSVRGClassifier, DualSVRGRegressor
from onkel.estimators.fogd import FOGDClassifier, FOGDRegressor
from onkel.estimators.forgetron import ForgetronClassifier, ForgetronRegressor
from onkel.estimators.fourier_features import FourierFeatures
from onkel.estimators.kernel import KernelClassifier, KernelRegressor
from onkel.estimators.kernel_perceptron import (
    KernelPerceptronClassifier,
    KernelPerceptronRegressor,
)
from onkel.estimators.kernel_sgd import KernelSGDClassifier, KernelSGDRegressor
from onkel.estimators.klms import KLMSClassifier, KLMSRegressor
from onkel.estimators.krls import KRLSClassifier, KRLSRegressor
from onkel.estimators.llsvm import LLSVMClassifier, LLSVMRegressor
from onkel.estimators.nbsgd import NBSGDClassifier, NBSGDRegressor
from onkel.estimators.nogd import NOGDClassifier, NOGDRegressor
from onkel.estimators.norma import NORMAClassifier, NORMARegressor
from onkel.estimators.nystrom_features import NystromFeatures
from onkel.estimators.ogd import OGDClassifier, OGDRegressor
from onkel.estimators.projectron import ProjectronClassifier, ProjectronRegressor
from onkel.estimators.qklms import QKLMSClassifier, QKLMSRegressor
from onkel.estimators.rbp import RBPClassifier, RBPRegressor
from onkel.storage.model_file import ModelFileError, load, save
from onkel.stream.progressive import progressive

__all__ = [
    "AVMClassifier",
    "AVMRegressor",
    "BOGDClassifier",
    "BOGDRegressor",
    "BPAClassifier",
    "BPARegressor",
    "BSCAClassifier",
    "BSCARegressor",
    "BSGDClassifier",
    "BSGDRegressor",
    "BudgetPerceptronClassifier",
    "DualSGDClassifier",
    "DualSGDRegressor",
    "DualSVRGClassifier",
    "DualSVRGRegressor",
    "FOGDClassifier",
    "FOGDRegressor",
    "ForgetronClassifier",
    "ForgetronRegressor",
    "FourierFeatures",
    "KLMSClassifier",
    "KLMSRegressor",
    "KRLSClassifier",
    "KRLSRegressor",
    "KernelClassifier",
    "KernelPerceptronClassifier",
    "KernelPerceptronRegressor",
    "KernelRegressor",
    "KernelSGDClassifier",
    "KernelSGDRegressor",
    "LLSVMClassifier",
    "LLSVMRegressor",
    "ModelFileError",
    "NBSGDClassifier",
    "NBSGDRegressor",
    "NOGDClassifier",
    "NOGDRegressor",
    "NORMAClassifier",
    "NORMARegressor",
    "NystromFeatures",
    "OGDClassifier",
    "OGDRegressor",
    "ProjectronClassifier",
    "ProjectronRegressor",
    "QKLMSClassifier",
    "QKLMSRegressor",
    "RBPClassifier",
    "RBPRegressor",
    "__version__",
    "load",
    "progressive",
    "save",
]
