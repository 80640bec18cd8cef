"""The plan of a month on the cluster."""

from tests.cluster_month.plan import KINDS, draw_month


def test_every_event_has_its_night_in_a_month() -> None:
    month = draw_month(seed=5, nights=31)
    events = {(kind, getattr(night, kind)) for night in month for kind in ("bucket", "builder", "operator", "reader")}
    assert set(KINDS) <= events


def test_the_same_seed_draws_the_same_month() -> None:
    assert draw_month(1, 12) == draw_month(1, 12) != draw_month(2, 12)
