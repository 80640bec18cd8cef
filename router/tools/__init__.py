"""Tools as data: everything about one tool that needs no other tool and no index.

`definitions` reads vendors' formats into records, `functions` Python functions and objects of frameworks. `trust`
checks vendors' text. `naming` has everyday words for a tool's name, by `grammar`. `field_text` projects a record
to the documents of each signal, `text_overlap` compares texts by their terms.
"""
