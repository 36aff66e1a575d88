"""Adapters: what other agent libraries keep, kept in Neap. Each module needs its library, an extra of this package."""
