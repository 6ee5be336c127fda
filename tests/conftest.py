"""Fixtures that every test may ask for; each is started only then. And how much hypothesis tries."""

from hypothesis import settings

from .s3 import s3_endpoint, s3_options, s3_root

settings.register_profile("long", max_examples=5_000, deadline=None)  # pytest --hypothesis-profile=long

__all__ = ["s3_endpoint", "s3_options", "s3_root"]
