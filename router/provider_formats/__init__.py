"""Tools in the formats of providers, and the way back from a model's call. No network, no snapshot.

`formats` is the table of formats and details, `rendering` makes the tools of a request and what a model reads of found
tools, `shaping` those of one record, `names` the tools' names. `schemas` repairs schemas, `strict` makes them strict.
"""

from typing import TYPE_CHECKING

from router.lazy_exports import lazy_exports
from router.provider_formats.formats import Detail, FormName, ProviderFormat, VendorText, parse_choice

if TYPE_CHECKING:
    from router.provider_formats.names import hashed_names, id_of, legal_name
    from router.provider_formats.rendering import Rendered, compact_json, listed_line, listed_row, render
    from router.provider_formats.shaping import handed_record, signature, variants
else:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "router.provider_formats.names": "hashed_names id_of legal_name",
            "router.provider_formats.rendering": "Rendered compact_json listed_line listed_row render",
            "router.provider_formats.shaping": "handed_record signature variants",
        },
    )

__all__ = [
    "Detail",
    "FormName",
    "ProviderFormat",
    "Rendered",
    "VendorText",
    "compact_json",
    "handed_record",
    "hashed_names",
    "id_of",
    "legal_name",
    "listed_line",
    "listed_row",
    "parse_choice",
    "render",
    "signature",
    "variants",
]
