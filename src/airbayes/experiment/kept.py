"""How many samples of θ a run keeps, and whether that is as many as it is to store."""

from airbayes.experiment.config import ExperimentConfig


def kept_samples(config: ExperimentConfig) -> int:
    """Of each chain: after the burn-in, every `thin` steps."""
    return (config.sampling.steps - config.sampling.burn_in) // config.sampling.thin


def storage_note(config: ExperimentConfig) -> str | None:
    """A line where fewer samples will be stored than asked for."""
    kept = kept_samples(config)
    if config.problem.kind == "linear" or config.saved_samples <= kept:
        return None
    return (
        f"saved_samples = {config.saved_samples:,}, but a sampler keeps {kept:,}, so {kept:,} will be stored. "
        "For more, lower sampling.thin or sampling.burn_in, or take more sampling.steps."
    )
