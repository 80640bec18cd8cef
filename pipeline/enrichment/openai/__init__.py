"""An OpenAI-compatible model: OpenAI itself, vLLM, Ollama, llama.cpp, any base URL.

`direct` sends questions one by one at the `pace` of the server, `batch` submits files of them by `batch_calls`. They
share `requests` (bodies and estimates), `chat` (one request and its completion), `answers` (reading), `faults` and
`breaker`.
"""

from pipeline.enrichment.openai.batch import BatchGenerator
from pipeline.enrichment.openai.direct import DirectGenerator

__all__ = ["BatchGenerator", "DirectGenerator"]
