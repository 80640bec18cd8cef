"""Find the matching words that lie where a request or a tool's text is cut."""

from quartermaster.evaluation.causes.missed_step import MissedStep
from router.query.steps import find_steps
from router.retrieval.retrievers import MAX_QUERY_TERMS
from router.search.search import MAX_REQUEST
from router.tools.text_overlap import term_set


def cut_terms(missed: MissedStep) -> tuple[str, frozenset[str]] | None:
    """Return what was cut ("request" or "text of the tool") and the matching terms in it.

    None unless more than half of the terms that request and tool share are in what was cut, and not in what was read.
    """
    unread = {"request": missed.request_terms - _read_of_request(missed), "text of the tool": _unread_of_tool(missed)}
    for name, terms in unread.items():
        matching = missed.shared_terms & terms
        if 2 * len(matching) > len(missed.shared_terms):
            return name, matching
    return None


def _read_of_request(missed: MissedStep) -> frozenset[str]:
    """Return the terms of a request that were read: by the encoder and in its steps, or else by the lexical lists."""
    request = missed.judgement.request[:MAX_REQUEST]
    read = term_set(_first_words(request, missed.read_words or MAX_QUERY_TERMS))
    steps = find_steps(request) if missed.recipe.steps else None
    return read & term_set(" ".join(steps.texts)) if steps and steps.share < 1 else read


def _unread_of_tool(missed: MissedStep) -> frozenset[str]:
    """Return the terms of a tool's description that its vectors lack."""
    if missed.read_words is None:
        return frozenset()
    tool = missed.tool
    return tool.description_terms - term_set(
        " ".join((_first_words(tool.dense_document, missed.read_words), *tool.phrases))
    )


def _first_words(text: str, count: int) -> str:
    return " ".join(text.split(maxsplit=count)[:count])
