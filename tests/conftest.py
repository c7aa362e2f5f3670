"""Tests compile for themselves: no program comes from, or goes to, the cache of whoever runs them."""

import os

import jax

jax.config.update("jax_enable_compilation_cache", False)
os.environ["AIRBAYES_CACHE_PROGRAMS"] = "off"  # of the processes that tests start
