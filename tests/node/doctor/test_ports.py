"""What the doctor says of addresses to listen at."""

import socket

from node.doctor.finding import Standing
from node.doctor.ports import check_ports


def test_ports() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        busy = f"/ip4/127.0.0.1/tcp/{port}"
        free, used, elsewhere = check_ports(("/ip4/127.0.0.1/tcp/0", busy, "/ip4/192.0.2.7/tcp/0/ws"), False)
        assert free.standing is Standing.OK
        assert used.standing is elsewhere.standing is Standing.WRONG
        assert f"Another program has port {port}" in used.mend
        assert "--announce" in elsewhere.mend
        assert [finding.standing for finding in check_ports((busy,), True)] == [Standing.OK]
    assert check_ports((busy,), False)[0].standing is Standing.OK
    assert "nowhere" in check_ports((), False)[0].detail
