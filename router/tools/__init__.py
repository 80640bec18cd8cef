"""Tools as data: everything about one tool that needs no other tool and no index.

`definitions` reads vendors' formats into records; `functions` reads Python functions and framework objects; `trust`
checks vendors' text; `lexicon` writes expansions offline; `field_text` projects a record to the documents of each
signal; `provider_labels` shortens labels; `text_overlap` compares texts by their terms.
"""
