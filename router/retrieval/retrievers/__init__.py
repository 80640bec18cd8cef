"""One ranking each: BM25 over a field's index, cosine over the vectors, past requests."""

from router.retrieval.retrievers.admitted import Admitted
from router.retrieval.retrievers.candidates import WITHOUT_FAISS, Candidates, has_faiss
from router.retrieval.retrievers.dense import MOST_COPIED, VIEWS, DenseRetriever, DenseView, candidates_of
from router.retrieval.retrievers.intents import IntentRetriever
from router.retrieval.retrievers.lexical import MAX_QUERY_TERMS, Lexical, LexicalRetriever
from router.retrieval.retrievers.moments import Moments
from router.retrieval.retrievers.ranking import EMPTY, Ranking
from router.retrieval.retrievers.vectors import ToolVectors

__all__ = [
    "EMPTY",
    "MAX_QUERY_TERMS",
    "MOST_COPIED",
    "VIEWS",
    "WITHOUT_FAISS",
    "Admitted",
    "Candidates",
    "DenseRetriever",
    "DenseView",
    "IntentRetriever",
    "Lexical",
    "LexicalRetriever",
    "Moments",
    "Ranking",
    "ToolVectors",
    "candidates_of",
    "has_faiss",
]
