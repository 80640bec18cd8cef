"""Whether a selection admits one tool by itself, outside of any answer."""

from router.record import ToolRecord
from router.selection import Facets, Selection, admit
from router.snapshot.facets import Facet


def refusal(selection: Selection, record: ToolRecord) -> str | None:
    """What of a selection keeps a tool out; None where it is admitted."""
    if record.tool_id in selection.always:
        return None
    row = Facet(record.tool_id, record.name, record.provider, record.categories, dict(record.annotations))
    refused = admit(lambda: Facets((row,)), selection, None, None).refusal(0)
    return None if refused is None else refused[1]
