"""Whether JAX has a device at all: what it says where it has none names neither the cause nor the fix."""

from airbayes.errors import AirbayesError
from airbayes.text import printable


def check_devices() -> None:
    """An error where JAX_PLATFORMS names what this machine or installation lacks."""
    import jax

    try:
        jax.devices()
    except (RuntimeError, AssertionError) as error:  # without the plug-in of a GPU it is an assertion without a word
        asked = jax.config.jax_platforms  # pyright: ignore[reportAttributeAccessIssue]
        said = f" ({printable(str(error).splitlines()[0], 300)})" if str(error) else ""
        raise AirbayesError(
            f"JAX_PLATFORMS={printable(asked or '')}: JAX finds no such device here{said}. Leave JAX_PLATFORMS out, or "
            "set it to cpu; an NVIDIA GPU needs pip install 'airbayes[cuda]'."
        ) from error
