"""Likelihoods, priors and the local potentials f_k the samplers descend."""

from airbayes.models.augment import Augmentation, AugmentedGradient
from airbayes.models.base import Classifier, Model
from airbayes.models.linear import LinearRegression, gaussian_posterior, pooled_quadratic, quadratic_potentials
from airbayes.models.local_data import LocalData, draw_minibatch, pool_agents, stack_agents
from airbayes.models.max_pool import dense_max_pool, dense_max_pool_plain
from airbayes.models.neural import NetworkClassifier, mlp
from airbayes.models.pointnet import PointNetClassifier, pointnet
from airbayes.models.posterior import FullGradient, MiniBatchGradient, Posterior
from airbayes.models.prior import GaussianPrior, LaplacePrior, Prior
from airbayes.models.softmax import SoftmaxRegression

__all__ = [
    "Augmentation",
    "AugmentedGradient",
    "Classifier",
    "FullGradient",
    "GaussianPrior",
    "LaplacePrior",
    "LinearRegression",
    "LocalData",
    "MiniBatchGradient",
    "Model",
    "NetworkClassifier",
    "PointNetClassifier",
    "Posterior",
    "Prior",
    "SoftmaxRegression",
    "dense_max_pool",
    "dense_max_pool_plain",
    "draw_minibatch",
    "gaussian_posterior",
    "mlp",
    "pointnet",
    "pool_agents",
    "pooled_quadratic",
    "quadratic_potentials",
    "stack_agents",
]
