"""Mistakes of users, made where no types are checked: in the tests jaxtyping and beartype would answer first."""

import json
import subprocess
import sys

RUN = """
import json, sys
given = json.loads(sys.stdin.read())
exec(given["setup"])
found = {}
for mistake in given["mistakes"]:
    try:
        eval(mistake)
        found[mistake] = "no error"
    except Exception as error:
        found[mistake] = f"{type(error).__name__}: {error}"
print(json.dumps(found))
"""


def answers(setup: str, mistakes: list[str]) -> dict[str, str]:
    """Each expression → the error it raises, its kind first; all in one fresh process."""
    given = json.dumps({"setup": setup, "mistakes": mistakes})
    done = subprocess.run([sys.executable, "-c", RUN], input=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
