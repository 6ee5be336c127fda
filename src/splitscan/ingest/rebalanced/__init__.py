"""An ingest whose tasks claim what they read: its parts come into being while it runs."""
