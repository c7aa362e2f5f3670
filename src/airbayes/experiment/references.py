"""The papers behind what a configuration uses, as BibTeX. What we are not sure of, such as a page, is left out."""

import dataclasses

from airbayes import __version__
from airbayes.experiment.config import SAMPLING_METHODS, UNCONNECTED_METHODS, ExperimentConfig


@dataclasses.dataclass(frozen=True)
class Reference:
    key: str
    kind: str  # of the BibTeX entry
    fields: tuple[tuple[str, str], ...]

    def bibtex(self) -> str:
        width = max(len(name) for name, _ in self.fields)
        lines = [f"  {name:{width}} = {{{value}}}," for name, value in self.fields]
        return "\n".join([f"@{self.kind}{{{self.key},", *lines, "}"]) + "\n"


def _reference(key: str, kind: str, **fields: str) -> Reference:
    return Reference(key, kind, tuple(fields.items()))


AIRBAYES = _reference(
    "airbayes",
    "software",
    title="airbayes",
    author="{The airbayes authors}",
    version=__version__,
    license="Apache-2.0",
    abstract="Bayesian federated learning over the air: radio noise as the sampler (CD-DSGLD), in JAX.",
)
PAPER = _reference(
    "barbieri2023channel",
    "inproceedings",
    title="Channel-driven Decentralized {Bayesian} Federated Learning for Trustworthy Decision Making in "
    "{D2D} Networks",
    author="Barbieri, Luca and Simeone, Osvaldo and Nicoli, Monica",
    booktitle="IEEE International Conference on Acoustics, Speech and Signal Processing (ICASSP)",
    year="2023",
    eprint="2210.10502",
    archiveprefix="arXiv",
)
DSGLD = _reference(
    "gurbuzbalaban2021decentralized",
    "article",
    title="Decentralized Stochastic Gradient {Langevin} Dynamics and {Hamiltonian} {Monte} {Carlo}",
    author=r"G{\"u}rb{\"u}zbalaban, Mert and Gao, Xuefeng and Hu, Yuanhan and Zhu, Lingjiong",
    journal="Journal of Machine Learning Research",
    volume="22",
    number="239",
    pages="1--69",
    year="2021",
)
SGLD = _reference(
    "welling2011bayesian",
    "inproceedings",
    title="{Bayesian} Learning via Stochastic Gradient {Langevin} Dynamics",
    author="Welling, Max and Teh, Yee Whye",
    booktitle="Proceedings of the 28th International Conference on Machine Learning (ICML)",
    pages="681--688",
    year="2011",
)
DSGD = _reference(
    "nedic2009distributed",
    "article",
    title="Distributed Subgradient Methods for Multi-Agent Optimization",
    author=r"Nedi{\'c}, Angelia and Ozdaglar, Asuman",
    journal="IEEE Transactions on Automatic Control",
    volume="54",
    number="1",
    pages="48--61",
    year="2009",
)
CHOCO = _reference(
    "koloskova2019decentralized",
    "inproceedings",
    title="Decentralized Stochastic Optimization and Gossip Algorithms with Compressed Communication",
    author="Koloskova, Anastasia and Stich, Sebastian U. and Jaggi, Martin",
    booktitle="Proceedings of the 36th International Conference on Machine Learning (ICML)",
    series="Proceedings of Machine Learning Research",
    volume="97",
    pages="3478--3487",
    year="2019",
)
QSGD = _reference(
    "alistarh2017qsgd",
    "inproceedings",
    title="{QSGD}: Communication-Efficient {SGD} via Gradient Quantization and Encoding",
    author="Alistarh, Dan and Grubic, Demjan and Li, Jerry and Tomioka, Ryota and Vojnovic, Milan",
    booktitle="Advances in Neural Information Processing Systems 30",
    pages="1709--1720",
    year="2017",
)
GOLOMB = _reference(
    "golomb1966run",
    "article",
    title="Run-Length Encodings",
    author="Golomb, Solomon W.",
    journal="IEEE Transactions on Information Theory",
    volume="12",
    number="3",
    pages="399--401",
    year="1966",
)
WEIGHTS = _reference(
    "xiao2004fast",
    "article",
    title="Fast Linear Iterations for Distributed Averaging",
    author="Xiao, Lin and Boyd, Stephen",
    journal="Systems \\& Control Letters",
    volume="53",
    number="1",
    pages="65--78",
    year="2004",
)
TAMED = _reference(
    "brosse2019tamed",
    "article",
    title="The Tamed Unadjusted {Langevin} Algorithm",
    author=r"Brosse, Nicolas and Durmus, Alain and Moulines, {\'E}ric and Sabanis, Sotirios",
    journal="Stochastic Processes and their Applications",
    volume="129",
    number="10",
    pages="3638--3663",
    year="2019",
)
POINTNET = _reference(
    "qi2017pointnet",
    "inproceedings",
    title="{PointNet}: Deep Learning on Point Sets for {3D} Classification and Segmentation",
    author="Qi, Charles R. and Su, Hao and Mo, Kaichun and Guibas, Leonidas J.",
    booktitle="IEEE Conference on Computer Vision and Pattern Recognition (CVPR)",
    pages="652--660",
    year="2017",
)
ECE = _reference(
    "naeini2015obtaining",
    "inproceedings",
    title="Obtaining Well Calibrated Probabilities Using {Bayesian} Binning",
    author="Naeini, Mahdi Pakdaman and Cooper, Gregory F. and Hauskrecht, Milos",
    booktitle="Proceedings of the AAAI Conference on Artificial Intelligence",
    volume="29",
    number="1",
    pages="2901--2907",
    year="2015",
)
CALIBRATION = _reference(
    "guo2017calibration",
    "inproceedings",
    title="On Calibration of Modern Neural Networks",
    author="Guo, Chuan and Pleiss, Geoff and Sun, Yu and Weinberger, Kilian Q.",
    booktitle="Proceedings of the 34th International Conference on Machine Learning (ICML)",
    series="Proceedings of Machine Learning Research",
    volume="70",
    pages="1321--1330",
    year="2017",
)
ENSEMBLES = _reference(
    "lakshminarayanan2017simple",
    "inproceedings",
    title="Simple and Scalable Predictive Uncertainty Estimation using Deep Ensembles",
    author="Lakshminarayanan, Balaji and Pritzel, Alexander and Blundell, Charles",
    booktitle="Advances in Neural Information Processing Systems 30",
    pages="6402--6413",
    year="2017",
)
RHAT = _reference(
    "vehtari2021rank",
    "article",
    title="Rank-Normalization, Folding, and Localization: An Improved $\\widehat{R}$ for Assessing Convergence "
    "of {MCMC}",
    author=r"Vehtari, Aki and Gelman, Andrew and Simpson, Daniel and Carpenter, Bob and B{\"u}rkner, Paul-Christian",
    journal="Bayesian Analysis",
    volume="16",
    number="2",
    pages="667--718",
    year="2021",
)
BURSTS = _reference(
    "gilbert1960capacity",
    "article",
    title="Capacity of a Burst-Noise Channel",
    author="Gilbert, Edgar N.",
    journal="The Bell System Technical Journal",
    volume="39",
    number="5",
    pages="1253--1265",
    year="1960",
)


