"""How good the predictions are, how honest their confidences, and how far the sampler is from its target.

Scores, calibration, uncertainty and running means live on the device (jit, vmap, float32); the W2 distance
and the convergence diagnostics run on the host in float64.
"""

from airbayes.metrics.calibration import ReliabilityBins, ece, mce, reliability_bins
from airbayes.metrics.diagnostics import ess, rhat
from airbayes.metrics.gaussian import consensus_distance, rms, w2_gaussians
from airbayes.metrics.predictive import RunningMean, RunningMoments, RunningPredictive
from airbayes.metrics.scores import (
    accuracy,
    balanced_accuracy,
    brier,
    confusion_matrix,
    mean_over_real,
    nll,
    nll_from_log,
)
from airbayes.metrics.temperature import fit_temperature, temper
from airbayes.metrics.uncertainty import mutual_information, mutual_information_from_means, predictive_entropy

__all__ = [
    "ReliabilityBins",
    "RunningMean",
    "RunningMoments",
    "RunningPredictive",
    "accuracy",
    "balanced_accuracy",
    "brier",
    "confusion_matrix",
    "consensus_distance",
    "ece",
    "ess",
    "fit_temperature",
    "mce",
    "mean_over_real",
    "mutual_information",
    "mutual_information_from_means",
    "nll",
    "nll_from_log",
    "predictive_entropy",
    "reliability_bins",
    "rhat",
    "rms",
    "temper",
    "w2_gaussians",
]
