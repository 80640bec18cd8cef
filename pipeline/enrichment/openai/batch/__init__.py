"""Questions in batches: `generator` lets a `submitter` create batches and a `collector` read their answers.

`client` calls the Batch API, `context` is what these share, `results` reads the lines of result files.
"""
