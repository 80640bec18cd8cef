"""The checks of text that vendors wrote, some of it to steer the model: what they refuse is neither indexed nor handed
over.

`sanitization` removes steering text and hidden characters from a record; `steering_text` finds it by `patterns.toml` in
the form that `normal_form` gives a text; `characters` finds hidden characters and scripts. `trusted` makes the record
that an agent's model is handed. `pipeline.phrase_checks` checks generated phrases by the same patterns, and more.

To add a pattern, append a row to its table. To add a kind of check, call it in `steering_text` for single sentences or
in `sanitization` for whole texts. With either, raise PROJECTION_VERSION (`router.tools.field_text`) and SCREEN_VERSION
(`pipeline.phrase_checks.checks`), so that catalogs are built anew.
"""
