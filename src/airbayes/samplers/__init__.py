"""The algorithms: SGLD, DSGLD, CD-DSGLD, DSGHMC, DSGD, Q-DSGD and plain SGD, one file each, and exact Gaussian laws."""

from airbayes.samplers import exact
from airbayes.samplers.base import Info, Sampler, State
from airbayes.samplers.cd_dsgld import CDDSGLD
from airbayes.samplers.drift import Clipped, Drift, Plain, Tamed
from airbayes.samplers.dsgd import DSGD
from airbayes.samplers.dsghmc import DSGHMC
from airbayes.samplers.dsgld import DSGLD
from airbayes.samplers.faults import Attack, Bursts, Churn, Faults, Late
from airbayes.samplers.outage import BothOutages, Jamming, LinkOutage, NodeOutage, Outage
from airbayes.samplers.q_dsgd import QDSGD
from airbayes.samplers.receiver import ClippingReceiver, Receiver, TestingReceiver
from airbayes.samplers.sgd import SGD
from airbayes.samplers.sgld import SGLD
from airbayes.samplers.step_size import Constant, CosineCycles, PolynomialDecay, StepSize

__all__ = [
    "CDDSGLD",
    "DSGD",
    "DSGHMC",
    "DSGLD",
    "QDSGD",
    "SGD",
    "SGLD",
    "Attack",
    "BothOutages",
    "Bursts",
    "Churn",
    "Clipped",
    "ClippingReceiver",
    "Constant",
    "CosineCycles",
    "Drift",
    "Faults",
    "Info",
    "Jamming",
    "Late",
    "LinkOutage",
    "NodeOutage",
    "Outage",
    "Plain",
    "PolynomialDecay",
    "Receiver",
    "Sampler",
    "State",
    "StepSize",
    "Tamed",
    "TestingReceiver",
    "exact",
]
