"""Who hears whom, and with which weight.

Graphs and their weights live on the host as numpy arrays; `build_mixing` puts them on the device,
where `mix` makes one gossip step θ_k + Σ_j w_kj m_kj (θ_j − θ_k) and masks take links or agents down.
"""

from airbayes.network.builders import (
    by_name,
    erdos_renyi,
    full,
    grid,
    line,
    random_geometric,
    ring,
    small_world,
    star,
)
from airbayes.network.graphs import Graph
from airbayes.network.interop import (
    from_adjacency,
    from_csv,
    from_edges,
    from_mixing_matrix,
    from_networkx,
    to_networkx,
)
from airbayes.network.masks import (
    burst_mask,
    combine,
    down_below,
    is_split,
    link_mask,
    links_up,
    node_mask,
    one_way_mask,
    surviving_components,
)
from airbayes.network.mixing import (
    AnyMixing,
    EdgeMixing,
    Mixing,
    build_mixing,
    check_stack,
    mix,
    neighbour_sum,
    shard_mixings,
    stack_mixings,
)
from airbayes.network.order import edges_cut, hilbert_order, local_order, renumber
from airbayes.network.spectrum import (
    check_connected,
    check_contraction,
    check_mixing_matrix,
    laplacian_extremes,
    mixing_matrix,
    second_eigenvalue,
)
from airbayes.network.weights import best_constant, max_degree, metropolis

__all__ = [
    "AnyMixing",
    "EdgeMixing",
    "Graph",
    "Mixing",
    "best_constant",
    "build_mixing",
    "burst_mask",
    "by_name",
    "check_connected",
    "check_contraction",
    "check_mixing_matrix",
    "check_stack",
    "combine",
    "down_below",
    "edges_cut",
    "erdos_renyi",
    "from_adjacency",
    "from_csv",
    "from_edges",
    "from_mixing_matrix",
    "from_networkx",
    "full",
    "grid",
    "hilbert_order",
    "is_split",
    "laplacian_extremes",
    "line",
    "link_mask",
    "links_up",
    "local_order",
    "max_degree",
    "metropolis",
    "mix",
    "mixing_matrix",
    "neighbour_sum",
    "node_mask",
    "one_way_mask",
    "random_geometric",
    "renumber",
    "ring",
    "second_eigenvalue",
    "shard_mixings",
    "small_world",
    "stack_mixings",
    "star",
    "surviving_components",
    "to_networkx",
]
