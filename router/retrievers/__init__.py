"""One ranking each: BM25 over a field's index, cosine over the vectors, past requests."""

from router.retrievers.admitted import Admitted
from router.retrievers.candidates import WITHOUT_FAISS, Candidates, has_faiss
from router.retrievers.dense import MOST_COPIED, VIEWS, DenseRetriever, DenseView, candidates_of
from router.retrievers.intents import IntentRetriever
from router.retrievers.lexical import MAX_QUERY_TERMS, Lexical, LexicalRetriever
from router.retrievers.moments import Moments
from router.retrievers.ranking import EMPTY, Ranking
from router.retrievers.vectors import ToolVectors

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
