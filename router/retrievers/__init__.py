"""One ranking each: BM25 over a field's index, cosine over the vectors, past requests."""

from router.retrievers.dense import DenseRetriever, DenseView
from router.retrievers.intents import IntentRetriever
from router.retrievers.lexical import MAX_QUERY_TERMS, LexicalRetriever
from router.retrievers.ranking import EMPTY, Ranking

__all__ = ["EMPTY", "MAX_QUERY_TERMS", "DenseRetriever", "DenseView", "IntentRetriever", "LexicalRetriever", "Ranking"]
