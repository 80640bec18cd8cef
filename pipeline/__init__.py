"""The offline build, stage by stage in the order of the data.

sources → records → enrichment → phrase checks → vectors → learning → indexing → inspection → publish. A room imports
rooms of earlier stages only; `build` carries them all out.
"""
