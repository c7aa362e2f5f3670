"""Does the compiler add up? A check before long runs, against releases that return wrong sums without a word.

jaxlib 0.10.2 on CPU got y − Σ_i X_i t_i wrong for every row past the first thousands (jax-ml/jax#39103). The samplers'
oracle tests found it here: a mean that was right and a covariance that was not. The package excludes that release; this
check also covers an environment that was put together by hand.
"""

from importlib.metadata import version

import jax
import jax.numpy as jnp
import numpy as np

from airbayes.errors import AirbayesError

TOLERANCE = 1e-3


def check_compiler() -> None:
    """Compare one compiled sum of products with numpy; about a tenth of a second."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(5, 6, 2)).astype(np.float32), rng.normal(size=(5, 6)).astype(np.float32)
    t = rng.normal(size=(8192, 5, 2)).astype(np.float32)

    def residual(rows):
        return jnp.asarray(y) - jnp.sum(jnp.asarray(x) * rows[:, None, :], axis=-1)

    found = np.asarray(jax.jit(jax.vmap(residual))(t))
    error = np.abs(found - (y - np.einsum("khi,cki->ckh", x, t))).max()
    if not error < TOLERANCE:
        raise AirbayesError(
            f"jaxlib {version('jaxlib')} on {jax.default_backend()} computes wrong sums (error {error:.3g}): "
            "its results cannot be trusted. Install another release, for example: pip install 'jax!=0.10.2'."
        )
