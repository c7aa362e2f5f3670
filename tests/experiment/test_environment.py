"""What a run says about where it was computed: enough to compare, nothing that names anyone."""

import getpass
import platform
import socket

import jax

from airbayes.experiment.environment import describe_environment


def test_versions_and_devices_and_no_names():
    text = describe_environment()
    lines = dict(line.split(": ", 1) for line in text.splitlines())
    assert lines["jax"] == jax.__version__
    assert lines["python"] == platform.python_version()
    assert jax.default_backend() in lines["devices"]
    assert socket.gethostname() not in text
    assert getpass.getuser() not in text.split()
