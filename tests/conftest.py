"""Tests compile for themselves: no program comes from, or goes to, the cache of whoever runs them."""

import jax

jax.config.update("jax_enable_compilation_cache", False)
