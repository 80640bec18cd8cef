"""What a registered tool costs in tokens, estimated: a router has no tokeniser file at hand."""

import json
import math

import numpy as np
from numpy.typing import NDArray

from router.provider_formats import Detail, Form, variants
from router.record import ToolRecord


def estimated_tokens(record: ToolRecord) -> NDArray[np.int32]:
    """Tokens by form and detail, int32 (forms, details): a quarter of the characters, rounded up, which errs on the
    high side for JSON."""
    texts = (json.dumps(tool, separators=(",", ":"), ensure_ascii=False) for tool, _ in variants(record))
    return np.array([math.ceil(len(text) / 4) for text in texts], np.int32).reshape(len(Form), len(Detail))
