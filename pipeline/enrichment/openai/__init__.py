"""An OpenAI-compatible model: OpenAI itself, vLLM, Ollama, llama.cpp, any base URL.

`direct` sends questions one by one at the server's `pace`, `batch` submits files of them by `batch_calls`. `model` is
what both share, `chat` one request with its completion or fault, `answers` reads what came.
"""

from pipeline.enrichment.openai.batch import BatchGenerator
from pipeline.enrichment.openai.direct import DirectGenerator

__all__ = ["BatchGenerator", "DirectGenerator"]
