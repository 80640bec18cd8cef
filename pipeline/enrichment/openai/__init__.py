"""An OpenAI-compatible model: OpenAI itself, vLLM, Ollama, llama.cpp, any base URL.

Questions go through a client to the server and come back as outcomes: `direct/` sends them one by one, `batch/` submits
files of them. They share `requests` (bodies and estimates), `answers` (reading), `chat` (one request and completion),
`faults` and `retry` (the retry policy). `limiter` paces direct requests.
"""

from pipeline.enrichment.openai.batch.generator import BatchGenerator
from pipeline.enrichment.openai.direct.generator import DirectGenerator

__all__ = ["BatchGenerator", "DirectGenerator"]
