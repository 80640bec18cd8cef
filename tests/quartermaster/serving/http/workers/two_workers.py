"""A server of two workers as a program of its own makes it: python two_workers.py SNAPSHOT HUNG_AFTER_S"""

import sys

from quartermaster.serving.http import HttpSettings, Served, address_of, configure_logs, listen, serve_workers
from router import Router


def open_served() -> Served:
    return Served(router=Router.open(sys.argv[1]))


if __name__ == "__main__":
    configure_logs(workers=True)
    settings = HttpSettings(port=0, workers=2, stop_timeout_s=2)
    with listen(settings) as listening:
        address = address_of(listening)
        serve_workers(
            open_served, settings, listening, lambda _: print(address, flush=True), hung_after_s=float(sys.argv[2])
        )
