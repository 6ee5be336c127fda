"""Settings of fsspec's S3 file system, as the libraries of table formats spell them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_DELTA = {
    "key": "AWS_ACCESS_KEY_ID",
    "secret": "AWS_SECRET_ACCESS_KEY",
    "token": "AWS_SESSION_TOKEN",
    "endpoint": "AWS_ENDPOINT_URL",
    "region": "AWS_REGION",
}
_ICEBERG = {
    "key": "s3.access-key-id",
    "secret": "s3.secret-access-key",
    "token": "s3.session-token",
    "endpoint": "s3.endpoint",
    "region": "s3.region",
}


def delta_settings(options: Mapping[str, Any]) -> dict[str, str]:
    """Spell settings as those of the object store that ``deltalake`` brings.

    Names in capitals (``AWS_REGION``) are handed on as they are.

    Example:
        >>> delta_settings({"key": "k", "secret": "s", "endpoint_url": "http://127.0.0.1:5000"})
        ... # doctest: +NORMALIZE_WHITESPACE
        {'AWS_ACCESS_KEY_ID': 'k', 'AWS_SECRET_ACCESS_KEY': 's', 'AWS_ENDPOINT_URL': 'http://127.0.0.1:5000',
         'AWS_ALLOW_HTTP': 'true'}
    """
    found = {_DELTA[name]: value for name, value in _settings(options).items()}
    if found.get("AWS_ENDPOINT_URL", "").startswith("http:"):
        found["AWS_ALLOW_HTTP"] = "true"
    return found | {name: str(value) for name, value in options.items() if name.isupper()}


def iceberg_settings(options: Mapping[str, Any]) -> dict[str, str]:
    """Spell settings as properties of a catalog of ``pyiceberg``.

    Example:
        >>> iceberg_settings({"key": "k", "client_kwargs": {"region_name": "eu-west-1"}})
        {'s3.access-key-id': 'k', 's3.region': 'eu-west-1'}
    """
    return {_ICEBERG[name]: value for name, value in _settings(options).items()}


def options_of_iceberg(properties: Mapping[str, str]) -> dict[str, Any]:
    """Spell the properties of a catalog as settings of fsspec's S3 file system.

    Example:
        >>> options_of_iceberg({"type": "rest", "s3.endpoint": "http://127.0.0.1:5000", "s3.region": "us-east-1"})
        {'endpoint_url': 'http://127.0.0.1:5000', 'client_kwargs': {'region_name': 'us-east-1'}}
    """
    found = {name: properties[spelled] for name, spelled in _ICEBERG.items() if properties.get(spelled)}
    options: dict[str, Any] = {name: found[name] for name in ("key", "secret", "token") if name in found}
    if "endpoint" in found:
        options["endpoint_url"] = found["endpoint"]
    if "region" in found:
        options["client_kwargs"] = {"region_name": found["region"]}
    return options


def _settings(options: Mapping[str, Any]) -> dict[str, str]:
    client = options.get("client_kwargs") or {}
    found = {
        "key": options.get("key"),
        "secret": options.get("secret"),
        "token": options.get("token"),
        "endpoint": options.get("endpoint_url") or client.get("endpoint_url"),
        "region": client.get("region_name"),
    }
    return {name: str(value) for name, value in found.items() if value}
