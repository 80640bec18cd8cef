"""A retriever that ranks a query once, however many snapshots share it."""

from typing import Any

from router.retrieval.retrievers import Admitted, EncodedQuery, Ranking, Retriever


class RememberingRetriever:
    """Stands in for a retriever; what it does beside ranking all tools is the retriever's own."""

    def __init__(self, retriever: Retriever) -> None:
        self._retriever = retriever
        self._known: dict[tuple[str, int], Ranking] = {}
        self.needs_vector = retriever.needs_vector

    def rank(self, query: EncodedQuery, depth: int, admitted: Admitted | None = None) -> Ranking:
        if admitted is not None:
            return self._retriever.rank(query, depth, admitted)
        key = query.text, depth
        if key not in self._known:
            self._known[key] = self._retriever.rank(query, depth)
        return self._known[key]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._retriever, name)
