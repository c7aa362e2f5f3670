"""One cache of compiled programs for all tests of one run, its workers and the processes it starts; gone afterwards.

It starts empty: no program comes from, or goes to, the cache of whoever runs the tests.
"""

import atexit
import gc
import os
import shutil
import tempfile
from importlib.metadata import version

if "PYTEST_XDIST_WORKER" not in os.environ:  # workers inherit it
    folder = tempfile.mkdtemp(prefix="airbayes-tests-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["JAX_COMPILATION_CACHE_DIR"] = folder
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.2"
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # see airbayes/cache.py
    if "XLA_FLAGS" not in os.environ and version("jaxlib").startswith("0.10."):  # others end at flags they do not know
        # Most of the time goes into compiling. The least of LLVM's levels that vectorise; one module a program; and the
        # older emitter of fused loops, which takes half the time. `make test-long` compiles as for users.
        os.environ["XLA_FLAGS"] = (
            "--xla_backend_optimization_level=1 --xla_cpu_parallel_codegen_split_count=1 "
            "--xla_cpu_use_fusion_emitters=false"
        )
os.environ["AIRBAYES_CACHE_PROGRAMS"] = "off"  # where a test takes JAX_ variables away
gc.set_threshold(50_000, 20, 50)  # traces and programs are many objects that stay; passing over them is not free
