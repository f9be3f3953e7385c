"""Addresses that requests on behalf of callers may not reach: link-local ones, where machines keep their credentials.

On a cloud's machine, 169.254.169.254 answers any process with the credentials of the machine. A subscription or an HTTP
Task must not fetch them. A name is checked by all of its addresses, in every notation that the system's resolver reads,
and once more by the address that a connection has really reached. The setting `allow` of `[http]` names exceptions.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final

_REFUSED: Final = tuple(map(ip_network, ("169.254.0.0/16", "fe80::/10", "fd00:ec2::/32")))
"""Link-local networks; the last one has the metadata service of EC2."""
_TRANSLATED: Final = ip_network("64:ff9b::/96")
"""NAT64: the last four bytes are an IPv4 address."""


class RefusedAddress(OSError):
    """A request would go to a refused address."""


class Addresses:
    """The addresses that may be reached; `allow` are networks that may be although they are link-local."""

    def __init__(self, allow: Iterable[str] = ()) -> None:
        self._allowed = tuple(ip_network(one, strict=False) for one in allow)

    def check_host(self, host: str, port: int) -> None:
        """Check a host by name or address. A name that does not resolve passes: connecting says why.

        Raises: RefusedAddress.
        """
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            return
        for *_, place in found:
            self.check(str(place[0]), host)

    def check(self, address: str, host: str) -> None:
        """Check one address; `host` is what the caller named. Raises: RefusedAddress."""
        found = ip_address(address.partition("%")[0])
        for one in {found, _inner(found)}:
            if any(one in network for network in self._allowed):
                return
            if any(one in network for network in _REFUSED):
                where = host if host == str(one) else f"{host[:200]} ({one})"
                raise RefusedAddress(
                    f"{where} is a link-local address, where machines keep their credentials; if it is meant, name it "
                    "in `allow` of [http] in statewright.toml"
                )


def _inner(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The IPv4 address that an IPv6 address contains, if any; else the address."""
    if isinstance(address, IPv4Address):
        return address
    if address in _TRANSLATED:
        return IPv4Address(address.packed[-4:])
    return address.ipv4_mapped or address.sixtofour or address
