"""What cannot run with its agents split over several devices, and why; needs no device to say so."""

from airbayes.experiment.config import ExperimentConfig


def sharding_problems(config: ExperimentConfig, shards: int) -> list[str]:
    """One line per problem; none where there is one device."""
    if shards < 2:
        return []
    problems, agents = [], config.network.agents
    if agents % shards:
        fewer = max(count for count in range(1, shards) if agents % count == 0)
        problems.append(
            f"network.agents = {agents} does not split evenly over {shards} devices; use a multiple of {shards} agents"
            f", or {fewer} device{'s' * (fewer > 1)}."
        )
    if "sgld" in config.methods:
        problems.append(
            "methods holds 'sgld', the centralised reference: one agent with all data cannot be split over devices. "
            "Run it by itself, without --processes or --devices."
        )
    if "cd_dsgld" in config.methods and "optimal" in config.policies:
        problems.append(
            "policies holds 'optimal', which needs all inner products θ_iᵀθ_j at one place and cannot be split over "
            "devices. Use 'truncated' or 'common', or leave out --processes and --devices."
        )
    return problems
