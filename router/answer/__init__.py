"""The answer to one request: everything after the search, but no ranking by signals and no state between requests.

`options` declares the options of a route, `respond` runs the stages, `post_processing` filters, reranks (`reranking`),
packs (`packing`) and cuts, `explanation` adds the reasons, `results` are the public types, `tracing` the OpenTelemetry
spans, `executor` the threads of the async methods.
"""
