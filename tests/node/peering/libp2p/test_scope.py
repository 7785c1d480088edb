"""How far addresses reach, and which count as one owner's."""

from node.peering.libp2p.scope import Scope, group_of, network_of, scope_of


def test_scopes_and_groups() -> None:
    assert [scope_of(host) for host in ("9.9.9.9", "192.168.1.5", "127.0.0.1", "fe80::1", "example.org", "")] == [
        Scope.WORLD,
        Scope.LAN,
        Scope.MACHINE,
        Scope.LAN,
        Scope.WORLD,
        Scope.WORLD,
    ]
    assert group_of("9.9.9.9") == group_of("9.9.9.200") != group_of("9.9.8.9")
    assert group_of("2600:1:2:3::1") == group_of("2600:1:2:4::1") != group_of("2600:1:3::1")
    assert group_of("192.168.1.5") != group_of("192.168.1.6")


def test_networks() -> None:
    assert network_of("192.0.2.1") == network_of("::ffff:192.0.2.1") == "192.0.2.1"
    assert network_of("2001:db8::1") == network_of("2001:db8::ffff:1") == "2001:db8::/64"
    assert network_of("2001:db8:0:1::1") != network_of("2001:db8::1")
    assert network_of("circuit of x") == "circuit of x"
