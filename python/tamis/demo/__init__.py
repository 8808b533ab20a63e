"""The demo: the whole method on documents that every Python carries."""
