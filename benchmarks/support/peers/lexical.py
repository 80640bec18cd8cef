"""Peers that rank by words alone. Each function raises ImportError where its package is missing."""

from collections.abc import Sequence
from typing import Any

from benchmarks.support.peers.definitions import (
    Answer,
    K,
    Tools,
    description,
    ids_by_name,
    schema,
    unique_names,
    whole_texts,
)
from benchmarks.support.peers.loop import Loop


def bm25s(tools: Tools) -> Answer:
    """bm25s over one field of name, description and parameters; stemmed, without stop words."""
    ranked = bm25s_order(tools, K)
    return lambda request: [tools[i]["id"] for i in ranked(request)]


def bm25s_order(tools: Tools, depth: int) -> Any:
    """Return a function of a request to the positions of the best `depth` tools, of those that share a word with it."""
    import bm25s  # type: ignore[import-not-found, unused-ignore]
    import Stemmer  # type: ignore[import-not-found, unused-ignore]

    stemmer = Stemmer.Stemmer("english")
    index = bm25s.BM25()
    texts = bm25s.tokenize(whole_texts(tools), stopwords="en", stemmer=stemmer, show_progress=False)
    index.index(texts, show_progress=False)
    depth = min(depth, len(tools))

    def order(request: str) -> list[int]:
        terms = bm25s.tokenize([request], stopwords="en", stemmer=stemmer, show_progress=False)
        found, scores = index.retrieve(terms, k=depth, show_progress=False, n_threads=0)
        return [int(i) for i, score in zip(found[0], scores[0], strict=True) if score > 0]

    return order


def tantivy(tools: Tools) -> Answer:
    """Tantivy's BM25 over one field of name, description and parameters, by its English analyzer."""
    import tantivy

    fields = tantivy.SchemaBuilder()
    fields.add_text_field("text", tokenizer_name="en_stem")
    fields.add_integer_field("position", stored=True)
    index = tantivy.Index(fields.build())
    writer = index.writer(num_threads=1)
    for position, text in enumerate(whole_texts(tools)):
        writer.add_document(tantivy.Document(text=text, position=position))
    writer.commit()
    index.reload()
    searcher = index.searcher()

    def answer(request: str) -> list[str]:
        query, _ = index.parse_query_lenient(request, ["text"])
        hits = searcher.search(query, K).hits
        return [tools[searcher.doc(address)["position"][0]]["id"] for _, address in hits]

    return answer


def fastmcp(tools: Tools) -> Answer:
    """FastMCP's BM25 search transform, asked by a client over its `search_tools`, as an agent would."""
    from fastmcp import Client, FastMCP  # type: ignore[import-not-found, unused-ignore]
    from fastmcp.server.transforms.search import BM25SearchTransform  # type: ignore[import-not-found, unused-ignore]
    from fastmcp.tools.base import Tool  # type: ignore[import-not-found, unused-ignore]

    server: Any = FastMCP("tools")
    for tool, name in zip(tools, unique_names(tools), strict=True):
        server.add_tool(Tool(name=name, description=description(tool), parameters=schema(tool)))
    server.add_transform(BM25SearchTransform(max_results=K, search_result_serializer=_names_alone))
    ids = ids_by_name(tools)
    loop = Loop()
    client: Any = Client(server)
    loop.run(client.__aenter__())

    async def search(request: str) -> list[str]:
        found = await client.call_tool("search_tools", {"query": request})
        return [ids[name] for name in found.content[0].text.split("\n") if name] if found.content else []

    return lambda request: loop.run(search(request))


def _names_alone(tools: Sequence[Any]) -> str:
    return "\n".join(tool.name for tool in tools)


def haystack(tools: Tools) -> Answer:
    """Haystack's SearchableToolset: the BM25 of its `search_tools`, which reads name and description.

    The call goes past that tool, to the store that it asks, because the tool answers in prose.
    """
    from haystack.tools import SearchableToolset, Tool  # type: ignore[import-not-found, unused-ignore]

    def nothing() -> None:
        """Stand in for the tool, which is never called."""

    listed = [
        Tool(name, description(tool) or name, {"type": "object", "properties": {}}, nothing)
        for tool, name in zip(tools, unique_names(tools), strict=True)
    ]
    toolset = SearchableToolset(listed, top_k=K, search_threshold=1)
    toolset.warm_up()
    store, ids = toolset._document_store, ids_by_name(tools)
    return lambda request: [ids[found.meta["tool_name"]] for found in store.bm25_retrieval(query=request, top_k=K)]


def dehydrator(tools: Tools) -> Answer:
    """dehydrator's index of tools: BM25L of rank-bm25 over name, description and parameters."""
    from dehydrator import ToolIndex  # type: ignore[import-not-found, unused-ignore]

    listed = [
        {"name": name, "description": description(tool), "input_schema": schema(tool)}
        for tool, name in zip(tools, unique_names(tools), strict=True)
    ]
    index, ids = ToolIndex(listed, top_k=K), ids_by_name(tools)
    return lambda request: [ids[name] for name in index.search(request)]


def turbomcp(tools: Tools) -> Answer:
    """TurboMCP's `search_tools`: its keyword score of name and description."""
    from turbomcp import TurboMCP  # type: ignore[import-not-found, unused-ignore]

    def nothing() -> None:
        """Stand in for the tool, which is never called."""

    server = TurboMCP()
    for tool, name in zip(tools, unique_names(tools), strict=True):
        server.register(nothing, name=name, description=description(tool) or name)
    ids = ids_by_name(tools)
    return lambda request: [ids[found["name"]] for found in server.search_tools(request, top_n=K)["tools"]]


def agent_tool_router(tools: Tools) -> Answer:
    """agent-tool-router made from descriptions: cosine of TF-IDF vectors of one and two words."""
    from agent_tool_router import Router  # type: ignore[import-not-found, unused-ignore]

    pairs = [(name, description(tool)) for tool, name in zip(tools, unique_names(tools), strict=True)]
    router, ids = Router.from_descriptions(pairs), ids_by_name(tools)
    return lambda request: [ids[name] for name in router.route(request, k=K)]


def smart_tool_select(tools: Tools) -> Answer:
    """smart-tool-select in its "lite" mode: cosine of TF-IDF vectors of name and description, from its bar of .2 on."""
    from smart_tool_select import SmartToolSelector  # type: ignore[import-not-found, unused-ignore]

    pairs = zip(tools, unique_names(tools), strict=True)
    listed = [{"name": name, "description": description(tool)} for tool, name in pairs]
    ids = ids_by_name(tools)
    SmartToolSelector("", listed, top_k=K)  # keeps its index by the identity of the list
    return lambda request: [ids[tool["name"]] for tool in SmartToolSelector(request, listed, top_k=K)]
