"""The commands of the pages about buckets, beside a real S3 server."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from tests.support.command_line import called
from tests.support.documents import blocks, lines, pages
from tests.support.object_storage import Bucket, ObjectStorage

NAMED = "bucket"  # by the pages
PAGES = [page for page in pages() if blocks("sh", "bucket", page)]


@pytest.fixture
def bucket_of_the_pages(object_storage: ObjectStorage) -> Iterator[Bucket]:
    """An empty bucket of the name that the pages give theirs."""
    bucket = Bucket(NAMED, object_storage.port)
    with urlopen(Request(f"{bucket.endpoint}/{NAMED}", method="PUT"), timeout=30):
        pass
    yield bucket
    store = bucket.store()
    store.delete([stored["path"] for batch in store.list() for stored in batch])
    with urlopen(Request(f"{bucket.endpoint}/{NAMED}", method="DELETE"), timeout=30):
        pass


@pytest.mark.nightly
@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_the_commands_about_a_bucket_run(page: Path, reader: Path, bucket_of_the_pages: Bucket) -> None:
    variables = {**bucket_of_the_pages.environment, "XDG_CACHE_HOME": str(reader / "cache")}
    for block in blocks("sh", "bucket", page):
        for line in lines(block):
            program, *arguments = shlex.split(line)
            if program == "export":
                variables |= dict(pair.split("=", 1) for pair in arguments if "AWS" not in pair)
                continue
            assert program == "quartermaster", f"{block}: {line}"
            # A server is asked for its options alone: tests/quartermaster/cli serves a bucket.
            done = called(reader, *arguments, *(["--help"] if arguments[0] == "serve" else []), **variables)
            assert done.returncode == 0, f"{block}: {line}\n{done.stderr}"
            assert (done.stdout + done.stderr).strip(), f"{block}: {line}"
