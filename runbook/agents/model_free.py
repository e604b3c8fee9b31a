"""What agents have in common that speak to no model through the gateway."""


class ModelFree:
    """No model, no event stream, no version to tell."""

    version = ""
    wire = None
    model = ""
    stream = ""
