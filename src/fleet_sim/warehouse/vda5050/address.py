"""BrokerAddress: where a broker is, read from a URL; needs no extra, as its parameters are declared without one."""

from __future__ import annotations

import os
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from fleet_sim.base.errors import ConfigError
from fleet_sim.base.files import is_file, named

PASSWORD = "FLEET_SIM_MQTT_PASSWORD"
"""Environment variable with the password, which in a URL others on the machine could see."""
PORTS = {"mqtt": 1883, "mqtts": 8883}


@dataclass(frozen=True)
class BrokerAddress:
    """A broker. `ca` is a file of certificates that sign the broker's; None: those of the system."""

    host: str
    port: int
    tls: bool = False
    user: str | None = None
    password: str | None = None
    ca: str | None = None
    password_in_url: bool = False

    @classmethod
    def parse(cls, url: str, ca: str | None = None) -> BrokerAddress:
        """Return the broker at `url`, mqtt:// or mqtts:// with [user[:password]@]host[:port]; raises ConfigError."""
        what = "expected mqtt://host:1883, or mqtts://user:password@host:8883"
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError as error:
            raise ConfigError(f"--vda5050: {what}; {error}") from error
        if parts.scheme not in PORTS or not host or parts.path.strip("/") or parts.query or parts.fragment:
            # Not shown as it was given: it may have a password.
            raise ConfigError(f"--vda5050: {what}, got {parts.scheme}://{host or ''}{parts.path}")
        if ca is not None and parts.scheme != "mqtts":
            raise ConfigError("--vda5050-ca is for mqtts://")
        if ca is not None and not is_file(ca):
            raise ConfigError(f"--vda5050-ca: there is no file {named(ca)!r}")
        user = unquote(parts.username) if parts.username else None
        password = os.environ.get(PASSWORD) if parts.password is None else unquote(parts.password)
        if user is None and parts.password is not None:
            raise ConfigError("--vda5050: a password needs a user")
        tls = parts.scheme == "mqtts"
        shown = parts.password is not None
        return cls(host, port or PORTS[parts.scheme], tls, user, None if user is None else password, ca, shown)

    def __str__(self) -> str:
        return f"{'mqtts' if self.tls else 'mqtt'}://{self.host}:{self.port}"
