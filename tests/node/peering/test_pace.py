"""Token buckets: alone, by name, and by name within a common one."""

from trio.testing import MockClock

from node.peering.pace import MAX_NAMES, Bucket, Pace, SharedPace


async def test_a_bucket_empties_and_fills(mock_clock: MockClock) -> None:
    bucket = Bucket(2, 10)
    assert sum(bucket.take() for _ in range(50)) == 10
    assert not bucket.has()
    mock_clock.jump(3)
    assert bucket.has(6)
    assert not bucket.take(7)
    assert bucket.take(6)
    mock_clock.jump(1000)
    assert sum(bucket.take() for _ in range(50)) == 10


async def test_who_took_too_much_waits(mock_clock: MockClock) -> None:
    bucket = Bucket(2, 10)
    assert bucket.wait_s(10) == 0
    assert bucket.wait_s(6) == 3
    mock_clock.jump(3)
    assert bucket.wait_s(0) == 0
    assert not bucket.take()


async def test_names_have_their_own(mock_clock: MockClock) -> None:
    pace = Pace(1, 3)
    assert sum(pace.take("a") for _ in range(9)) == 3
    assert sum(pace.take(b"b") for _ in range(9)) == 3
    for number in range(MAX_NAMES):
        pace.take(str(number))
    assert pace.take("a")  # which was forgotten


async def test_names_share_one(mock_clock: MockClock) -> None:
    pace = SharedPace((20, 200), (100, 200))
    assert sum(pace.take("a") for _ in range(500)) == 200
    assert not pace.take("b")
    mock_clock.jump(1)
    assert sum(pace.take("a") for _ in range(500)) == 20
    assert sum(pace.take(str(number)) for number in range(2000)) == 80
