"""Wilson's interval of a share."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.statistics.intervals import wilson_interval


@pytest.mark.parametrize(
    ("successes", "count", "low", "high"),
    [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1.0), (338, 451, 0.7075, 0.7872)],
)
def test_known_intervals(successes, count, low, high):
    interval = wilson_interval(successes, count)
    assert interval is not None
    assert interval.low == pytest.approx(low, abs=5e-4)
    assert interval.high == pytest.approx(high, abs=5e-4)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_share_lies_inside_and_more_confidence_is_wider(counted):
    successes, count = counted
    narrow, wide = wilson_interval(*counted, confidence=0.8), wilson_interval(*counted, confidence=0.99)
    assert narrow is not None
    assert wide is not None
    assert 0 <= wide.low <= narrow.low <= successes / count + 1e-12
    assert successes / count - 1e-12 <= narrow.high <= wide.high <= 1


def test_nothing_counted_has_no_interval():
    assert wilson_interval(0, 0) is None


@pytest.mark.parametrize("counts", [(-1, 3), (4, 3)])
def test_counts_that_cannot_be(counts):
    with pytest.raises(ValueError, match="no share"):
        wilson_interval(*counts)
