"""Signed copies of a snapshot in the catalog "office", and keys."""

from pathlib import Path
from typing import Any

from pipeline.store import sign_manifest
from pipeline.store.private_keys import generate
from router import Router
from router.signing.ed25519 import Signer
from tests.support.publishing import Publications


class SignedOffice(Publications):
    """The catalog "office", whose snapshots a key signs; their numbers count up."""

    def __init__(self, workspace: Path, snapshot: Path) -> None:
        super().__init__(workspace, snapshot)
        self.signer: Signer = generate(workspace / "office.pem")
        self.keys = [self.signer.public.text]
        self._number = 0

    def open(self, **options: Any) -> Router:
        """Open a router that trusts the key."""
        return Router.open(self.folder, trusted_keys=self.keys, **options)

    def signed(self, name: str, **fields: Any) -> Path:
        """Add a signed copy and return its folder."""
        self._number += 1
        folder = self.add(name, **{"sequence": self._number, "content_hash": name, "inputs_hash": name, **fields})
        sign_manifest(folder, self.signer)
        return folder
