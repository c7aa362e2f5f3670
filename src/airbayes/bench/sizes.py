"""How large the benchmarks are: the paper's sizes, and small ones that finish in a minute."""

import dataclasses

from airbayes.bench.timing import Effort

BLOCKS = ("cells", "agents", "points", "parameters")


@dataclasses.dataclass(frozen=True)
class Sizes:
    agents: int = 5  # N
    clouds: int = 240  # per agent
    points: int = 64  # per cloud
    together: int = 36  # cells that share a GPU
    cell_counts: tuple[int, ...] = (1, 4, 16, 64)
    network_sizes: tuple[int, ...] = (5, 100, 1_000, 10_000, 100_000, 1_000_000)
    reference_size: int = 1_000  # agents to which the other sizes are compared
    point_counts: tuple[int, ...] = (16, 64, 256, 1024, 2048)
    param_counts: tuple[int, ...] = (100, 1_000, 10_000, 100_000, 1_000_000)
    features: int = 100  # m of the linear model
    chain_features: int = 49  # two classes and a bias: 100 parameters
    chain_examples: int = 256
    matmul: int = 2_048  # side of the square product that measures the arithmetic ceiling
    gpu_matmul: int = 8_192
    copy_bytes: int = 2**28
    gpu_copy_bytes: int = 2**32
    methods: tuple[str, ...] = ()  # of section b; empty means all
    blocks: tuple[str, ...] = BLOCKS  # of section d
    compile_steps: bool = True  # whether section e also compiles every method's step
    compile_peers: bool = True  # torch.compile takes a minute
    targets: bool = True  # whether the sizes are those that the targets were set for
    effort: Effort = dataclasses.field(default_factory=Effort)


def quick_sizes() -> Sizes:
    """Everything small: to see that it runs, not to quote."""
    return Sizes(
        clouds=12,
        points=16,
        together=2,
        cell_counts=(1,),
        network_sizes=(100, 1_000),
        point_counts=(16,),
        param_counts=(100, 1_000),
        chain_examples=32,
        matmul=256,
        gpu_matmul=1_024,
        copy_bytes=2**22,
        gpu_copy_bytes=2**26,
        methods=("cd_dsgld common", "q_dsgd"),
        compile_steps=False,
        compile_peers=False,
        targets=False,
        effort=Effort(repeats=3, call_seconds=0.01, least_count=1, most_seconds=5.0),
    )
