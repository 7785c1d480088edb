"""Where metrics are served: what is taken, and the sentence for what is not."""

import pytest

from node.metrics.address import MetricsAddress, MetricsFault


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("9100", "127.0.0.1", 9100),
        ("0", "127.0.0.1", 0),
        ("0.0.0.0:65535", "0.0.0.0", 65_535),
        ("[::1]:9100", "::1", 9100),
        ("::1:9100", "::1", 9100),
    ],
)
def test_what_is_taken(text: str, host: str, port: int) -> None:
    address = MetricsAddress.parse(text)
    assert (address.host, address.port) == (host, port)
    assert MetricsAddress.parse(address.encode()) == address


@pytest.mark.parametrize(
    "text",
    ["", ":", ":9100", "x", "65536", "-1", "1.2.3:9100", "localhost:9100", "127.0.0.1:", "127.0.0.1:x", "९", "123456"],
)
def test_what_is_refused(text: str) -> None:
    with pytest.raises(MetricsFault, match=r"\.$"):
        MetricsAddress.parse(text)
