"""A real S3 server as a process of its own on loopback, and buckets in it."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from typing import Any
from urllib.request import Request, urlopen

from obstore.store import S3Store

from tests.support.places import ROOT

_numbers = count(1)


@dataclass(frozen=True)
class Bucket:
    """A bucket of a server.

    Attributes:
        name: Its name.
        port: The port on loopback where the server listens, or a proxy in front of it.
    """

    name: str
    port: int

    @property
    def url(self) -> str:
        """The bucket's address, to which a prefix may be added."""
        return f"s3://{self.name}"

    @property
    def endpoint(self) -> str:
        """The server's address."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment variables with which obstore, and any other client, finds the bucket."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AWS_REGION": "us-east-1",
            "AWS_ALLOW_HTTP": "true",
        }

    def through(self, port: int) -> "Bucket":
        """Return the bucket as seen through a proxy that listens on a port."""
        return replace(self, port=port)

    def store(self, prefix: str | None = None, **options: Any) -> S3Store:
        """Return obstore's client of the bucket, whatever the environment says. Other options go to S3Store."""
        return S3Store(
            self.name,
            prefix=prefix,
            endpoint=self.endpoint,
            access_key_id="testing",
            secret_access_key="testing",
            region="us-east-1",
            client_options={"allow_http": True},
            **options,
        )


@dataclass(frozen=True)
class ObjectStorage:
    """A running S3 server. `port` is where it listens on loopback, `process` its process."""

    port: int
    process: subprocess.Popen[str]

    def new_bucket(self) -> Bucket:
        """Create an empty bucket."""
        bucket = Bucket(f"bucket-{next(_numbers)}", self.port)
        with urlopen(Request(f"{bucket.endpoint}/{bucket.name}", method="PUT"), timeout=30):
            return bucket


@contextmanager
def object_storage_server() -> Iterator[ObjectStorage]:
    """Yield a server, which is ended afterwards. Starting takes about 1 s."""
    command = [sys.executable, "-m", "tests.support.s3_server"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield ObjectStorage(int(process.stdout.readline()), process)
        finally:
            process.kill()
