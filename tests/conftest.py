"""Fixtures that every test may ask for; each is started only then."""

from .s3 import s3_endpoint, s3_options, s3_root

__all__ = ["s3_endpoint", "s3_options", "s3_root"]
