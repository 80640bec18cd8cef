"""One ranking each: BM25 over a field's index, cosine over the vectors, past requests."""

from router.retrieval.retrievers.candidates import NO_FAISS_WARNING, Candidates, has_faiss
from router.retrieval.retrievers.dense import MOST_COPIED, DenseRetriever, candidate_count
from router.retrieval.retrievers.intents import IntentRetriever
from router.retrieval.retrievers.lexical import MAX_QUERY_TERMS, Lexical, LexicalRetriever, open_lexical
from router.retrieval.retrievers.moments import Moments
from router.retrieval.retrievers.ranking import EMPTY, Ranking
from router.retrieval.retrievers.retriever import Admitted, EncodedQuery, Retriever
from router.retrieval.retrievers.vectors import ToolVectors
from router.retrieval.retrievers.views import VIEWS, DenseView, blend, document_and_phrase, rounded

__all__ = [
    "EMPTY",
    "MAX_QUERY_TERMS",
    "MOST_COPIED",
    "NO_FAISS_WARNING",
    "VIEWS",
    "Admitted",
    "Candidates",
    "DenseRetriever",
    "DenseView",
    "EncodedQuery",
    "IntentRetriever",
    "Lexical",
    "LexicalRetriever",
    "Moments",
    "Ranking",
    "Retriever",
    "ToolVectors",
    "blend",
    "candidate_count",
    "document_and_phrase",
    "has_faiss",
    "open_lexical",
    "rounded",
]
