"""Why a call was not made, or has no answer. Neither holds a secret."""

from router.errors import QuartermasterError


class CallRefused(QuartermasterError):
    """Raised before anything is sent: the settings do not allow the call, or the arguments cannot be sent.

    The message says what the model, or whoever runs the server, can do.
    """


class CallFailed(QuartermasterError):
    """Raised where a request has no usable answer. The message says whether it may have taken effect."""
