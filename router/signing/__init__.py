"""Signatures of snapshots: Ed25519 keys, DSSE envelopes, statements, and the keys that a router trusts.

`ed25519` has keys, `private_keys` reads and makes the private ones, `envelope` is the format of a signature's file,
`statement` is what is signed, `trusted_keys` says whose signatures count. See docs/operations.md.
"""
