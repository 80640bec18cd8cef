"""Which connection goes where there are too many."""

from dataclasses import dataclass

from router.serving.http import HttpSettings
from router.serving.http.connections import Connections


@dataclass(eq=False)
class Client:
    network: str
    waits: bool = True
    unsent_bytes: int = 0
    aborted: bool = False

    def abort(self) -> None:
        self.aborted = True


def table(*clients: Client, most: int = 4, per_client: int = 4) -> Connections:
    connections = Connections(
        HttpSettings(max_connections=most, max_connections_per_client=per_client, max_unsent_bytes=100_000)
    )
    assert [connections.add(client) for client in clients] == [None] * len(clients)
    return connections


def test_at_the_limit_the_client_with_most_connections_loses_its_oldest() -> None:
    honest, first, second, third = Client("a"), Client("b"), Client("b"), Client("b")
    connections = table(honest, first, second, third)
    assert connections.add(Client("c")) is None
    assert [client.aborted for client in (honest, first, second, third)] == [False, True, False, False]
    assert len(connections) == 4


def test_at_its_own_limit_a_client_loses_its_own_connection() -> None:
    other, busy, idle = Client("a"), Client("b", waits=False), Client("b")
    connections = table(other, busy, idle, per_client=2)
    assert connections.add(Client("b")) is None
    assert [client.aborted for client in (other, busy, idle)] == [False, False, True]


def test_what_is_being_answered_is_never_closed_for_another() -> None:
    connections = table(*(Client(name, waits=False) for name in "abcd"))
    assert connections.add(Client("e")) == "the server has 4 requests under way: try again"
    connections = table(Client("a", waits=False), per_client=1)
    assert connections.add(Client("a")) == "your address has 1 requests under way: wait for an answer"


def test_a_connection_that_is_closed_makes_room() -> None:
    first, second = Client("a", waits=False), Client("a", waits=False)
    connections = table(first, per_client=1)
    connections.discard(first)
    connections.discard(first)
    assert connections.add(second) is None


def test_the_largest_unread_answers_go_first() -> None:
    small, large, larger = (
        Client("a", unsent_bytes=9),
        Client("b", unsent_bytes=80_000),
        Client("c", unsent_bytes=90_000),
    )
    table(small, large, larger).limit_unsent()
    assert [client.aborted for client in (small, large, larger)] == [False, False, True]
