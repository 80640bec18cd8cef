"""Retrievers: each ranks a catalog's tools for a query by one signal.

`retriever` has the protocol and the query, `ranking` the result. `lexical` is BM25 over an index that `indexing` wrote;
`dense` is cosine over `vectors`, by one of the `views`, with `candidates` or `lance_candidates` and `moments` in large
catalogs; `intents` compares past requests.
"""

from router.retrieval.retrievers.candidates import NO_FAISS_WARNING, CandidateIndex, Candidates, has_faiss
from router.retrieval.retrievers.dense import DenseRetriever, is_large
from router.retrieval.retrievers.intents import IntentRetriever
from router.retrieval.retrievers.lance_candidates import LanceCandidates
from router.retrieval.retrievers.lexical import MAX_QUERY_TERMS, Lexical, LexicalRetriever, open_lexical
from router.retrieval.retrievers.moments import VIEWS, CatalogMoments, DenseView, blend, document_and_phrase, rounded
from router.retrieval.retrievers.retriever import EMPTY, STEP_SHARE, Admitted, EncodedQuery, Ranking, Retriever
from router.retrieval.retrievers.vectors import ToolVectors

__all__ = [
    "EMPTY",
    "MAX_QUERY_TERMS",
    "NO_FAISS_WARNING",
    "STEP_SHARE",
    "VIEWS",
    "Admitted",
    "CandidateIndex",
    "Candidates",
    "CatalogMoments",
    "DenseRetriever",
    "DenseView",
    "EncodedQuery",
    "IntentRetriever",
    "LanceCandidates",
    "Lexical",
    "LexicalRetriever",
    "Ranking",
    "Retriever",
    "ToolVectors",
    "blend",
    "document_and_phrase",
    "has_faiss",
    "is_large",
    "open_lexical",
    "rounded",
]