def references_of(config: ExperimentConfig | None) -> list[tuple[Reference, str]]:
    """What to cite and for what, for a run of this configuration; without one, airbayes and its paper."""
    found = [(AIRBAYES, "this software"), (PAPER, "CD-DSGLD, and the study that airbayes repeats")]
    if config is None:
        return found
    used, digital = set(config.methods), config.digital
    classes = config.problem.kind != "linear"
    optimises = bool(used - set(SAMPLING_METHODS))
    bursts = config.network.burst_length > 0 or any("burst_length" in name for name in config.network.topologies)
    wanted = [
        (bool(used & {"dsgld", "cd_dsgld", "dsghmc"}), DSGLD, "DSGLD and DSGHMC"),
        (bool(used & set(SAMPLING_METHODS)), SGLD, "Langevin sampling with gradients of mini-batches"),
        (bool(used & {"dsgd", "q_dsgd"}), DSGD, "DSGD"),
        ("q_dsgd" in used and digital.mode == "memory", CHOCO, "Q-DSGD: the memory that neighbours share"),
        ("q_dsgd" in used, QSGD, "Q-DSGD: unbiased quantisation"),
        ("q_dsgd" in used, GOLOMB, "Q-DSGD: code of the positions"),
        (
            config.network.weights == "best-constant" and bool(used - set(UNCONNECTED_METHODS)),
            WEIGHTS,
            "the best constant mixing weight",
        ),
        (config.sampling.drift == "tamed", TAMED, "tamed drift"),
        (config.problem.kind == "pointnet", POINTNET, "PointNet"),
        (classes, ECE, "the expected calibration error"),
        (classes, CALIBRATION, "calibration of networks, temperature scaling"),
        (classes and optimises and config.sampling.chains > 1, ENSEMBLES, "ensembles of optimised models"),
        (bool(used & set(SAMPLING_METHODS)), RHAT, "R-hat and ESS"),
        (bursts, BURSTS, "bursts of lost links"),
    ]
    return found + [(reference, why) for is_used, reference, why in wanted if is_used]
