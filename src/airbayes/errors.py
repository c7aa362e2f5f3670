"""Errors a user can cause. Each message names the offending value and the fix."""


class AirbayesError(Exception):
    """Base of every error that is the input's fault; the command line prints it and exits with 2."""


class GraphError(AirbayesError):
    """A graph or its mixing weights cannot be used."""


class ConfigError(AirbayesError):
    """A configuration is wrong; `problems` lists everything found, one line each."""

    def __init__(self, problems: list[str] | str):
        self.problems = [problems] if isinstance(problems, str) else list(problems)
        super().__init__("\n".join(self.problems))


class ResultsError(AirbayesError):
    """A results folder cannot be read or written."""


class DataError(AirbayesError):
    """Point clouds cannot be read or used; the message names the file and, where there is one, the offset."""
