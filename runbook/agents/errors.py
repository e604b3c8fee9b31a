"""What is wrong with the choice of an agent, and with its installation."""


class UnknownAgentError(ValueError):
    """No agent of that name, or its settings do not fit; the message says what does."""


class AdapterError(UnknownAgentError):
    """An adapter is not there, wrong, or not ready to be used; the message names file, key and mend."""


class InstallError(Exception):
    """A tool chain cannot be installed; nothing is left behind. The message says why and what to do."""
